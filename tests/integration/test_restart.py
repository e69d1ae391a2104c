"""A restart in place under traffic: no send fails, nothing is lost or doubled."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from homi import __version__
from homi.store import fault
from tests.crash.steps import steps
from tests.crash.traffic import PeerSender, Traffic, spooled
from tests.integration.restarting import restart, stands_still
from tests.standin.place import PATIENCE, Place, homi_command, until

SENDERS = 64
ROUNDS = 20


@pytest.fixture
def place() -> Iterator[Place]:
    """A private machine."""
    with Place() as made:
        yield made


def ready(place: Place, names: list[str], **env: str) -> Traffic:
    """The daemon up, the names claimed and planted, nobody sending yet."""
    place.start(**env)
    for name in [*names, "svc"]:
        place.ok("claim", name)
        place.listed(name)
    return Traffic(place, names)


def finish(place: Place, traffic: Traffic) -> None:
    """Stop sending and hold the mailboxes against the promises."""
    traffic.stop()
    until(lambda: not spooled(place.state), "pickup is empty")
    traffic.verify()


def under(place: Place, traffic: Traffic, count: int) -> None:
    """So many restarts under traffic.  A native send has no second try: it must not
    see them at all."""
    traffic.start()
    for _ in range(count):
        assert traffic.more(30), "the senders go on"
        restart(place)
    assert traffic.more(30), "the senders go on"
    finish(place, traffic)
    native = [one for one in traffic.senders if isinstance(one, PeerSender)]
    assert sum(len(one.promised) for one in native), "native sends are among it"
    assert not [one.name for one in native if one.cut]


def test_no_sender_sees_a_restart_and_a_held_letter_is_told_of_behind_it(
    place: Place,
) -> None:
    """Nor does the session that holds a letter: its receipts come to the same socket,
    for a process of the same start."""
    traffic = ready(place, ["bob"])
    place.ok("claim", "ada")
    ada = place.session("ada", "--auto", "--inbound", "hold")
    message = place.send("ada", "wait for it")
    ada.wait("held")
    place.reached("ada", message, "held")
    under(place, traffic, 1)
    ada.do("inbound", value="accept")
    place.reached("ada", message, "seen")
    assert [letter["msg_id"] for letter in ada.letters()] == [message]
    rungs = place.rungs("ada", message)
    assert rungs.count("intent") == 1, "it was handed over once"
    assert rungs.index("held") < rungs.index("taken")


@pytest.mark.parametrize("point", steps(fault.RESTART, {"restart-taken"}))
def test_a_kill_at_a_step_of_a_restart_loses_no_promise(
    place: Place, point: str
) -> None:
    """It is a crash as any other, and the command says that the daemon is gone."""
    traffic = ready(place, ["bob"], HOMI_FAULT=f"{point}:1")
    traffic.start()
    assert traffic.more(10), "the senders go on"
    done = place.homi("restart")
    assert done.returncode == os.EX_UNAVAILABLE, done
    assert place.daemon is not None
    assert place.daemon.wait(PATIENCE) == -signal.SIGKILL
    place.start()
    assert traffic.more(10), "the senders go on"
    finish(place, traffic)


def test_a_homi_that_cannot_start_takes_no_daemon_down(place: Place) -> None:
    """It is asked first: the upgrade was cut off in the middle, and mail goes on."""
    half = place.root / "half"
    program = "import sys; sys.path.insert(0, sys.argv.pop(1));"
    program += "from homi.cli.fast import main; main()"
    place.program = lambda: [sys.executable, "-c", program, str(half), "run"]  # type: ignore[method-assign]
    daemon = place.start()
    (half / "homi").mkdir(parents=True)
    (half / "homi" / "__init__.py").write_text("raise ImportError('half of it')\n")
    done = place.homi("restart")
    assert done.returncode == os.EX_UNAVAILABLE
    assert "ImportError: half of it" in done.stderr
    assert daemon.poll() is None
    assert place.json("status")["pid"] == daemon.pid


def test_a_program_that_is_no_homi_any_more_takes_no_daemon_down(place: Place) -> None:
    """It ends at once, whatever its status, or refuses what stands in the root."""
    program = place.root / "program.py"
    program.write_text("from homi.cli.fast import main; main()")
    run = "import sys; exec(open(sys.argv.pop(1)).read())"
    place.program = lambda: [sys.executable, "-c", run, str(program), "run"]  # type: ignore[method-assign]
    daemon = place.start()
    for script, why in (
        ("raise SystemExit(0)", "does not say that it could start: -\n"),
        ("raise SystemExit('homi: 9 is newer')", "(status 1): 9 is newer\n"),
        ("import os; os.kill(os.getpid(), 9)", "(status -9): no word\n"),
    ):
        program.write_text(script)
        done = place.homi("restart")
        assert done.returncode == os.EX_UNAVAILABLE
        assert why in done.stderr
        assert "homi: hint: the daemon goes on as it was; " in done.stderr
    assert place.json("status")["pid"] == daemon.pid


def test_a_homi_that_dies_at_its_start_leaves_the_one_before_at_work(
    place: Place,
) -> None:
    """It said that it could, and cannot: letters come to the one from before, which
    is another process now, and gives way to the next that can."""
    program = place.root / "program.py"
    good = "from homi.cli.fast import main; main()"
    program.write_text(good)
    run = "import sys; exec(open(sys.argv.pop(1)).read())"
    place.program = lambda: [sys.executable, "-c", run, str(program), "run"]  # type: ignore[method-assign]
    daemon = place.start(HOMI_UNATTENDED="1")
    place.ok("claim", "svc")
    place.ok("claim", "ada")
    dies = "if '--check' not in sys.argv: raise SystemExit('it dies')\n"
    program.write_text(dies + good)
    done = place.homi("restart")
    assert (done.returncode, daemon.wait(PATIENCE)) == (os.EX_UNAVAILABLE, 1)
    goes_on = place.json("status")["pid"]
    assert (
        f"died at its start; homi {__version__} goes on (pid {goes_on})" in done.stderr
    )
    assert place.log.read_text().count("it dies") == 1
    message = place.send("ada", "to the one before")
    assert [line["msg"]["id"] for line in place.lines("ada")] == [message]
    program.write_text(good)
    told = place.json("restart")
    assert (told["pid"], told["running"]) == (goes_on, True)
    place.started.append(goes_on)
    newer = f"open({str(place.state / 'names.json')!r}, 'w').write('{{\"v\": 99}}')"
    program.write_text(f"if '--check' not in sys.argv: {newer}\n{dies}{good}")
    done = place.homi("restart")
    assert (done.returncode, done.stdout) == (os.EX_UNAVAILABLE, "")
    assert f"the daemon (pid {goes_on}) ended while it was restarted" in done.stderr
    until(lambda: not place.left(), "neither goes on over what only a newer one reads")
    assert "names.json is of version 99" in place.log.read_text()


def test_what_ends_a_daemon_that_becomes_another_ends_it_in_order(place: Place) -> None:
    """In the half second between two programs nobody listens, and yet it is heard."""
    daemon = place.start(HOMI_FAULT="restart-ended:1:stop")
    command = [*homi_command(), "restart"]
    with subprocess.Popen(command, env=place.env(), stderr=subprocess.PIPE) as asking:
        until(lambda: stands_still(daemon.pid), "it is between the two")
        daemon.send_signal(signal.SIGTERM)
        daemon.send_signal(signal.SIGCONT)
        assert daemon.wait(PATIENCE) == 0
        asking.communicate(timeout=PATIENCE)
    log = place.log.read_text()
    assert log.count(" is up: ") == 2, "the signal was for the second"
    assert log.index("told to end by restart") < log.index("told to end by SIGTERM")
    assert log.splitlines()[-1].endswith("daemon: stopped")


def test_what_cannot_be_believed_is_given_up_before_anything_is_open(
    place: Place,
) -> None:
    """Its descriptors are closed, whichever they are: none of them is the log's, nor a
    mailbox's that came to have its number."""
    place.start(HOMI_INHERITS="999")
    log = place.state / "log" / "homi.log"
    until(lambda: "all is begun anew" in log.read_text(), "it is told")
    place.ok("stop")
    assert place.daemon is not None
    assert place.daemon.wait(PATIENCE) == 0
    assert log.read_text().splitlines()[-1].endswith("daemon: stopped")


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_restarts_under_64_senders_are_seen_by_none(place: Place) -> None:
    """The same with as many as wait in a backlog at once."""
    names = [f"n{number}" for number in range(SENDERS // 2)]  # two senders a name
    under(place, ready(place, names), ROUNDS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_64_commands_at_once_meet_no_failure_in_a_restart(place: Place) -> None:
    """homi send as a person types it, with its exit status."""
    ready(place, ["ada"])
    sent: list[subprocess.CompletedProcess[str]] = []
    ending = threading.Event()

    def send(number: int) -> None:
        while not ending.is_set():
            text = f"{number} {len(sent)}"
            sent.append(place.homi("send", "--from", "svc", "ada", text))

    threads = [threading.Thread(target=send, args=(n,)) for n in range(SENDERS)]
    for thread in threads:
        thread.start()
    for _ in range(ROUNDS // 4):
        restart(place)
    ending.set()
    for thread in threads:
        thread.join(PATIENCE * 4)
    assert not [one for one in sent if one.returncode]
    until(lambda: not spooled(place.state), "pickup is empty")
    ids = [one.stdout.split()[1] for one in sent]
    stored = [line["msg"]["id"] for line in place.lines("ada")]
    assert sorted(ids) == sorted(stored)

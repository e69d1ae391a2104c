"""What a daemon finds around itself: deep folders, no PATH, another root, a crowd."""

import json
import os
import socket
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.steps import steps
from tests.standin.place import Place, homi_command, until

LONG = "n" * 64
ALL = "<&- >&- 2>&-"
CLOSED = ["", "<&-", ">&-", "2>&-", ALL]


@pytest.fixture
def bare() -> Iterator[Place]:
    """A private machine on which nothing runs yet."""
    with Place() as made:
        yield made


def deep(place: Place, letter: str = "d") -> Path:
    """A folder whose path no unix socket can have; it is not made."""
    return place.root / (letter * (100 // len(letter.encode()))) / "e"


@pytest.mark.parametrize("letter", steps(["d", "é"], {"é"}))
def test_a_root_too_deep_for_a_socket_works_all_the_same(
    bare: Place, letter: str
) -> None:
    """The socket goes to the runtime folder; bytes count, not characters."""
    bare.state = deep(bare, letter)
    daemon = bare.run_daemon()
    until(
        lambda: daemon.poll() is not None or bare.homi("status").returncode == 0,
        "the daemon answers",
    )
    for name in ("svc", LONG, LONG[:40]):
        bare.ok("claim", name)
    message = bare.send(LONG, "for a long name")
    other = bare.send(LONG[:40], "for a start of it")
    assert [line["msg"]["id"] for line in bare.lines(LONG)] == [message]
    assert [line["msg"]["id"] for line in bare.lines(LONG[:40])] == [other]
    (made,) = (bare.run / "homi").iterdir()
    assert made.stat().st_mode & 0o777 == 0o600
    assert bare.stop() == 0
    assert bare.ok("inbox", LONG)


@pytest.mark.parametrize("verb", [["run"], ["start"], ["ls"], ["claim", "ada"]])
def test_a_socket_that_fits_nowhere_is_refused_with_the_figures(
    bare: Place, verb: list[str]
) -> None:
    """Before any state is written, and with what to change."""
    bare.state = deep(bare)
    run = deep(bare, "r")
    run.mkdir(parents=True, mode=0o700)
    done = bare.homi(*verb, XDG_RUNTIME_DIR=str(run))
    assert done.returncode == 73, done
    length = len(os.fsencode(run)) + len("/homi/") + 16 + len(".sock")
    assert f"{length} bytes" in done.stderr
    assert "107" in done.stderr
    assert "hint: set XDG_RUNTIME_DIR" in done.stderr
    assert not bare.state.exists()
    assert list(run.iterdir()) == []


def test_nothing_of_the_path_is_needed_to_carry_mail(bare: Place) -> None:
    """An editor or a service manager starts programs with any PATH or none."""
    bare.start(PATH="")
    assert bare.homi("claim", "svc", PATH="").returncode == 0
    assert bare.homi("claim", "ada", PATH="").returncode == 0
    done = bare.homi("send", "--from", "svc", "ada", "no path", PATH="")
    assert done.returncode == 0, done
    ada = bare.session("ada", "--auto")
    assert ada.letter("no path")


@pytest.mark.parametrize("closed", steps(CLOSED, {ALL}))
def test_a_daemon_without_standard_descriptors_ends_in_order(
    bare: Place, closed: str
) -> None:
    """What opens first must not become descriptor 0, 1 or 2: the loop aborts when it
    closes one of these, and whatever prints would write into it."""
    bare.daemon = subprocess.Popen(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *homi_command(), "run"],
        env=bare.env(),
        cwd=bare.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(bare.answers, "the daemon answers")
    for name in ("svc", "ada"):
        bare.ok("claim", name)
    message = bare.send("ada", "nobody listens")
    for number in range(3):
        found = os.readlink(f"/proc/{bare.daemon.pid}/fd/{number}")
        assert found == os.devnull
    assert bare.stop() == 0
    assert [line["msg"]["id"] for line in bare.lines("ada")] == [message]


def test_two_roots_share_a_registry_and_touch_only_what_is_theirs(place: Place) -> None:
    """A test root beside the real one: each withdraws its own records alone."""
    place.ok("claim", "ada")
    mine = place.listed("ada")
    other = place.env(HOMI_HOME=str(place.root / "s2"))

    def there(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*homi_command(), *argv],
            env=other,
            cwd=place.work,
            capture_output=True,
            text=True,
            check=False,
        )

    assert there("start").returncode == 0
    try:
        assert there("claim", "eve").returncode == 0
        theirs = place.listed("eve")
        assert theirs["pidDomain"] != mine["pidDomain"]
        assert place.planted("ada") == mine
    finally:
        assert there("stop").returncode == 0
    until(lambda: place.planted("eve") is None, "the other root's record is gone")
    assert place.planted("ada") == mine
    zed = place.session("zed")
    assert zed.send("ada", "still here")["ok"]
    assert place.stored("ada", "still here")


def test_a_hostile_crowd_at_both_doors_keeps_no_good_mail_out(place: Place) -> None:
    """Half lines, rubbish, early ends and silence from hundreds of connections."""
    place.ok("claim", "ada")
    peer = place.listed("ada")["messagingSocketPath"]
    control = str(place.state / "homi.sock")
    rubbish = [b"", b"{", b"not json\n", b"[" * 9000 + b"\n", b"\xff\n", b"\0" * 9000]
    crowd = []
    for number in range(200):
        for path in (peer, control):
            one = socket.socket(socket.AF_UNIX)
            one.connect(path)
            crowd.append(one)
            one.sendall(rubbish[number % len(rubbish)])
            if number % 7 == 0:
                one.shutdown(socket.SHUT_WR)
            if number % 5 == 0:
                one.close()
    zed = place.session("zed")
    for count in range(5):
        assert zed.send("ada", f"native {count}")["ok"]
        place.send("ada", f"by command {count}")
    for one in crowd:
        one.close()
    texts = [line["msg"]["text"] for line in place.lines("ada")]
    expected = [f"{how} {n}" for n in range(5) for how in ("native", "by command")]
    assert texts == expected


def test_a_message_that_replies_to_itself_is_mail_like_any_other(place: Place) -> None:
    """Nothing answers itself out of its mailbox; a cycle hides neither end."""
    own, first, second = (str(uuid.uuid4()) for _ in range(3))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(str(place.state / "homi.sock"))
        lines = sock.makefile("rwb")

        def ask(request: object) -> dict[str, object]:
            lines.write(json.dumps(request).encode() + b"\n")
            lines.flush()
            return dict(json.loads(lines.readline()))

        ask({"verb": "hello", "v": 1, "software": "test"})
        for one, parent in ((own, own), (first, second), (second, first)):
            msg = {"id": one, "from": "svc", "to": "svc", "text": "hm"}
            assert "ok" in ask({"verb": "send", "msg": msg | {"reply_to": parent}})
        lines.close()
    for one in (own, first, second):
        assert place.json("trace", one)
    assert "answered" not in place.rungs("svc", own)
    assert own in place.ok("inbox", "svc")
    assert "answered" in place.rungs("svc", first)  # the control: by the second

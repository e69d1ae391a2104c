"""Sessions without a socket: their own hooks ask for the mail."""

import json
import signal
import subprocess
import sys
from typing import Any

from tests.integration.restarting import stands_still
from tests.standin.driver import Standin
from tests.standin.place import PATIENCE, Place, homi_command, until

# A hook says nothing where the daemon takes longer than a turn may wait: no matter on
# a machine that does nothing else, but here others compute.
PATIENT = """
from homi.cli import fast, hooked
hooked.PATIENCE, hooked.RESTART = 30.0, 60.0
fast.main()
"""
EVENTS = ("session-start", "prompt", "stop")
HOOK = [sys.executable, "-c", PATIENT, "hook"]


def restricted(place: Place, name: str = "ada") -> Standin:
    """A session without a socket, and its record known to the daemon."""
    place.ok("claim", name)
    made = place.session(name, "--restricted")
    until(lambda: _row(place, name).get("leg") == "hook", "the daemon sees it")
    return made


def _row(place: Place, name: str) -> dict[str, Any]:
    """The usable leg to the session of that name."""
    rows = place.json("legs", name)
    rows = rows if isinstance(rows, list) else rows.get("rows", [rows])
    return next((row for row in rows if row.get("usable")), {})


def prompt(session: Standin) -> str:
    """A turn of the user's; what its hook put before the model."""
    session.do("prompt", argv=HOOK)
    out = session.wait("hooked", hook="prompt")["out"]
    assert session.wait("hooked", hook="stop")["out"] == ""
    if not out:
        return ""
    said = json.loads(out)["hookSpecificOutput"]
    assert said["hookEventName"] == "UserPromptSubmit"
    return str(said["additionalContext"])


def test_a_prompt_brings_the_mail_and_the_answer_proves_it_read(place: Place) -> None:
    """Whole bodies, quoted, with id and sender; nothing twice; then seen."""
    ada = restricted(place)
    sent = [place.send("ada", f"letter {n}\nsecond line") for n in range(2)]
    text = prompt(ada)
    for n, message in enumerate(sent):
        head = f"[homi {message} from unverified, claims to be svc for ada; reply: "
        assert f"{head}homi reply {message} -]" in text
        assert f"> letter {n}\n> second line" in text
        place.reached("ada", message, "seen")
        lines = [x for x in place.lines("ada", "ledger") if x["id"] == message]
        assert [x["rung"] for x in lines][:2] == ["intent", "offered"]
        assert {x["leg"] for x in lines[:2]} == {"hook"}
        assert lines[-1]["session"]["id"] == ada.session_id
    assert prompt(ada) == ""


def test_a_session_start_prints_it_and_only_a_turn_proves_it(place: Place) -> None:
    """Offered until the model answered; stop says nothing to the model."""
    message = place.send("svc", "early", sender="svc")
    assert message
    ada = restricted(place)
    message = place.send("ada", "at the start")
    ada.do("hook", event="session-start", argv=HOOK)
    assert message in ada.wait("hooked", hook="session-start")["out"]
    place.reached("ada", message, "offered")
    assert "seen" not in place.rungs("ada", message)
    assert prompt(ada) == ""
    place.reached("ada", message, "seen")


def test_a_hook_killed_before_it_confirmed_is_asked_again_with_the_mark(
    place: Place,
) -> None:
    """What it printed may have been read or not; the transcript has no trace of it."""
    ada = restricted(place)
    message = place.send("ada", "printed into the void")
    given = json.dumps({"session_id": ada.session_id})
    # The hook itself, killed at what would confirm that it printed.
    script = (
        "import os, sys\n"
        "from homi.cli import hooked\n"
        "from homi.dial import Dial\n"
        "hooked.PATIENCE = 30.0\n"
        "real = Dial.ask\n"
        "def ask(self, line):\n"
        "    if b'printed' in line:\n"
        "        os.kill(os.getpid(), 9)\n"
        "    return real(self, line)\n"
        "Dial.ask = ask\n"
        "hooked.run('', 'prompt')\n"
    )
    ran = ada.tool(sys.executable, "-c", script, given=given)
    assert message in ran["out"]
    assert ran["rc"] == -signal.SIGKILL
    place.reached("ada", message, "deferred")
    text = prompt(ada)
    assert "printed into the void" in text
    assert "repeat: you may have read this already" in text
    place.reached("ada", message, "seen")


def test_what_does_not_fit_is_listed_and_stays_pending(place: Place) -> None:
    """A long letter and what its lane has behind it; they are read by the command."""
    ada = restricted(place)
    place.ok("claim", "bob")
    long = place.send("ada", "L" * 20_000)
    behind = place.send("ada", "behind it")
    other = place.send("ada", "of another lane", sender="bob")
    text = prompt(ada)
    assert len(text) < 9_500
    assert "> of another lane" in text
    assert "> behind it" not in text
    assert long[24:32] in text
    place.reached("ada", other, "seen")
    for message in (long, behind):
        line = [x for x in place.lines("ada", "ledger") if x["id"] == message][-1]
        assert (line["rung"], line["reason"]) == ("offered", "digest")
    assert prompt(ada) == ""
    ran = ada.tool(*homi_command(), "read", behind)
    assert ran["out"] == "behind it"
    place.reached("ada", behind, "seen")


def test_a_backlog_is_a_digest_for_a_hook_too(place: Place) -> None:
    """Then again for the next session."""
    ada = restricted(place)
    lines = "".join(f"letter {n}\n" for n in range(25))
    place.ok("send", "--lines", "--from", "svc", "ada", given=lines)
    text = prompt(ada)
    assert "25 letters are waiting for ada" in text
    assert text.count("\n") < 20
    assert prompt(ada) == ""
    ada.kill()
    again = restricted(place)
    digest = "25 letters are waiting for ada"
    until(lambda: digest in prompt(again), "they are told of again")


def test_a_daemon_killed_between_the_brief_and_its_lines_repeats_at_most(
    place: Place,
) -> None:
    """After the intent, before and after the offer's line."""
    ada = restricted(place)
    for line in (1, 2):
        assert place.stop() == 0
        daemon = place.start(HOMI_FAULT=f"evidence:{line}")
        until(lambda: _row(place, "ada").get("leg") == "hook", "the session is known")
        message = place.send("ada", f"cut at {line}")
        first = prompt(ada)
        assert daemon.wait(PATIENCE) == -signal.SIGKILL
        place.start()
        until(lambda: _row(place, "ada").get("leg") == "hook", "the session is known")

        def seen(message: str = message) -> bool:
            if "seen" in place.rungs("ada", message):
                return True
            return bool(prompt(ada)) and False

        until(seen, f"{message} is read, {first!r}", 60)


def test_a_clear_brings_what_was_not_answered_again(place: Place) -> None:
    """The new conversation does not know it."""
    ada = restricted(place)
    message = place.send("ada", "before the clear")
    ada.do("hook", event="session-start", argv=HOOK)
    place.reached("ada", message, "offered")
    ada.do("say", text="no turn of it")  # an answer: it is in the old conversation
    place.reached("ada", message, "seen")
    second = place.send("ada", "unanswered")
    ada.do("hook", event="session-start", argv=HOOK)
    place.reached("ada", second, "taken")
    ada.do("clear")
    until(lambda: second in prompt(ada), "it comes again")
    place.reached("ada", second, "seen")


def test_a_hook_with_nothing_to_say_says_nothing_and_ends_well(place: Place) -> None:
    """No session, rubbish on stdin, no daemon, one that hangs: silent, status 0."""

    def silent(given: str, **env: str) -> None:
        for event in EVENTS:
            done = place.homi("hook", event, given=given, **env)
            told = (done.returncode, done.stdout, done.stderr)
            assert told == (0, "", ""), (event, given)

    place.ok("claim", "ada")
    place.send("ada", "for a session only")
    for given in ("", "[", "{}", '{"session_id":7}', '{"session_id":"x"}'):
        silent(given, HOMI_NAME="ada")
    with_socket = place.session("ada")
    for event in EVENTS:
        with_socket.do("hook", event=event, argv=HOOK)
        assert with_socket.wait("hooked", hook=event)["out"] == ""
    assert place.daemon is not None
    place.daemon.send_signal(signal.SIGSTOP)
    given = json.dumps({"session_id": with_socket.session_id})
    silent(given)
    place.daemon.send_signal(signal.SIGCONT)
    assert place.stop() == 0
    silent(given)


def test_a_hook_of_another_conversation_gets_nothing(place: Place) -> None:
    """A client that a session started, unknown to homi, is not that session."""
    ada = restricted(place)
    message = place.send("ada", "for ada alone")
    given = json.dumps({"session_id": "0190a1b2-0000-7000-8000-000000000001"})
    assert ada.tool(*HOOK, "prompt", given=given)["out"] == ""
    assert message in prompt(ada)


def test_two_sessions_without_a_socket_do_not_share_a_mailbox(place: Place) -> None:
    """The first of the name has its mail while it lives."""
    first = restricted(place)
    second = place.session("ada", "--restricted")
    place.send("ada", "whose is it")
    assert prompt(second) == ""
    assert "whose is it" in prompt(first)


def test_a_hook_that_asks_in_a_restart_is_answered_by_the_next_homi(
    place: Place,
) -> None:
    """The socket tells it that waiting is worth it; nothing comes twice."""
    assert place.stop() == 0
    daemon = place.start(HOMI_FAULT="restart-ended:1:stop")
    ada = restricted(place)
    message = place.send("ada", "meanwhile")
    command = [*homi_command(), "restart"]
    with subprocess.Popen(command, env=place.env(), stdout=subprocess.PIPE) as asking:
        until(lambda: stands_still(daemon.pid), "it is between the two")
        assert (place.state / "homi.sock").stat().st_mode & 0o777 == 0o700
        ada.ask("prompt", argv=HOOK)
        daemon.send_signal(signal.SIGCONT)
        assert message in ada.wait("hooked", hook="prompt")["out"]
        asking.communicate(timeout=PATIENCE)
    place.reached("ada", message, "seen")
    assert place.rungs("ada", message).count("taken") == 1
    assert (place.state / "homi.sock").stat().st_mode & 0o777 == 0o600

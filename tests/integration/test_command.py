"""Names bound to commands, with a real daemon: one run a letter, to its end."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.standin.place import Place, homi_command, until

TOML = """
argv = ["./agent", "--resume={session}"]
new = ["./agent", "--new={session}"]
mint = true
answer = { pointer = "/said" }
session_from = { pointer = "/session" }
retry_codes = [75]
"""
AGENT = """#!/bin/sh
printf '%s\\n' "$1" >>argv.txt
cat >letter.txt
. ./act
"""
WELL = """printf '{"said":"well","session":"ses-1"}'"""


@pytest.fixture
def place() -> Iterator[Place]:
    """A daemon, a sender, an agent of which a file says what it does."""
    with Place() as made:
        (made.work / "agent").write_text(AGENT)
        (made.work / "agent").chmod(0o755)
        (made.work / "mine.toml").write_text(TOML)
        act(made, WELL)
        made.start()
        made.ok("claim", "svc")
        yield made


def act(place: Place, script: str) -> None:
    """What the agent does from now on."""
    (place.work / "act").write_text(script)


def bind(place: Place, name: str = "ada") -> None:
    place.ok("command", "bind", name, "--template", "./mine.toml")


def row(place: Place) -> dict[str, Any]:
    return dict(json.loads(place.ok("command", "ls", "--json")))


def queue(place: Place) -> list[dict[str, Any]]:
    """The pending letters of ada, and why."""
    out = place.ok("queue", "--json", "ada")
    return [json.loads(line) for line in out.splitlines()]


def argv(place: Place) -> list[str]:
    return (place.work / "argv.txt").read_text().splitlines()


def test_a_conversation_goes_on_from_run_to_run(place: Place) -> None:
    """Its id is made up first, then learned; questions are answered, mail is seen."""
    bind(place)
    assert place.ok("ask", "--from", "svc", "--timeout", "30", "ada", "a?") == "well\n"
    mail = place.send("ada", "a letter")
    place.reached("ada", mail, "seen")
    first, second = argv(place)
    assert first.startswith("--new=")
    assert second == "--resume=ses-1"
    assert "> a letter" in (place.work / "letter.txt").read_text()
    assert row(place)["session"] == "ses-1"
    assert not [one for one in place.lines("svc") if "a letter" in str(one)]


def test_one_run_goes_on_at_a_time_and_the_order_is_kept(place: Place) -> None:
    """Two in one conversation would spoil it."""
    act(place, f"mkdir lock || exit 9; read -r _ <gate; rmdir lock; {WELL}")
    os.mkfifo(place.work / "gate")
    bind(place)
    ids = [place.send("ada", f"letter {n}") for n in range(3)]
    for message in ids:
        place.reached("ada", message, "offered")
        assert queue(place)[-1]["reason"] in ("busy", None)
        with (place.work / "gate").open("w") as gate:
            gate.write("go\n")
        place.reached("ada", message, "seen")
    assert len(argv(place)) == 3


def test_three_failures_hold_the_name_until_somebody_goes_on(place: Place) -> None:
    """The sender is told once; what waits is not lost."""
    act(place, "echo oh no >&2; exit 3")
    bind(place)
    ids = [place.send("ada", f"letter {n}", sender="svc") for n in range(3)]
    # One lane: the first is given back, and holds the others.
    place.reached("ada", ids[0], "deferred")
    place.notice("svc", ids[0])
    place.ok("claim", "two")
    place.ok("claim", "three")
    others = [place.send("ada", "from another", sender=s) for s in ("two", "three")]
    until(lambda: row(place)["state"] == "held", "the name is held")
    assert row(place)["end"] == "exit 3: oh no"
    act(place, WELL)
    (queued,) = [q for q in queue(place) if q["id"] == ids[1]]
    assert (queued["rung"], queued["reason"]) == ("held", "spawn-failing")
    assert len(argv(place)) == 3
    place.ok("command", "resume", "ada")
    place.ok("queue", "flush", "--name", "ada", *ids, *others)
    for message in (*ids, *others):
        place.reached("ada", message, "seen")
    (marked,) = [r for r in place.lines("ada", "ledger") if r["rung"] == "intent"][3:4]
    assert marked["repeat"]


def test_a_busy_command_is_asked_again_and_counts_as_no_failure(place: Place) -> None:
    """It says itself that it did nothing."""
    act(place, "exit 75")
    bind(place)
    mail = place.send("ada", "a letter")
    place.reached("ada", mail, "deferred")
    act(place, WELL)
    place.ok("queue", "flush", "--name", "ada", mail)
    place.reached("ada", mail, "seen")
    (line,) = [one for one in place.lines("ada", "ledger") if one["rung"] == "deferred"]
    assert (line["reason"], line["by"]) == ("busy", "exit 75")


def test_a_run_that_was_killed_is_not_repeated_by_itself(place: Place) -> None:
    """Half of it may be done; a person has it given once more."""
    act(place, "kill -9 $$")
    bind(place)
    mail = place.send("ada", "a letter")
    place.reached("ada", mail, "taken")
    place.notice("svc", mail)
    (queued,) = queue(place)
    assert (queued["rung"], queued["reason"]) == ("offered", "interrupted")
    act(place, WELL)
    place.ok("queue", "requeue", "--name", "ada", mail)
    place.reached("ada", mail, "seen")
    assert len(argv(place)) == 2


def test_a_session_that_has_the_conversation_keeps_runs_away(place: Place) -> None:
    """Two writers of one transcript would lose what one of them wrote."""
    toml = TOML + 'live = "claude"\n'
    (place.work / "mine.toml").write_text(toml)
    act(place, WELL)
    live = place.session("other")
    session = live.session_id
    place.ok(
        "command", "bind", "ada", "--template", "./mine.toml", "--session", session
    )
    mail = place.send("ada", "a letter")
    until(lambda: queue(place)[0]["reason"] == "busy", "the letter is held")
    assert not (place.work / "argv.txt").exists()
    live.close()
    place.reached("ada", mail, "seen")


def test_a_live_session_of_the_name_comes_first(place: Place) -> None:
    """It is the agent; a run beside it would be another."""
    bind(place)
    with_it = place.session("ada")
    until(lambda: "pid 0" not in place.ok("legs", "ada"), "the session has the name")
    mail = place.send("ada", "for the session")
    place.reached("ada", mail, "offered")
    assert not (place.work / "argv.txt").exists()
    with_it.close()
    mail = place.send("ada", "for the command")
    place.reached("ada", mail, "seen")


def test_what_a_run_sends_is_from_the_name_it_is_for(place: Place) -> None:
    """It needs no option, and may write as nobody else."""
    act(
        place,
        f"{_homi()} send svc 'from the run'; {_homi()} send --from svc ada x"
        f" 2>refused.txt; {WELL}",
    )
    bind(place)
    mail = place.send("ada", "a letter")
    place.reached("ada", mail, "seen")
    line = place.stored("svc", "from the run")
    assert (line["msg"]["from"], line["via"]["verified"]) == ("ada", True)
    assert "svc" in (place.work / "refused.txt").read_text()


def _homi() -> str:
    """The command as a script calls it."""
    return " ".join(homi_command())


def test_a_command_that_went_away_is_told_with_the_path_it_was_looked_for_in(
    place: Place,
) -> None:
    """And found again when it is back."""
    bind(place)
    (place.work / "agent").rename(place.work / "away")
    mail = place.send("ada", "a letter")
    place.reached("ada", mail, "deferred")
    assert f"in PATH ({place.bin}:" in place.log.read_text()
    (place.work / "away").rename(place.work / "agent")
    place.ok("queue", "flush", "--name", "ada", mail)
    place.reached("ada", mail, "seen")


def test_a_run_outlives_the_daemon_and_its_end_is_told_by_the_next(
    place: Place,
) -> None:
    """Whether it ended before that started or goes on."""
    os.mkfifo(place.work / "gate")
    act(place, f"read -r _ <gate; {WELL}")
    bind(place)
    mail = place.send("ada", "a letter")
    place.reached("ada", mail, "offered")
    place.kill()
    assert row(place)["state"] == "busy"
    place.start()
    assert row(place)["state"] == "busy"
    place.kill()
    with (place.work / "gate").open("w") as gate:
        gate.write("go\n")
    until(lambda: row(place)["end"] == "ok", "the run ended meanwhile")
    place.start()
    place.reached("ada", mail, "seen")
    assert len(argv(place)) == 1


def test_a_run_whose_supervisor_is_killed_is_over(place: Place) -> None:
    """Its command is ended: nobody would read what it says."""
    act(place, "exec sleep 600")
    bind(place)
    mail = place.send("ada", "a letter")
    place.reached("ada", mail, "offered")
    started = json.loads(Path(row(place)["run"], "started.json").read_text())
    os.kill(started["supervisor"], signal.SIGKILL)
    place.reached("ada", mail, "taken")
    until(lambda: not Path(f"/proc/{started['pid']}").exists(), "the command is gone")
    assert row(place)["end"] == "its supervisor was killed"

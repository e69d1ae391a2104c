"""Names bound to commands, with a real daemon: one run a letter, to its end."""

import itertools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from homi.peers import process
from tests.standin.driver import Standin
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
NUMBERS = itertools.count()
WELL = """printf '{"said":"well","session":"ses-1"}'"""


class Agent:
    """A name bound to an agent of its own, of which a file says what it does."""

    def __init__(self, place: Place, name: str) -> None:
        """Its folder is made; it is not bound yet."""
        self.place = place
        self.name = name
        self.folder = place.work / name
        self.folder.mkdir()
        self.file("agent", AGENT).chmod(0o755)
        self.file("mine.toml", TOML)
        self.act(WELL)

    def file(self, name: str, text: str) -> Path:
        """Write one of its files."""
        path = self.folder / name
        path.write_text(text)
        return path

    def act(self, script: str) -> None:
        """What it does from now on."""
        self.file("act", script)

    def bind(self, *options: str) -> None:
        """Have its letters given to it."""
        words = ("--template", str(self.folder / "mine.toml"), *options)
        cwd = ("--cwd", str(self.folder))
        self.place.ok("command", "bind", self.name, *words, *cwd)

    def send(self, text: str = "a letter", sender: str = "svc") -> str:
        """A letter to it; its id."""
        return self.place.send(self.name, text, sender=sender)

    def reached(self, message: str, rung: str) -> None:
        """Wait until a letter of it is there."""
        self.place.reached(self.name, message, rung)

    def again(self, how: str, *messages: str) -> None:
        """Have letters go out once more."""
        self.place.ok("queue", how, "--name", self.name, *messages)

    def row(self) -> dict[str, Any]:
        """What is told of it."""
        out = self.place.ok("command", "ls", "--json")
        rows = [json.loads(line) for line in out.splitlines()]
        (found,) = [row for row in rows if row["name"] == self.name]
        return dict(found)

    def queue(self) -> list[dict[str, Any]]:
        """Its pending letters, and why."""
        out = self.place.ok("queue", "--json", self.name)
        return [json.loads(line) for line in out.splitlines()]

    def knows(self, session: Standin) -> None:
        """Wait until the daemon knows the session."""

        def so() -> bool:
            rows = self.place.json("ls", "--no-probe")
            return any(session.session_id == row.get("session") for row in rows) or any(
                (row.get("owner") or {}).get("pid") == session.pid for row in rows
            )

        until(so, f"{session.name} is known")

    def waits(self, message: str, rung: str, reason: str) -> None:
        """Wait until its queue has the letter so."""

        def so() -> bool:
            shown = {
                one["id"]: (one["rung"], one.get("reason")) for one in self.queue()
            }
            return shown.get(message) == (rung, reason)

        until(so, f"{message} is {rung} for {reason}")

    def argv(self) -> list[str]:
        """The argument of each of its runs."""
        path = self.folder / "argv.txt"
        return path.read_text().splitlines() if path.exists() else []

    def ledger(self, rung: str) -> list[dict[str, Any]]:
        """The lines of that rung."""
        lines = self.place.lines(self.name, "ledger")
        return [line for line in lines if line["rung"] == rung]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    """A daemon and a sender, for all that do not end either."""
    with Place() as made:
        made.start()
        made.ok("claim", "svc")
        yield made


@pytest.fixture
def agent(place: Place) -> Agent:
    """One with a name that no other test has."""
    return Agent(place, f"ada{next(NUMBERS)}")


@pytest.fixture
def mortal() -> Iterator[Agent]:
    """One whose daemon may be ended."""
    with Place() as made:
        made.start()
        made.ok("claim", "svc")
        yield Agent(made, "ada")


def test_a_conversation_goes_on_from_run_to_run(agent: Agent) -> None:
    """Its id is made up first, then learned; questions are answered, mail is seen."""
    agent.bind()
    ask = ("ask", "--from", "svc", "--timeout", "60", agent.name, "a?")
    assert agent.place.ok(*ask) == "well\n"
    mail = agent.send("a letter to read")
    agent.reached(mail, "seen")
    first, second = agent.argv()
    assert first.startswith("--new=")
    assert second == "--resume=ses-1"
    assert "> a letter to read" in (agent.folder / "letter.txt").read_text()
    assert agent.row()["session"] == "ses-1"
    answers = [one["msg"]["reply_to"] for one in agent.place.lines("svc")]
    assert mail not in answers


def test_one_run_goes_on_at_a_time_and_the_order_is_kept(agent: Agent) -> None:
    """Two in one conversation would spoil it."""
    agent.act(f"mkdir lock || exit 9; read -r _ <gate; rmdir lock; {WELL}")
    os.mkfifo(agent.folder / "gate")
    agent.bind()
    ids = [agent.send(f"letter {n}") for n in range(3)]
    for message in ids:
        agent.reached(message, "offered")
        assert agent.queue()[-1]["reason"] in ("busy", None)
        (agent.folder / "gate").write_text("go\n")
        agent.reached(message, "seen")
    assert len(agent.argv()) == 3


def test_three_failures_hold_the_name_until_somebody_goes_on(agent: Agent) -> None:
    """The sender is told once; what waits is not lost."""
    agent.act("echo oh no >&2; exit 3")
    agent.bind()
    senders = [f"{agent.name}-{n}" for n in range(3)]
    for sender in senders:
        agent.place.ok("claim", sender)
    ids = [agent.send(sender=sender) for sender in senders]
    until(lambda: agent.row()["state"] == "held", "the name is held")
    assert agent.row()["end"] == "exit 3: oh no"
    agent.place.notice(senders[0], ids[0])
    agent.act(WELL)
    ids.append(agent.send("late"))
    agent.waits(ids[-1], "held", "spawn-failing")
    assert len(agent.argv()) == 3
    agent.place.ok("command", "resume", agent.name)
    agent.again("flush", *ids[:3])
    for message in ids:
        agent.reached(message, "seen")
    assert [line.get("repeat", False) for line in agent.ledger("intent")].count(
        True
    ) == 3
    told = [line["msg"] for line in agent.place.lines(senders[0])]
    assert len([msg for msg in told if msg.get("reply_to") == ids[0]]) == 1


@pytest.mark.soak
def test_a_busy_command_is_asked_again_and_counts_as_no_failure(agent: Agent) -> None:
    """It says itself that it did nothing."""
    agent.act("exit 75")
    agent.bind()
    mail = agent.send()
    agent.reached(mail, "deferred")
    agent.act(WELL)
    agent.again("flush", mail)
    agent.reached(mail, "seen")
    (line,) = agent.ledger("deferred")
    assert (line["reason"], line["by"]) == ("busy", "exit 75")


def test_a_run_that_was_killed_is_not_repeated_by_itself(agent: Agent) -> None:
    """Half of it may be done; a person has it given once more."""
    agent.act("kill -9 $$")
    agent.bind()
    mail = agent.send()
    agent.reached(mail, "taken")
    agent.place.notice("svc", mail)
    agent.waits(mail, "offered", "interrupted")
    agent.act(WELL)
    agent.again("requeue", mail)
    agent.reached(mail, "seen")
    assert len(agent.argv()) == 2


def test_a_session_that_has_the_conversation_keeps_runs_away(agent: Agent) -> None:
    """Two writers of one transcript would lose what one of them wrote."""
    agent.file("mine.toml", TOML + 'live = "claude"\n')
    live = agent.place.session(f"{agent.name}-live")
    agent.knows(live)
    agent.bind("--session", live.session_id)
    mail = agent.send()
    agent.waits(mail, "held", "busy")
    assert agent.argv() == []
    live.close()
    agent.reached(mail, "seen")


def test_a_live_session_of_the_name_comes_first(agent: Agent) -> None:
    """It is the agent; a run beside it would be another."""
    agent.bind()
    with agent.place.session(agent.name) as session:
        agent.knows(session)
        mail = agent.send()
        agent.reached(mail, "offered")
        assert agent.argv() == []
    mail = agent.send("for the command")
    agent.reached(mail, "seen")


def test_what_a_run_sends_is_from_the_name_it_is_for(agent: Agent) -> None:
    """It needs no option, and may write as nobody else."""
    homi = " ".join(homi_command())
    said = f"{homi} send svc 'from {agent.name}' >/dev/null"
    forged = f"{homi} send --from svc {agent.name} x 2>refused.txt"
    agent.act(f"{said}; {forged}; {WELL}")
    agent.bind()
    agent.reached(agent.send(), "seen")
    line = agent.place.stored("svc", f"from {agent.name}")
    assert (line["msg"]["from"], line["via"]["verified"]) == (agent.name, True)
    assert "svc" in (agent.folder / "refused.txt").read_text()


def test_a_command_that_went_away_is_told_with_the_path_it_was_looked_for_in(
    agent: Agent,
) -> None:
    """And found again when it is back."""
    agent.bind()
    (agent.folder / "agent").rename(agent.folder / "away")
    mail = agent.send()
    agent.reached(mail, "deferred")
    agent.place.logged(f"in PATH ({agent.place.bin}:")
    assert agent.row()["state"] == "missing"
    assert f"in PATH ({agent.place.bin}:" in agent.row()["failure"]
    (agent.folder / "away").rename(agent.folder / "agent")
    agent.again("flush", mail)
    agent.reached(mail, "seen")
    assert agent.row()["failure"] == ""


def test_who_asked_is_told_that_nothing_was_said(agent: Agent) -> None:
    """Else it waits for what never comes; a letter is no question."""
    agent.bind()
    agent.act("""printf '{"session":"ses-1"}'""")
    mail = agent.send()
    agent.reached(mail, "seen")
    ask = ("ask", "--from", "svc", "--timeout", "60", agent.name, "well?")
    assert agent.place.ok(*ask) == "[it ended well and said nothing]\n"
    told = [line["msg"].get("reply_to") for line in agent.place.lines("svc")]
    assert mail not in told


def test_a_run_outlives_the_daemon_and_its_end_is_told_by_the_next(
    mortal: Agent,
) -> None:
    """Whether it ended before that started or goes on."""
    place = mortal.place
    os.mkfifo(mortal.folder / "gate")
    mortal.act(f"read -r _ <gate; {WELL}")
    mortal.bind()
    mail = mortal.send()
    mortal.reached(mail, "offered")
    place.kill()
    assert mortal.row()["state"] == "busy"
    place.start()
    assert mortal.row()["state"] == "busy"
    place.kill()
    (mortal.folder / "gate").write_text("go\n")
    until(lambda: mortal.row()["end"] == "ok", "the run ended meanwhile")
    place.start()
    mortal.reached(mail, "seen")
    assert len(mortal.argv()) == 1


def test_a_run_whose_supervisor_is_killed_is_over(agent: Agent) -> None:
    """Its command is ended: nobody would read what it says."""
    agent.act("exec sleep 600")
    agent.bind()
    mail = agent.send()
    agent.reached(mail, "offered")
    started = json.loads(Path(agent.row()["run"], "started.json").read_text())
    os.kill(started["supervisor"], signal.SIGKILL)
    agent.reached(mail, "taken")
    until(lambda: process.start_time(started["pid"]) is None, "it is ended")
    assert agent.row()["end"] == "its supervisor was killed"


def test_a_run_goes_on_when_its_name_is_bound_to_another(agent: Agent) -> None:
    """Its answer still counts; the next letter goes to the new one."""
    os.mkfifo(agent.folder / "gate")
    agent.act(f"read -r _ <gate; {WELL}")
    agent.bind()
    mail = agent.send()
    agent.reached(mail, "offered")
    agent.place.ok("command", "unbind", agent.name)
    (agent.folder / "gate").write_text("go\n")
    agent.reached(mail, "seen")
    agent.act(WELL)
    agent.bind()
    agent.reached(agent.send("the next"), "seen")
    assert len(agent.argv()) == 2

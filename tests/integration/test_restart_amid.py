"""A restart in place amid all that a daemon has under way: each goes on, once."""

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from homi.seats.server import Server
from tests.integration.restarting import restart
from tests.integration.seatkit import needs_tmux
from tests.integration.test_ask import Asking
from tests.integration.test_codex import bound, stands
from tests.integration.test_command import WELL, Agent
from tests.integration.test_seat_relay import Bound
from tests.standin import claude
from tests.standin.codex import AppServer
from tests.standin.place import Place, homi_command, until
from tests.standin.tooled import tools_of

MEMBERS = [f"m{number}" for number in range(12)]
Strand = Iterator[None]  # begun up to its yield; what is behind that is looked at after


@pytest.fixture
def place() -> Iterator[Place]:
    """The daemon is up, svc and who is written to are claimed."""
    with Place() as made:
        (made.home / ".codex").mkdir()
        made.start()
        for name in ("svc", "ada"):
            made.ok("claim", name)
        yield made


def begun(place: Place, *argv: str) -> "subprocess.Popen[str]":
    """A command that takes its time."""
    return subprocess.Popen(
        [*homi_command(), *argv],
        env=place.env(),
        cwd=place.work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(command: "subprocess.Popen[str]") -> str:
    """What it printed; it ended well and complained of nothing."""
    out, err = command.communicate(timeout=60)
    assert (command.returncode, err) == (0, ""), (command.args, out)
    return out


def run(place: Place) -> Strand:
    """A run of a command: it has another parent for nobody, and one end."""
    agent = Agent(place, "runner")
    os.mkfifo(agent.folder / "gate")
    agent.act(f"read -r _ <gate; {WELL}")
    agent.bind()
    mail = agent.send()
    agent.reached(mail, "offered")
    yield
    assert agent.row()["state"] == "busy"
    (agent.folder / "gate").write_text("go\n")
    agent.reached(mail, "seen")
    rungs = place.rungs("runner", mail)
    assert (rungs.count("intent"), rungs.count("seen")) == (1, 1)
    assert len(agent.argv()) == 1


def turn(place: Place) -> Strand:
    """A thread of Codex: one letter is a turn that goes on, one is in its queue."""
    with AppServer(place.home / ".codex") as server:
        thread = bound(place, server, None)
        ids = [place.send("bob", "one")]
        until(lambda: thread.turns, "the first is a turn")
        ids.append(place.send("bob", "two"))
        place.reached("bob", ids[1], "offered")
        yield
        stands(place, thread)
        server.finish(thread, "completed", "done")
        until(lambda: len(thread.turns) == len(ids), "the second is one")
        server.finish(thread, "completed", "done")
        for message in ids:
            place.reached("bob", message, "seen", 30)
        assert server.asked("thread/queue/add") == len(ids)


def waits(place: Place) -> Strand:
    """Commands that wait: for an answer, for mail, for a rung, past a deadline."""
    asking = Asking(place, "ada", "is it green?")
    ask = asking.asked("ada")
    waiting = begun(place, "wait", "svc", "--after", "1000")
    rung = ("--wait-for", "seen", "--timeout", "60", "--json")
    letter = begun(place, "send", "--from", "svc", *rung, "ada", "see it")
    mail = place.stored("ada", "see it")["msg"]["id"]
    late = ("--deadline", "1", "--default", "no", "--timeout", "60", "--json")
    deciding = begun(place, "ask", "--from", "svc", *late, "ada", "may I?")
    place.stored("ada", "may I?")
    yield
    assert waiting.poll() is None
    waiting.terminate()
    waiting.communicate()
    place.ok("reply", "--from", "ada", ask, "yes")
    assert asking.end() == (0, "yes\n", "")
    place.ok("ack", "--name", "ada", mail)
    assert json.loads(ended(letter))["rung"] == "seen"
    out, _ = deciding.communicate(timeout=60)
    assert json.loads(out)["default"] is True


def wakes(place: Place) -> Strand:
    """Some are due while nobody is there."""
    place.ok("claim", "early")
    for number in range(3):
        place.ok("wake", "add", "--from", "svc", "early", "--at", "+1s", f"{number}!")
    yield
    for number in range(3):
        place.stored("early", f"{number}!")
    assert len(place.lines("early")) == 3


def room(place: Place) -> Strand:
    """Copies of messages of a room, some of which are not made yet."""
    for name in MEMBERS:
        place.ok("claim", name)
    place.ok("room", "create", "team", *MEMBERS)
    lines = "".join(f"line {number}\n" for number in range(10))
    place.ok("send", "--lines", "--from", "svc", "team", given=lines)
    ids = [line["msg"]["id"] for line in place.lines("team")]
    yield
    for message in ids:
        place.reached("team", message, "relayed")
    for name in MEMBERS:
        assert [line["msg"]["id"] for line in place.lines(name)] == ids


STRANDS: list[Callable[[Place], Strand]] = [run, turn, waits, room, wakes]


def test_what_is_under_way_goes_on_once(place: Place) -> None:
    """One restart over all of them."""
    strands = [strand(place) for strand in STRANDS]
    for strand in strands:
        next(strand)
    restart(place)
    for strand in strands:
        with contextlib.suppress(StopIteration):
            next(strand)


def slow(place: Place) -> Path:
    """A claude that begins when something is written to the gate."""
    claude.install(place.bin)
    begin, program = place.bin / "begin", place.bin / "claude"
    os.mkfifo(place.bin / "gate")
    program.rename(begin)
    wait = f'read -r _ <"{place.bin}/gate"'
    program.write_text(f'#!/bin/sh\n{wait}\nexec "{begin}" "$@"\n')
    program.chmod(0o755)
    return place.bin / "gate"


@needs_tmux
def test_agents_that_are_being_started_are_waited_for_on(place: Place) -> None:
    """Each was started once; a second order of another is refused as ever."""
    gate = slow(place)
    one = begun(place, "spawn", "eve", "--json")
    many = begun(place, "fan", "2", "fay", "--json")

    def opened() -> list[str]:
        return [seat.name for seat in Server.of(place.state).seats()]

    until(lambda: len(opened()) == 3, "their seats are open")
    restart(place)
    assert place.homi("spawn", "eve").returncode == os.EX_CANTCREAT
    # Open to the end: it would end for the others with the first that read from it.
    with gate.open("r+b", buffering=0) as going:
        going.write(b"go\n" * 3)
        assert json.loads(ended(one))["state"] == "ready"
        found = [json.loads(line) for line in ended(many).splitlines()]
    assert {row["name"] for row in found} == {"fay-1", "fay-2"}
    assert len(opened()) == 3
    for name in opened():
        place.ok("seat", "kill", name)


def children(pid: int) -> list[str]:
    """The children of a process, also those that ended and were not waited for."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@needs_tmux
@pytest.mark.soak
def test_a_thread_that_waits_for_git_holds_no_restart_up(place: Place) -> None:
    """Longer than it may take; the agent is started by the next homi, once."""
    claude.install(place.bin)
    repository = place.work / "app"
    me = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "init", "-q", repository], check=True)
    commit = ["commit", "-q", "--allow-empty", "-m", "x"]
    subprocess.run(["git", *me, "-C", repository, *commit], check=True)
    gate, git = place.bin / "gate", place.bin / "git"
    os.mkfifo(gate)
    real = shutil.which("git")
    stuck = f'case "$*" in *worktree*) mv {gate} {gate}.1 && read -r _ <{gate}.1;; esac'
    git.write_text(f'#!/bin/sh\n{stuck} 2>/dev/null\nexec {real} "$@"\n')
    git.chmod(0o755)
    place.kill()
    place.start()
    one = begun(place, "spawn", "eve", "--worktree", "--cwd", str(repository), "--json")
    until(lambda: not gate.exists(), "git is at work")
    restart(place)
    assert json.loads(ended(one))["state"] == "ready"
    assert place.daemon is not None
    pid = place.daemon.pid
    assert len(children(pid)) == 1
    (place.bin / "gate.1").write_text("go\n")
    until(lambda: not children(pid), "the git that was left is waited for")
    seats = Server.of(place.state).seats()
    assert [seat.name for seat in seats] == ["eve"]
    place.ok("seat", "kill", "eve")


@needs_tmux
def test_a_seat_keeps_its_draft_and_is_typed_into_once(place: Place) -> None:
    """tmux and the agent are nobody's children; a letter is being typed meanwhile."""
    stand = Bound(place)
    stand.keys("half")
    first = place.send("gds", "over a draft")

    def held() -> bool:
        ledger = place.lines("gds", "ledger")
        return any(line.get("reason") == "draft" for line in ledger)

    until(held, "it is held")
    server = stand.server.tmux.ask(("display-message", "-p", "#{pid}"))
    restart(place)
    assert stand.server.tmux.ask(("display-message", "-p", "#{pid}")) == server
    assert stand.got("paste") == []
    stand.keys(*["BSpace"] * 4)
    stand.empty()
    place.ok("queue", "flush")
    sent = [first]
    restarting = None
    for number in range(6):
        sent.append(place.send("gds", f"letter {number}"))
        if number == 1:
            restarting = begun(place, "restart")
    assert restarting is not None
    ended(restarting)
    for message in sent:
        place.reached("gds", message, "offered", 60)
    assert [line.split()[1] for line in stand.got("line")] == sent
    place.ok("seat", "kill", "ada")


@needs_tmux
@pytest.mark.soak
def test_a_line_that_is_being_typed_is_answered_before_the_restart(
    place: Place,
) -> None:
    """With what became of it, and not that the daemon went away."""
    stand = Bound(place)
    stand.keys("mangle", "Enter")
    until(lambda: "mangle" in stand.got("line"), "it draws another line than it has")
    typing = begun(place, "seat", "send", "ada", "hello there")
    until(lambda: stand.got("paste"), "the line is pasted")
    ended(begun(place, "restart"))
    _, err = typing.communicate(timeout=60)
    assert typing.returncode == os.EX_TEMPFAIL
    assert "Enter was not pressed" in err
    place.ok("seat", "kill", "ada")


def test_calls_of_tools_meet_no_failure_in_restarts(place: Place) -> None:
    """One that waits for an answer, one that waits for mail, and short ones all the
    time; a second restart is asked for in the first."""

    place.ok("claim", "bob")

    async def story() -> None:
        async with tools_of(place, session) as ada:
            asking = asyncio.create_task(ada.call("ask", to="bob", text="well?"))
            waiting = asyncio.create_task(ada.call("wait"))
            ask = await asyncio.to_thread(place.stored, "bob", "well?")
            over, sent = asyncio.Event(), list[str]()

            async def sends() -> None:
                while not over.is_set():
                    done = await ada.call("send", to="svc", text=f"{len(sent)}")
                    sent.append(done["id"])
                    await ada.call("inbox")

            sending = asyncio.create_task(sends())
            both = [begun(place, "restart") for _ in range(2)]
            told = await asyncio.to_thread(lambda: [one.communicate() for one in both])
            assert sorted(one.returncode for one in both) in ([0, 0], [0, 75]), told
            over.set()
            await sending
            assert [line["msg"]["id"] for line in place.lines("svc")] == sent
            reply = ("reply", "--from", "bob", ask["msg"]["id"], "very")
            await asyncio.to_thread(place.ok, *reply)
            assert (await asking)["text"].endswith("> very")
            came = await waiting  # where it took too long it goes on from there
            while not came["messages"]:
                came = await ada.call("wait", after=came["next"])

    with place.session("ada") as session:
        asyncio.run(story())

"""The real client in a seat: typed into, read, answered and interrupted."""

import uuid

import pytest

from homi.seats.server import Server
from tests.clients.conftest import Post
from tests.clients.harness import Claude
from tests.clients.test_claude import END, bash
from tests.standin.place import until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]


def sit(claude: Claude, post: Post, name: str) -> None:
    """A session of that name in a seat of that name, ready for a line."""
    claude.ids[name] = str(uuid.uuid4())
    env = [f"{key}={value}" for key, value in claude.env().items()]
    client = [str(claude.bin / "claude"), "-n", name]
    client += ["--session-id", claude.ids[name], "--permission-mode", "manual"]
    argv = claude.enter(["env", "-i", *env, *client])
    where = ("--cwd", str(claude.work))
    post.ok("seat", "spawn", name, "--client", "claude", *where, "--", *argv)
    wanted = claude.ids[name]
    record = claude.record(lambda one: one.get("sessionId") == wanted)
    claude.pids[name] = record["pid"]
    post.ok("seat", "wait", name, "--timeout", "30")


def test_a_seat_is_typed_into_answered_interrupted_and_its_draft_left(
    claude: Claude, post: Post
) -> None:
    """What was typed is what the model was given; no dialog, draft or turn is lost."""
    sit(claude, post, "ada")
    server = Server.of(post.state)
    seat = server.find("ada")
    claude.push("ada", END)
    post.ok("seat", "send", "ada", "first line;\nsecond line")
    assert "first line;\nsecond line" in claude.given("ada", "second line")
    post.ok("seat", "wait", "ada", "--timeout", "30")
    claude.push("ada", END)
    long = "\n".join(f"row {n} of a long text" for n in range(200))
    post.ok("seat", "send", "ada", given=long)
    assert "row 199 of a long text" in claude.given("ada", "row 150 of a long text")
    post.ok("seat", "wait", "ada", "--timeout", "30")

    claude.push("ada", bash("touch made-by-hand"), END)
    post.ok("seat", "send", "ada", "touch it")
    post.ok("seat", "wait", "ada", "--for", "approval", "--timeout", "30")
    asked = post.json("seat", "state", "ada")["asked"]
    assert asked["complete"]
    assert asked["kind"] == "bash"
    assert 0 not in asked.get("lasting", [])
    held = post.homi("seat", "send", "ada", "not this")
    assert held.returncode == 75
    if len(asked["options"]) > 2:
        assert post.homi("seat", "respond", "ada", "2").returncode == 77
    post.ok("seat", "respond", "ada", "Yes")
    until((claude.work / "made-by-hand").exists, "the command was run")
    post.ok("seat", "wait", "ada", "--timeout", "30")

    server.tmux.ask(("send-keys", "-t", seat.pane.id, "-l", "half a line"))
    until(lambda: server.look(seat).view.draft, "the draft is drawn")
    assert "half-typed" in post.homi("seat", "send", "ada", "not this").stderr
    assert server.look(seat).view.entered == "half a line"
    server.tmux.ask(("send-keys", "-t", seat.pane.id, "C-u"))
    until(lambda: not server.look(seat).view.draft, "the line is empty")

    claude.push("ada", {"text": "late", "sleep": 15})
    post.ok("seat", "send", "ada", "think")
    post.ok("seat", "wait", "ada", "--for", "busy", "--timeout", "30")
    done = post.json("seat", "interrupt", "ada")
    assert (done["before"], done["state"]) == ("busy", "idle")
    # The client puts what it was asked back into the line.
    assert done["draft"]
    server.tmux.ask(("send-keys", "-t", seat.pane.id, "C-u"))

    # Mail for a name that the client itself does not go by.
    claude.push("ada", END)
    post.ok("claim", "gds-agent")
    post.ok("seat", "bind", "gds-agent", "ada", "--relay")
    message = post.send("gds-agent", "the build is red\n/exit")
    post.reached("gds-agent", message, "offered", 30)
    turn = claude.given("ada", "the build is red")
    assert f"[homi {message} from " in turn
    assert turn.rstrip().endswith("> the build is red\n> /exit")
    post.ok("seat", "kill", "ada")
    until(lambda: server.seats() == [], "no seat is left")

"""The real Codex, live on a screen, with a name."""

import json
from collections.abc import Iterator

import pytest

from tests.clients.codex import Codex, Json
from tests.clients.conftest import Post
from tests.clients.harness import Claude
from tests.clients.test_claude import END, results
from tests.clients.test_mcp import start, tool
from tests.standin.place import until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]


@pytest.fixture
def codex(claude: Claude) -> Iterator[Codex]:
    """A Codex on the machine."""
    made = Codex(claude)
    try:
        yield made
    finally:
        made.end()


def waits(post: Post, message: str, reason: str) -> None:
    """Wait until the queue shows that reason."""
    until(
        lambda: any(
            message in line and reason in line
            for line in post.ok("queue", "bob", "--json").splitlines()
        ),
        f"{message} waits for {reason}",
        90,
        0.3,
    )


def test_a_live_thread_gets_its_mail(claude: Claude, codex: Codex, post: Post) -> None:
    """At rest, at work, behind a half-typed line, behind an Esc, and after its person
    closed it: each letter is one turn, and none is lost."""
    home = ("--home", str(codex.home))
    codex.live("cx")
    claude.type("cx", "hello")
    claude.shows("cx", "ok")
    done = post.json("codex", "peer", "bob", "--cwd", str(claude.work), *home)
    assert done["name"] == "bob"
    at_rest = post.send("bob", "letter one")
    post.reached("bob", at_rest, "seen", 40)
    assert "letter one" in claude.screen("cx")
    answer = post.ok("ask", "--from", "svc", "--timeout", "30", "bob", "is it green?")
    assert "ok" in answer
    claude.type("cx", "SLEEP 4 busy")
    behind = post.send("bob", "letter two")
    claude.keys("cx", "-l", "a draft")
    post.reached("bob", behind, "seen", 60)
    assert "a draft" in claude.screen("cx")
    claude.keys("cx", "C-u")
    claude.type("cx", "SLEEP 30 stop me")
    until(lambda: '"busy"' in post.ok("codex", "ls", "--json", *home), "busy", 20, 0.2)
    kept = post.send("bob", "letter three")
    post.reached("bob", kept, "offered", 30)
    claude.keys("cx", "Escape")
    waits(post, kept, "interrupted")
    post.kill()
    post.start()
    waits(post, kept, "interrupted")
    claude.type("cx", "go on")
    post.reached("bob", kept, "seen", 60)
    claude.keys("cx", "C-c")
    claude.tmux("kill-session", "-t", "cx", check=False)
    until(lambda: "not-loaded" in post.ok("legs", "bob"), "it is closed", 120, 1.0)
    later = post.send("bob", "letter four")
    waits(post, later, "not-loaded")


def test_a_name_without_a_terminal_gets_each_letter_as_a_run(
    claude: Claude, codex: Codex, post: Post
) -> None:
    """In one thread that goes on over the daemon's death; it answers, and writes by
    homi's tools as its name.  No letter is queued to such a thread."""
    post.ok("setup", "codex", "--config-dir", str(codex.home))
    path = f"{codex.command()}:{post.env()['PATH']}"
    inside = {"PATH": path, "CODEX_HOME": str(codex.home)}
    bound = ("spawn", "cody", "--cli", "codex", "--headless", "--cwd", str(claude.work))
    extra = ("--", "-c", "mcp_servers.homi.required=true")
    done = post.homi(*bound, *extra, **inside)
    assert done.returncode == 0, done.stderr
    ask = ("ask", "--from", "svc", "--timeout", "100", "cody")
    assert post.ok(*ask, "are you there?") == "ok\n"

    def row() -> Json:
        return dict(json.loads(post.ok("command", "ls", "--json")))

    thread = row()["session"]
    post.send("cody", 'CALL send {"to":"svc","text":"from a run"}')
    line = post.stored("svc", "from a run")
    assert (line["msg"]["from"], line["via"]["verified"]) == ("cody", True)
    slow = post.send("cody", "SLEEP 6 and then")
    post.reached("cody", slow, "offered", 40)
    post.kill()
    post.start()
    post.reached("cody", slow, "seen", 60)
    assert row()["session"] == thread
    assert any("are you there?" in one["text"] for one in codex.log()[-1:])
    home = ("--home", str(codex.home))
    done = post.homi("codex", "peer", "bob", "--thread", thread, *home)
    assert (done.returncode, "cody goes on" in done.stderr) == (73, True), done.stderr
    post.ok("command", "unbind", "cody")
    again = ("codex", "peer", "cody", "--headless", "--thread", thread, *home)
    done = post.homi(*again, "--cwd", str(claude.work), **inside)
    assert done.returncode == 0, done.stderr
    assert post.ok(*ask, "still there?") == "ok\n"
    assert row()["session"] == thread


def test_a_thread_writes_as_the_name_it_is_bound_to(
    claude: Claude, codex: Codex, post: Post
) -> None:
    """By homi's tools, each call for the thread it is of; one without a name is told
    how it gets one.  A session of Claude Code and it ask each other by them."""
    home = ("--home", str(codex.home))
    post.ok("setup", "codex", "--config-dir", str(codex.home))
    claude.tmux("kill-session", "-t", "cx", check=False)
    codex.live("cx")
    codex.tools(lambda text: claude.type("cx", text))
    claude.type("cx", 'CALL send {"to":"svc","text":"nobody wrote this"}')
    claude.shows("cx", "done")
    assert any("homi codex peer NAME" in one["text"] for one in codex.log())
    post.json("codex", "peer", "bob", "--cwd", str(claude.work), *home)
    claude.type("cx", 'CALL send {"text":"as bob","to":"svc"}')
    line = post.stored("svc", "as bob")
    assert (line["msg"]["from"], line["via"]["verified"]) == ("bob", True)
    assert not any("nobody wrote" in one["msg"]["text"] for one in post.lines("svc"))

    post.ok("claim", "ada")
    start(claude, "ada")

    asked_it: list[str] = []

    def knows_itself() -> bool:
        """Its tools come a moment after it, too."""
        asked_it.append(f"{len(asked_it)} who is there")
        told = results(claude.say("ada", asked_it[-1], tool("who"), END))
        return any("you" in one for one in told)

    until(knows_itself, "its tools", 60, 1.0)
    claude.push("ada", tool("ask", to="bob", text="is beta green?"), END)
    claude.type("ada", "ask bob")
    claude.given("ada", "> ok")
    asked = post.stored("bob", "is beta green?")["msg"]
    assert post.stored("ada", "ok")["msg"]["reply_to"] == asked["id"]
    claude.status("ada", "idle")
    claude.type("cx", 'CALL ask {"to":"ada","text":"is gamma green?"}')
    asked = post.stored("ada", "is gamma green?")["msg"]
    assert asked["from"] == "bob"
    claude.given("ada", "is gamma green?")
    claude.status("ada", "idle")
    claude.say(
        "ada", "answer it", tool("reply", id=asked["id"], text="green as g"), END
    )
    post.stored("bob", "green as g")
    until(lambda: "> green as g" in codex.log()[-1]["text"], "the answer", 30)

"""The real Codex, live on a screen, with a name."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

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


class Asked(NamedTuple):
    """A question to bob that somebody waits for."""

    id: str
    said: Future[str]

    @classmethod
    def of(cls, pool: ThreadPoolExecutor, post: Post, text: str) -> "Asked":
        """Ask it, as svc."""
        argv = ("ask", "--from", "svc", "--timeout", "200", "bob", text)
        said = pool.submit(post.ok, *argv)
        return cls(post.stored("bob", text)["msg"]["id"], said)

    def answered(self, post: Post, patience: float = 60) -> None:
        """It was seen once, and what its turn ended with is the answer."""
        post.reached("bob", self.id, "answered", patience)
        assert self.said.result(30) == "ok\n"
        rungs = post.rungs("bob", self.id)
        assert rungs.index("offered") < rungs.index("seen"), rungs


def test_a_live_thread_gets_its_mail(claude: Claude, codex: Codex, post: Post) -> None:
    """At rest, at work, behind a half-typed line, behind an Esc, and once its person
    opened it again: each letter is one turn that answers, and none is lost."""
    home = ("--home", str(codex.home))
    codex.live("cx")
    claude.type("cx", "hello")
    claude.shows("cx", "ok")
    done = post.json("codex", "peer", "bob", "--cwd", str(claude.work), *home)
    assert done["name"] == "bob"
    with ThreadPoolExecutor() as pool:
        Asked.of(pool, post, "letter one").answered(post)
        assert "letter one" in claude.screen("cx")
        claude.type("cx", "SLEEP 4 busy")
        behind = Asked.of(pool, post, "letter two")
        claude.keys("cx", "-l", "a draft")
        behind.answered(post)
        assert "a draft" in claude.screen("cx")
        claude.keys("cx", "C-u")
        claude.type("cx", "SLEEP 30 stop me")
        busy = lambda: '"busy"' in post.ok("codex", "ls", "--json", *home)  # noqa: E731
        until(busy, "busy", 20, 0.2)
        kept = Asked.of(pool, post, "letter three")
        post.reached("bob", kept.id, "offered", 30)
        claude.keys("cx", "Escape")
        waits(post, kept.id, "interrupted")
        post.kill()
        post.start()
        waits(post, kept.id, "interrupted")
        claude.type("cx", "go on")
        kept.answered(post)
        claude.keys("cx", "C-c")
        claude.tmux("kill-session", "-t", "cx", check=False)
        until(lambda: "not-loaded" in post.ok("legs", "bob"), "it is closed", 120, 1.0)
        later = Asked.of(pool, post, "letter four")
        waits(post, later.id, "not-loaded")
        codex.live("again", "resume", done["thread"])
        later.answered(post)
    for text in ("letter one", "letter two", "letter three", "letter four"):
        assert turns(codex, text) == 1, text


def turns(codex: Codex, text: str) -> int:
    """In how many prompts of the thread the text is, by its last request."""
    every = json.loads(codex.log()[-1]["text"])["input"]
    return sum(text in json.dumps(one) for one in every if one.get("role") == "user")


@pytest.mark.parametrize("point", ["queued", "taken"])
def test_a_thread_that_is_killed_loses_no_letter(
    claude: Claude, codex: Codex, post: Post, point: str
) -> None:
    """One that waited behind its turn is a turn of who opens it again.  One that was
    its turn may have been acted on: that is shown and told; a word gives it anew."""
    home = ("--home", str(codex.home))
    codex.live("cx")
    claude.type("cx", "hello")
    claude.shows("cx", "ok")
    done = post.json("codex", "peer", "bob", "--cwd", str(claude.work), *home)
    if point == "queued":
        claude.type("cx", "SLEEP 60 work")
        until(lambda: "SLEEP 60 work" in str(codex.log()), "it works", 20, 0.2)
        message = post.send("bob", "do not lose me")
        post.reached("bob", message, "offered", 30)
    else:
        message = post.send("bob", "SLEEP 6 do not lose me")
        until(lambda: "do not lose me" in str(codex.log()), "it is given", 30, 0.2)
    codex.kill()
    claude.tmux("kill-session", "-t", "cx", check=False)
    assert "seen" not in post.rungs("bob", message)
    codex.live("again", "resume", done["thread"])
    if point == "taken":
        waits(post, message, "interrupted")
        assert post.notice("svc", message)["msg"]["kind"] == "notice"
        post.ok("queue", "requeue", message)
    post.reached("bob", message, "seen", 60)
    assert turns(codex, "do not lose me") == (1 if point == "queued" else 2)


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

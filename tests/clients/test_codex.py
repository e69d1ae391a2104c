"""The real Codex, live on a screen, with a name."""

from collections.abc import Iterator

import pytest

from tests.clients.codex import Codex
from tests.clients.conftest import Post
from tests.clients.harness import Claude
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

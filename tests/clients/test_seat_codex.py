"""The real Codex in a seat: typed into, in one line and in many, and mail relayed."""

from collections.abc import Iterator

import pytest

from homi.seats.server import Server
from tests.clients.codex import Codex
from tests.clients.conftest import Post
from tests.clients.harness import Claude
from tests.standin.place import until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]


@pytest.fixture
def codex(claude: Claude) -> Iterator[Codex]:
    made = Codex(claude)
    yield made
    made.end()


def test_a_codex_terminal_takes_what_is_typed_as_its_turn(
    claude: Claude, post: Post, codex: Codex
) -> None:
    """Not before it has a session, although its line is drawn at once."""
    env = [f"{key}={value}" for key, value in codex.env().items()]
    argv = claude.enter(["env", "-i", *env, *codex.tui()])
    where = ("--cwd", str(claude.work))
    post.ok("seat", "spawn", "cod", "--client", "codex", *where, "--", *argv)
    server = Server.of(post.state)
    post.ok("seat", "wait", "cod", "--timeout", "40")
    post.ok("seat", "send", "cod", "hello; there;\nand a second line")
    until(lambda: "and a second line" in str(codex.log()), "the model is given it")
    post.ok("seat", "wait", "cod", "--timeout", "30")
    post.ok("claim", "gds-agent")
    post.ok("seat", "bind", "gds-agent", "cod", "--relay")
    message = post.send("gds-agent", "the build is red")
    post.reached("gds-agent", message, "offered", 30)
    until(lambda: message in str(codex.log()), "the model is given the letter")
    post.ok("seat", "kill", "cod")
    until(lambda: server.seats() == [], "no seat is left")

"""The real client's own hooks, and a digest before its model."""

import json

import pytest

from tests.clients.conftest import Post
from tests.clients.harness import Claude
from tests.standin.place import until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]


def installed(post: Post, *more: str) -> None:
    """The hooks, the tools and the guide in the user's own files, or out of them."""
    post.ok("setup", "claude", "--homi", str(post.bin / "homi"), *more)


def test_a_session_without_a_socket_reads_its_mail_by_its_hooks(
    claude: Claude, post: Post
) -> None:
    """Given with the prompt, seen by its transcript, and not given twice.

    A session without a socket reads no settings but those it is told of: here the
    file that setup wrote."""
    post.ok("claim", "ada")
    installed(post)
    hooks = json.loads((claude.config / "settings.json").read_text())
    installed(post, "--remove")
    claude.start("ada", "--restricted", settings=hooks)
    until(lambda: "hook\tyes" in post.ok("legs", "ada"), "homi knows the session")
    message = post.send("ada", "by the hook\nsecond line")
    texts = "\n".join(claude.say("ada", "go on"))
    assert "[homi brief: " in texts
    assert f"[homi {message} from " in texts
    assert "> by the hook\n> second line" in texts
    post.reached("ada", message, "seen", 30)
    assert post.ledger("ada", message)[0]["leg"] == "hook"
    claude.say("ada", "and now")
    assert post.rungs("ada", message).count("offered") == 1


def test_installed_hooks_leave_a_session_with_a_socket_alone(
    claude: Claude, post: Post
) -> None:
    """It is written to; its hooks run, print nothing, and all can be taken out again.
    The sessions' own state, which they wrote meanwhile, is without homi as well."""
    before = (claude.config / "settings.json").read_bytes()
    state = claude.home / ".claude.json"
    installed(post)
    try:
        post.ok("claim", "ada")
        claude.start("ada")
        message = post.send("ada", "by the socket")
        assert claude.given("ada", "by the socket")
        post.reached("ada", message, "seen", 30)
        assert "[homi brief: " not in "\n".join(claude.say("ada", "go on"))
        assert {x.get("leg") for x in post.ledger("ada", message)} <= {"claude", None}
        assert "homi" in "\n".join(claude.texts("ada"))  # the skill is listed
    finally:
        claude.end_all()
        assert "homi" in json.loads(state.read_text())["mcpServers"]
        installed(post, "--remove")
    assert (claude.config / "settings.json").read_bytes() == before
    assert "mcpServers" not in json.loads(state.read_text())


def test_what_needs_a_person_is_in_no_request_to_a_model(
    claude: Claude, post: Post
) -> None:
    """Neither by the socket nor by the hook; ordinary mail behind it is, by both."""
    installed(post)
    hooks = json.loads((claude.config / "settings.json").read_text())
    installed(post, "--remove")
    for name in ("ada", "bob"):
        post.ok("claim", name)
        sealed = f"sealed word for {name}"
        post.ok("send", "--from", "svc", "--needs", "human", name, sealed)
        post.ok("send", "--from", "svc", name, f"open word for {name}")
    claude.start("ada")
    assert claude.given("ada", "open word for ada")
    claude.start("bob", "--restricted", settings=hooks)
    until(lambda: "hook\tyes" in post.ok("legs", "bob"), "homi knows the session")
    assert "open word for bob" in "\n".join(claude.say("bob", "go on"))
    claude.say("ada", "and now")
    claude.say("bob", "and now")
    assert claude.asked("open word for ada")
    assert claude.asked("open word for bob")
    assert claude.asked("sealed word") == 0
    assert len(post.lines("owner")) == 2


def test_a_long_backlog_is_one_turn_that_lists_it(claude: Claude, post: Post) -> None:
    """Seen like any letter; what it lists stays until it was read."""
    post.ok("claim", "ada")
    lines = "".join(f"letter {n}\n" for n in range(25))
    post.ok("send", "--lines", "--from", "svc", "ada", given=lines)
    claude.start("ada")
    given = claude.given("ada", "25 letters are waiting for ada")
    assert "letter 24" in given
    digest = next(one for one in post.lines("ada") if one["msg"].get("tags"))
    post.reached("ada", digest["msg"]["id"], "seen", 30)
    assert len(claude.calls("ada")) == 1
    first = post.lines("ada")[0]["msg"]["id"]
    post.has("ada", first, rung="offered", reason="digest")

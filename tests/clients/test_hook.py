"""The real client's own hooks, and a digest before its model."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.conftest import Post
from tests.clients.harness import Claude
from tests.standin.place import until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

AGENT = Path(__file__).parents[2] / "contrib" / "agents" / "claude"


def installed(claude: Claude, *more: str) -> None:
    """The hooks and the skill in the user's own settings, or out of them."""
    homi = str(claude.bin / "homi")
    where = ("--config-dir", str(claude.config), "--homi", homi)
    subprocess.run([sys.executable, AGENT / "install", *where, *more], check=True)


def test_a_session_without_a_socket_reads_its_mail_by_its_hooks(
    claude: Claude, post: Post
) -> None:
    """Given with the prompt, seen by its transcript, and not given twice."""
    post.ok("claim", "ada")
    hooks = json.loads((AGENT / "hooks.json").read_text())
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
    """It is written to; its hooks run, print nothing, and can be taken out again."""
    before = (claude.config / "settings.json").read_bytes()
    installed(claude)
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
        installed(claude, "--uninstall")
    assert (claude.config / "settings.json").read_bytes() == before


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

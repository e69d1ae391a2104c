"""What setup writes, and the plugin, as the real clients read them."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.codex import CONFIG, Codex
from tests.clients.conftest import Post
from tests.clients.harness import Claude
from tests.standin.place import until

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]  # npm, the first time

PLUGIN = Path(__file__).parents[2] / "contrib" / "agents" / "claude"


@pytest.fixture
def codex(claude: Claude) -> Iterator[Codex]:
    """A Codex that has run once."""
    made = Codex(claude)
    yield made
    made.end()


def test_codex_uses_the_tools_unasked_and_knows_the_guide(
    codex: Codex, post: Post
) -> None:
    """In a sandbox that lets it ask nobody; and all of it can be taken out again."""
    before = codex.turn("CALL who {}")
    assert before[-1]["type"] == "turn.completed"
    assert not any("homi" in tool for tool in codex.log()[-1]["tools"])
    setup = ("setup", "codex", "--config-dir", str(codex.home))
    post.ok(*setup, "--homi", str(post.bin / "homi"))
    shown = json.loads(codex.run("mcp", "get", "homi", "--json"))
    assert shown["enabled"] is True
    events = codex.turn("CALL who {}")
    calls = [one["item"] for one in events if one["type"] == "item.completed"]
    (call,) = [one for one in calls if one["type"] == "mcp_tool_call"]
    assert (call["server"], call["tool"]) == ("homi", "who")
    assert (call["status"], call["error"]) == ("completed", None)
    assert "svc" in json.dumps(call["result"])
    assert "look for mail that waits" in codex.log()[-1]["text"]
    post.ok(*setup, "--remove")
    assert codex.config.read_text().startswith(CONFIG)
    assert "homi" not in codex.config.read_text()


def test_claude_uses_the_tools_unasked(claude: Claude, post: Post) -> None:
    """In the mode that asks a person before any other tool of a server."""
    state = claude.home / ".claude.json"
    before = json.loads(state.read_text())
    post.ok("setup", "claude", "--homi", str(post.bin / "homi"))
    try:
        claude.start("ada")
        asked = {"tool": "mcp__homi__who", "input": {}}
        given = claude.say("ada", "who is there", asked, {"text": "done"})
        assert any(one.startswith("[tool_result]") and "svc" in one for one in given)
    finally:
        claude.end_all()
        post.ok("setup", "claude", "--remove")
    assert json.loads(state.read_text()).get("mcpServers") == before.get("mcpServers")


def test_the_plugin_is_one_by_the_client_s_own_word(claude: Claude) -> None:
    """It validates strictly; a plugin that is none does not."""

    def validated(folder: Path) -> int:
        command = [str(claude.bin / "claude"), "plugin", "validate", "--strict"]
        return subprocess.run(
            claude.enter([*command, str(folder)]),
            env=claude.env(),
            capture_output=True,
            timeout=60,
            check=False,
        ).returncode

    assert validated(PLUGIN) == 0
    broken = claude.state / "broken" / ".claude-plugin"
    broken.mkdir(parents=True)
    (broken / "plugin.json").write_text('{"name": "a b"}')
    assert validated(broken.parent) != 0


def test_a_session_with_the_plugin_has_hooks_tools_and_guide(
    claude: Claude, post: Post
) -> None:
    """For one session, by the command that is in its PATH."""
    post.ok("claim", "ada")
    claude.start("ada", "--plugin-dir", str(PLUGIN))

    def told() -> int:
        # The tools are told with the first turn that begins after they came.
        claude.say("ada", "go on")
        return claude.asked("mcp__plugin_homi_homi__send")

    until(told, "the tools", 60)
    assert "homi:homi" in "\n".join(claude.texts("ada"))  # the guide of a plugin

"""The template of Claude Code without a terminal, with the real client."""

import json
import os
import signal
from typing import Any

import pytest

from tests.clients.conftest import Post
from tests.clients.harness import Claude

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]


def bind(claude: Claude, post: Post, name: str) -> None:
    """With the template of homi; its program crosses into the namespace."""
    folder = claude.state / "inside"
    folder.mkdir(exist_ok=True)
    program = folder / "claude"
    real = claude.enter([str(claude.bin / "claude")])
    program.write_text(f'#!/bin/sh\nexec {" ".join(real)} "$@"\n')
    program.chmod(0o755)
    path = f"{folder}:{post.env()['PATH']}"
    done = post.homi("command", "bind", name, "--template", "claude", PATH=path)
    assert done.returncode == 0, done.stderr


def row(post: Post) -> dict[str, Any]:
    return dict(json.loads(post.ok("command", "ls", "--json")))


def test_a_conversation_without_a_terminal_goes_on_and_answers(
    claude: Claude, post: Post
) -> None:
    """Its id is learned, its answers are replies, its mail is seen."""
    bind(claude, post, "reviewer")
    ask = ("ask", "--from", "svc", "--timeout", "100", "reviewer")
    assert post.ok(*ask, "are you there?") == "ok\n"
    session = claude.ids["reviewer"] = row(post)["session"]
    claude.push("reviewer", {"text": "the build is green"})
    assert post.ok(*ask, "and the build?") == "the build is green\n"
    mail = post.send("reviewer", "thank you")
    post.reached("reviewer", mail, "seen", 60)
    assert row(post)["session"] == session
    given = claude.texts("reviewer")
    for text in ("> are you there?", "> and the build?", "> thank you"):
        assert any(text in one for one in given), given


def test_a_run_that_is_killed_keeps_its_letter(claude: Claude, post: Post) -> None:
    """It may have been acted on: that is shown and told, and a word gives it anew, in
    the same conversation."""
    bind(claude, post, "reviewer")
    ask = ("ask", "--from", "svc", "--timeout", "50", "reviewer")
    assert post.ok(*ask, "are you there?") == "ok\n"
    session = claude.ids["reviewer"] = row(post)["session"]
    message = post.send("reviewer", "SLEEP 5 and do not lose me")
    claude.given("reviewer", "do not lose me")
    for pid in claude.running("claude"):
        os.kill(pid, signal.SIGKILL)
    post.has("reviewer", message, reason="interrupted")
    assert post.notice("svc", message)["msg"]["kind"] == "notice"
    assert "seen" not in post.rungs("reviewer", message)
    post.ok("queue", "requeue", message)
    post.reached("reviewer", message, "seen", 60)
    assert row(post)["session"] == session

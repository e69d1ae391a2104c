"""How each client is started."""

import pytest

from homi.address import Name
from homi.errors import Usage
from homi.spawn.clients import check, command, one_conversation

ADA = Name("ada")
INBOUND = ["--settings", '{"crossSessionInbound":"accept"}']


def test_claude_has_its_name_and_takes_mail_from_the_start() -> None:
    """Whoever gives settings gives that one, too."""
    assert command("claude", ADA, ["x"]) == ["claude", "-n", "ada", *INBOUND, "x"]
    own = ["--settings={}", "x"]
    assert command("claude", ADA, own) == ["claude", "-n", "ada", *own]
    assert command("codex", ADA, ["x"]) == ["codex", "x"]


@pytest.mark.parametrize("word", ["-n", "--name=bob", "-p", "--print", "--bg"])
def test_what_is_homis_to_give_or_makes_no_session_is_refused(word: str) -> None:
    check("claude", ["--model", "opus"])
    with pytest.raises(Usage):
        check("claude", [word])


@pytest.mark.parametrize("client", ["gemini", "opencode", "no-such", ""])
def test_a_client_that_takes_no_seat_is_refused(client: str) -> None:
    check("codex", [])
    with pytest.raises(Usage):
        check(client, [])


def test_a_conversation_that_is_gone_on_with_is_known() -> None:
    assert one_conversation(["--resume=x"])
    assert one_conversation(["-c"])
    assert not one_conversation(["--model", "opus"])

"""The stand-in itself keeps the contract that homi is tested against."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.standin.place import Place, until


@pytest.fixture
def place() -> Iterator[Place]:
    """A private machine without a daemon."""
    with Place() as made:
        yield made


def test_one_session_mails_another_by_name(place: Place) -> None:
    """The plain way: listed, written to, a turn, and the reply comes back."""
    place.session("ada")
    bob = place.session("bob", "--auto", "--reply", "thanks")
    ada = place.sessions[0]
    ada.do("list")
    assert ada.wait("listed")["peers"] == ["bob"]
    assert ada.send("bob", "hello bob")["ok"]
    assert bob.letter("hello bob")["name"] == "ada"
    assert ada.letter("thanks")["name"] == "bob"


def test_a_letter_is_taken_and_answered_in_the_transcript(place: Place) -> None:
    """The two lines that prove a letter was read carry its id."""
    ada = place.session("ada")
    bob = place.session("bob", "--auto")
    sent = ada.send("bob", "prove it")
    file = Path(bob.wait("flushed")["path"])
    until(lambda: '"type": "assistant"' in file.read_text(), "it is answered")
    text = file.read_text()
    assert sent["msg_id"] in text
    assert f'"verifiedPeerPid": {ada.pid}' in text


def test_a_busy_session_absorbs_what_waits(place: Place) -> None:
    """A letter during a tool is read when the tool ends, not before."""
    ada = place.session("ada")
    bob = place.session("bob")
    bob.do("tool")
    ada.send("bob", "mid-turn")
    bob.wait("queued")
    assert not bob.letters()
    bob.do("tool_done")
    assert bob.letter("mid-turn")


def test_the_guard_drops_a_burst_and_tells_the_sender(place: Place) -> None:
    """Over thirty at once the client drops, with a receipt to the line's from."""
    ada = place.session("ada")
    bob = place.session("bob")
    bob.do("tool")
    for count in range(33):
        assert ada.send("bob", f"burst {count}")["ok"]
    assert bob.wait("dropped")["reason"] == "rate-limited"
    notice = ada.wait("notice")
    assert (notice["status"], notice["drop_reason"]) == ("dropped", "rate-limited")


def test_a_mode_mismatch_is_held_until_its_user_decides(place: Place) -> None:
    """Parity: bypass to prompting waits in a dialog; delivery is told."""
    ada = place.session("ada", "--mode", "bypass")
    bob = place.session("bob")
    ada.send("bob", "may I")
    bob.wait("held")
    assert ada.wait("notice")["status"] == "held"
    assert not bob.letters()
    bob.do("deliver")
    assert bob.letter("may I")
    assert ada.wait("notice")["status"] == "delivered"


def test_a_killed_session_leaves_its_record_and_a_clean_one_does_not(
    place: Place,
) -> None:
    """What homi must tell apart from a live owner by the pid alone."""
    ada, bob = place.session("ada"), place.session("bob")
    ada.kill()
    bob.exit()
    assert (place.registry / f"{ada.pid}.json").exists()
    assert not (place.registry / f"{bob.pid}.json").exists()
    until(lambda: not place.left(), "both are gone")

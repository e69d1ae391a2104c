"""A backlog in front of real daemons and stand-in sessions; kills at each line."""

import signal

import pytest

from tests.crash.steps import steps
from tests.standin.place import PATIENCE, Place, homi_command

BACKLOG = 25  # over the default of 20
FAULTS = [
    *("before-ring:1", "after-ring-sync:1", "mid-lines:1", "before-answer:1"),
    *(f"evidence:{line}" for line in range(1, 6)),
]
SMALL = {"before-ring:1", "mid-lines:1", "evidence:2"}


def _backlog(place: Place) -> list[str]:
    """More letters for ada than go one by one; nobody is home."""
    place.ok("claim", "ada")
    lines = "".join(f"letter {n}\n" for n in range(BACKLOG))
    place.ok("send", "--lines", "--from", "svc", "ada", given=lines)
    return [line["msg"]["id"] for line in place.lines("ada")]


def _listed(place: Place, message: str) -> list[str]:
    """By what digests the letter was offered, in order."""
    return [
        line["by"]
        for line in place.lines("ada", "ledger")
        if line["id"] == message and line.get("reason") == "digest"
    ]


def test_a_backlog_is_one_turn_and_is_read_by_the_commands_it_names(
    place: Place,
) -> None:
    """Later mail comes as a turn; the listed are finished by read and ack."""
    sent = _backlog(place)
    ada = place.session("ada", "--auto")
    digest = ada.letter("25 letters are waiting for ada")
    place.reached("ada", digest["msg_id"], "seen")
    place.reached("ada", sent[-1], "offered")
    assert f"{sent[0][24:]}  svc" in digest["text"]
    later = place.send("ada", "later")
    place.reached("ada", later, "seen")
    assert [one["msg_id"] for one in ada.letters()] == [digest["msg_id"], later]
    assert _listed(place, sent[0]) == [f"digest {digest['msg_id']}"]
    assert digest["msg_id"] in place.ok("trace", sent[0])
    read = ada.tool(*homi_command(), "read", sent[0][24:32])
    assert (read["rc"], read["out"]) == (0, "letter 0")
    ada.tool(*homi_command(), "ack", *sent[1:])
    for message in sent:
        place.reached("ada", message, "seen")
    assert place.json("inbox", "ada") == []


def test_what_a_session_left_unread_comes_to_the_next_as_a_repeat(place: Place) -> None:
    """In a digest of its own."""
    sent = _backlog(place)
    first = place.session("ada", "--auto")
    digest = first.letter("letters are waiting")["msg_id"]
    place.reached("ada", digest, "seen")
    place.reached("ada", sent[-1], "offered")
    first.kill()
    second = place.session("ada", "--auto")
    again = second.letter("25 letters are waiting")["msg_id"]
    place.reached("ada", again, "seen")
    assert again != digest
    last = [line for line in place.lines("ada", "ledger") if line["id"] == sent[0]][-1]
    assert last["repeat"]
    assert last["by"] == f"digest {again}"


@pytest.mark.parametrize("fault", steps(FAULTS, SMALL))
def test_a_kill_at_any_step_of_a_digest_loses_nothing(place: Place, fault: str) -> None:
    """Its commit; its intent, its offer, its letters, taken, seen: whatever is the
    last, every letter is listed to the session, by one digest that is never made
    twice."""
    sent = _backlog(place)
    place.ok("claim", "bob")
    assert place.stop() == 0
    ada = place.session("ada", "--auto")
    daemon = place.run_daemon(HOMI_FAULT=fault)
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    place.start()
    # Another letter moves the session on: silence about the digest says something.
    another = place.send("ada", "and another", sender="bob")
    place.reached("ada", another, "seen", 60)
    for message in sent:
        place.reached("ada", message, "offered", 60)
    (made,) = (one for one in place.lines("ada") if one["msg"].get("tags"))
    assert ada.letter("are waiting")["msg_id"] == made["msg"]["id"]
    told = {one["msg_id"] for one in ada.letters() if "are waiting" in one["text"]}
    assert told == {made["msg"]["id"]}

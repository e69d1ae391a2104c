"""What waits for one member: how much of it, and what is one too many."""

import pytest

from homi import ids
from homi.address import Name
from homi.envelope import MessageId, Msg, Via
from homi.rooms import lane
from homi.rooms.lane import Lane
from homi.rooms.state import Member
from homi.store.mailbox import Item

VIA = Via(door="control")


def item(seq: int, length: int) -> Item:
    head = Msg(id=MessageId(ids.new()), from_="ada", to="team", text="")
    return Item(seq, 0, length, head, VIA, "2026-01-01T00:00:00.000Z")


def test_the_oldest_that_is_not_under_way_is_too_much_by_number_or_by_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is dropped twice, as while a notice of it was written, counts once."""
    monkeypatch.setattr(lane, "LANE_MAX", 3)
    monkeypatch.setattr(lane, "LANE_BYTES", 100)
    waits = Lane(Name("team"), Member(address="bob", at=""))
    small, big, more = item(1, 10), item(2, 90), item(3, 1)
    waits.add(small)
    waits.add(big)
    assert waits.excess() is None
    waits.add(more)
    assert waits.excess() is small
    waits.flying = True
    assert waits.excess() is big
    for _ in range(2):
        waits.drop(big)
    assert waits.excess() is None
    assert (list(waits.todo), waits.bytes) == ([small, more], 11)
    for seq in (4, 5):
        waits.add(item(seq, 1))
    assert waits.excess() is more

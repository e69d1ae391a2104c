"""Lines read in runs are the right ones, whatever became of the journal meanwhile."""

from typing import NamedTuple

import pytest

from homi import ids
from homi.address import Name
from homi.envelope import MessageId, Msg, Via, encode
from homi.errors import StorageFailed
from homi.store import ahead
from homi.store.ahead import Ahead
from homi.store.mailbox import Item, Mailbox

VIA = Via(door="control", uid=0)


class Reading(NamedTuple):
    """One read of the journal."""

    offset: int
    length: int


class Journal:
    """A mailbox over bytes in memory that counts its reads."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.reads: list[Reading] = []
        self.box = Mailbox(Name("@mini"), self._read)
        self.ahead = Ahead(self.box)

    def _read(self, offset: int, length: int) -> bytes:
        self.reads.append(Reading(offset, length))
        return bytes(self.data[offset : offset + length])

    def add(self, seq: int, text: str = "x") -> Item:
        """One more line."""
        head = Msg(id=MessageId(ids.new()), from_="ada", to="bob@mini", text=text)
        line = line_of(seq, head)
        at = len(self.data)
        self.data += line
        return self.box.arrived(seq, at, len(line), head, VIA, "x", "bob@mini")


def line_of(seq: int, head: Msg) -> bytes:
    """As it stands in a journal."""
    return b'{"v":1,"seq":%d,"at":"x","to":"bob@mini","via":%b,"msg":%b}\n' % (
        seq,
        encode(VIA),
        encode(head),
    )


def test_lines_that_follow_each_other_are_one_read() -> None:
    journal = Journal()
    items = [journal.add(seq) for seq in range(1, 30)]
    assert [journal.ahead.read(item).seq for item in items] == list(range(1, 30))
    assert journal.reads == [Reading(0, ahead.PIECE)]


def test_what_came_behind_the_piece_is_read_when_it_is_wanted() -> None:
    journal = Journal()
    journal.ahead.read(journal.add(1))
    second = journal.add(2)
    assert journal.ahead.read(second).seq == 2
    assert journal.reads[1:] == [Reading(second.offset, ahead.PIECE)]


def test_memory_is_one_piece_however_long_a_line_is() -> None:
    """A long line is read alone; the piece stays for those around it."""
    journal = Journal()
    first, long = journal.add(1), journal.add(2, "x" * ahead.PIECE)
    assert journal.ahead.read(first).seq == 1
    assert journal.ahead.read(long).seq == 2
    assert journal.ahead.read(first).seq == 1
    assert journal.reads[1:] == [Reading(long.offset, long.length)]
    journal.ahead.forget()
    journal.ahead.read(first)
    assert len(journal.reads) == 3


def test_another_journal_at_the_same_place_is_noticed() -> None:
    """As after a segment was closed, or lines were put elsewhere by a repair."""
    journal = Journal()
    journal.ahead.read(journal.add(1))
    journal.add(2)
    journal.ahead.read(journal.box.pending[1])
    del journal.data[:]
    third = journal.add(3)
    assert third.offset == 0
    assert journal.ahead.read(third).seq == 3


def test_another_message_under_that_number_is_not_taken_for_it() -> None:
    """The seq alone proves nothing where a journal was replaced by a copy."""
    journal = Journal()
    item = journal.add(1)
    journal.ahead.read(item)
    item.id = MessageId(ids.new())
    before = len(journal.reads)
    journal.ahead.read(item)
    assert journal.reads[before:] == [Reading(0, item.length)]


def test_a_damaged_line_costs_itself_alone() -> None:
    journal = Journal()
    first, second, third = (journal.add(seq) for seq in (1, 2, 3))
    journal.data[second.offset] = ord("x")
    assert journal.ahead.read(first).seq == 1
    with pytest.raises(StorageFailed):
        journal.ahead.read(second)
    assert journal.ahead.read(third).seq == 3

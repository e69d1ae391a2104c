"""What one mailbox knows: arrivals, rungs, what is finished."""

import pytest

from homi.address import Name
from homi.envelope import Msg, Reason, Rung, Via, Was
from homi.errors import NoInput, StorageFailed
from homi.store.mailbox import FINISHED_KEPT, Mailbox, stamp
from tests.unit.store.lines_kit import ADA, AT, BOB, envelope, line, message

VIA = Via(door="control", uid=7)


def head(number: int, sender: str = "bob") -> Msg:
    return Msg(id=message(number), from_=sender, to="ada", text="hello")


def mailbox(*seqs: int) -> Mailbox:
    """With these envelopes in one inbox."""
    data, box = b"", Mailbox(Name("ada"), lambda at, n: data[at : at + n])
    for seq in seqs:
        one = envelope(seq)
        box.arrived(seq, len(data), len(one), head(seq), VIA, AT)
        data += one
    return box


def test_arrival_is_pending_in_order_of_seq() -> None:
    """The courier drains what it finds here."""
    box = mailbox(1, 2, 7)
    assert list(box.pending) == [1, 2, 7]
    assert box.last_seq == 7
    assert box.pending_bytes == sum(len(envelope(seq)) for seq in (1, 2, 7))
    item = box.pending[2]
    assert (item.rung, item.sender, item.at) == (Rung.STORED, "/bob", AT)


def test_lane_tells_devices_apart() -> None:
    """bob here and bob@mini are two senders."""
    box = mailbox()
    here = box.arrived(1, 0, 9, head(1), VIA, AT)
    there = box.arrived(2, 9, 9, head(2), Via(door="link", device="mini"), AT)
    assert here.sender != there.sender == "mini/bob"


@pytest.mark.parametrize(
    "rung",
    [
        Rung.SEEN,
        Rung.ANSWERED,
        Rung.RELAYED,
        Rung.BOUNCED,
        Rung.EXPIRED,
        Rung.CANCELLED,
        Rung.DROPPED,
        Rung.MOVED,
    ],
)
def test_finished_leaves_pending_and_stays_known(rung: Rung) -> None:
    """Evidence or a recorded decision ends an envelope."""
    box = mailbox(1, 2)
    box.apply(line(1, 1, rung))
    assert list(box.pending) == [2]
    assert box.pending_bytes == len(envelope(2))
    assert box.find(message(1)) is None
    assert box.seq_of(message(1)) == 1
    assert box.rung_of(message(1)) is rung


@pytest.mark.parametrize(
    "rung",
    [
        Rung.INTENT,
        Rung.OFFERED,
        Rung.TAKEN,
        Rung.HELD,
        Rung.DEFERRED,
        Rung.PARKED,
        Rung.REFUSED,
    ],
)
def test_unfinished_stays_pending(rung: Rung) -> None:
    """No failure of a hand-over ends an envelope."""
    box = mailbox(1)
    box.apply(line(1, 1, rung))
    assert box.pending[1].rung is rung


def test_later_line_wins() -> None:
    """The file's order is the order of what happened."""
    box = mailbox(1)
    box.apply(line(1, 1, Rung.HELD, reason=Reason.PACED, until=AT))
    assert box.pending[1].reason is Reason.PACED
    assert box.pending[1].until is not None
    box.apply(line(2, 1, Rung.DEFERRED, reason=Reason.UNREACHABLE))
    item = box.pending[1]
    assert (item.rung, item.reason, item.until) == (
        Rung.DEFERRED,
        Reason.UNREACHABLE,
        None,
    )
    assert box.last_n == 2


def test_hand_over_keeps_its_session_and_asks_for_the_mark() -> None:
    """Whoever gets it next must see that somebody may have read it."""
    box = mailbox(1)
    item = box.pending[1]
    box.apply(line(1, 1, Rung.INTENT, session=ADA))
    assert not item.repeat
    box.apply(line(2, 1, Rung.OFFERED, session=ADA))
    box.apply(line(3, 1, Rung.TAKEN, session=ADA))
    assert (item.session, item.taken, item.repeat) == (ADA, True, True)
    box.apply(line(4, 1, Rung.HELD, reason=Reason.NO_OWNER))
    assert (item.session, item.repeat) == (ADA, True)
    box.apply(line(5, 1, Rung.INTENT, session=BOB, repeat=True))
    assert (item.session, item.taken, item.repeat) == (BOB, False, True)


def test_intent_that_came_to_nothing_asks_for_no_mark() -> None:
    """A channel that refused the bytes has shown them to nobody."""
    box = mailbox(1)
    box.apply(line(1, 1, Rung.INTENT, session=ADA))
    box.apply(line(2, 1, Rung.DEFERRED, reason=Reason.UNREACHABLE))
    assert not box.pending[1].repeat


def test_answered_raises_seen_and_seen_never_lowers_answered() -> None:
    """Evidence may come in any order; the higher rung stays."""
    box = mailbox(1)
    box.apply(line(1, 1, Rung.SEEN))
    box.apply(line(2, 1, Rung.ANSWERED))
    box.apply(line(3, 1, Rung.SEEN))
    box.apply(line(4, 1, Rung.HELD))
    assert box.rung_of(message(1)) is Rung.ANSWERED
    assert box.pending == {}


def test_line_about_an_unknown_envelope_changes_nothing() -> None:
    """A damaged inbox must not stop its ledger."""
    box = mailbox(1)
    box.apply(line(1, 99, Rung.SEEN))
    assert list(box.pending) == [1]


def test_two_origins_may_use_one_id() -> None:
    """The first is found until it is finished, then the second."""
    box = mailbox()
    first = box.arrived(1, 0, 9, head(1), VIA, AT)
    second = box.arrived(2, 9, 9, head(1), VIA, AT)
    third = box.arrived(3, 18, 9, head(1), VIA, AT)
    assert box.find(message(1)) is first
    box.apply(line(1, 2, Rung.SEEN))
    assert box.find(message(1)) is first
    box.apply(line(2, 1, Rung.SEEN))
    assert box.find(message(1)) is third
    box.apply(line(3, 3, Rung.SEEN))
    assert box.find(message(1)) is None
    assert second.seq not in box.pending


def test_finished_ids_are_kept_to_a_bound() -> None:
    """A mailbox of years must not grow in memory."""
    box = mailbox()
    for seq in range(1, FINISHED_KEPT + 3):
        box.arrived(seq, 0, 9, head(seq), VIA, AT)
        box.apply(line(seq, seq, Rung.SEEN))
    assert box.seq_of(message(1)) is None
    assert box.seq_of(message(3)) == 3
    assert len(list(box.finished())) == FINISHED_KEPT


def test_read_gives_the_envelope_from_its_place() -> None:
    """The body is read when it is needed, not kept in memory."""
    box = mailbox(1, 2)
    assert box.read(2).seq == 2
    assert box.read(box.pending[1]).seq == 1
    with pytest.raises(NoInput):
        box.read(3)


def test_read_of_damaged_bytes_names_the_envelope_and_nothing_of_it() -> None:
    """74 for that one; the text of a damaged line is never shown."""
    box = Mailbox(Name("ada"), lambda _at, n: b"secret" * n)
    box.arrived(1, 0, 9, head(1), VIA, AT)
    with pytest.raises(StorageFailed) as caught:
        box.read(1)
    assert "secret" not in caught.value.text
    assert "envelope 1 of ada" in caught.value.text


def test_read_refuses_another_envelope_at_the_place() -> None:
    """An offset that lies must not hand over somebody else's mail."""
    box = Mailbox(Name("ada"), lambda _at, _n: envelope(2))
    box.arrived(1, 0, 9, head(1), VIA, AT)
    with pytest.raises(StorageFailed):
        box.read(1)


def test_stamp_reads_the_postmark() -> None:
    """The tail of a line starts with its time."""
    assert stamp(b'"at":"2026-11-29T22:30:00.123Z","to":"ada"}') == AT


def test_what_was_finished_elsewhere_is_finished_from_its_arrival() -> None:
    """No moment in which it could be handed over; the control: one that was not."""
    box = mailbox()
    for seq, rung in ((1, Rung.SEEN), (2, Rung.HELD), (3, Rung.DROPPED)):
        via = Via(door="import", was=Was(at=AT, rung=rung))
        box.arrived(seq, 0, 9, head(seq), via, AT)
    assert list(box.pending) == [2]
    assert [box.rung_of(message(n)) for n in (1, 2, 3)] == ["seen", "stored", "dropped"]
    assert (box.last_seq, box.pending_bytes) == (3, 9)

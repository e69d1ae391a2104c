"""Mail that waits too long: told of once, then given back; never for lost time."""

from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Any, cast

import pytest

from homi import ids
from homi.address import Device, Name
from homi.clock import rfc3339
from homi.envelope import Kind, LedgerLine, MessageId, Msg, Reason, Rung, Via
from homi.links.feed import Books
from homi.links.overdue import AT_ONCE, Overdue, Patience, Senders, Way
from homi.store.mailbox import Item, Mailbox
from homi.store.places import queue_of
from tests.unit.links.kit import Turned

HOUR, DAY = 3_600.0, 86_400.0
MINI = queue_of(Device("mini"))


class Both(Turned):
    """Clocks of a machine that runs, sleeps, or is set."""

    def __init__(self) -> None:
        super().__init__()
        self.mono = 50.0

    def monotonic(self) -> float:
        return self.mono

    def run(self, seconds: float) -> None:
        self.now += seconds
        self.mono += seconds


class Desk:
    """An out queue, and all that is said of it."""

    def __init__(self) -> None:
        self.clock = Both()
        self.box = Mailbox(MINI, lambda _offset, _length: b"")
        self.told: list[tuple[str, str, str]] = []
        self.bounced: list[tuple[MessageId, str]] = []
        self.expired: list[MessageId] = []
        self.kept = True
        self.lapses = 0
        self.given = True
        self.way = Way(up=False, reason=Reason.LINK_DOWN, text="mini is unreachable")
        self.over = Overdue(
            lambda: [self.box],
            Books(cast(Any, None), self._record, self._bounce, float),
            Senders(self._tell, self._lapse),
            lambda _device: self.way,
            self.clock,
            Patience(4 * HOUR, 5 * DAY),
        )

    def put(self, sender: str = "bob", ttl: int | None = None) -> Item:
        """A message that arrives now."""
        seq = self.box.last_seq + 1
        head = Msg(
            id=MessageId(ids.shape(seq)), from_=sender, to="x", text="x", ttl_s=ttl
        )
        at = rfc3339(self.clock.now)
        return self.box.arrived(seq, 0, 1, head, Via(door="control"), at, "ada@mini")

    def pass_(self, seconds: float, steps: int = 10) -> None:
        """Let time go by, looking meanwhile."""
        for _ in range(steps):
            self.clock.run(seconds / steps)
            self.over.look()

    def _tell(
        self, sender: str, about: MessageId, kind: Kind, step: str, text: str
    ) -> None:
        assert kind is Kind.MAIL
        self.told.append((about, step, text))

    def _lapse(self, _box: Mailbox, _item: Item, done: Callable[[bool], None]) -> None:
        self.lapses += 1
        done(self.given)

    def _bounce(
        self,
        place: Name,
        item: Item,
        reason: Reason | None,
        text: str,
        by: str,
        done: Callable[[bool], None] | None,
    ) -> None:
        assert (place, by) == (MINI, "bounce_after")
        self.bounced.append((item.id, f"{reason} {text}"))
        self._end(item.seq, item.id, Rung.BOUNCED, done)

    def _record(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None],
        *,
        durable: bool,
    ) -> None:
        assert (line.rung, durable) == (Rung.EXPIRED, True)
        self.expired.append(line.id)
        self._end(line.seq, line.id, Rung.EXPIRED, done)

    def _end(self, seq: int, message: MessageId, rung: Rung, done: object) -> None:
        if self.kept:
            self.box.apply(LedgerLine(n=1, seq=seq, id=message, rung=rung, at=""))
        cast(Callable[[bool], None], done)(self.kept)


@pytest.fixture
def desk() -> Desk:
    """Nothing waits yet."""
    return Desk()


def test_the_sender_is_told_once_and_then_has_it_back(desk: Desk) -> None:
    """First that it waits and why, with what is behind it; five days later the end."""
    item, _ = desk.put(), desk.put()
    desk.pass_(3.9 * HOUR)
    assert desk.told == []
    desk.pass_(DAY)
    ((about, step, text),) = desk.told
    assert (about, step) == (item.id, "@mini/delayed")
    assert "mini is unreachable" in text
    assert "1 more to that address" in text
    desk.pass_(5 * DAY)
    assert [message for message, _ in desk.bounced] == [item.id, ids.shape(2)]
    assert desk.bounced[0][1] == (
        "link-down it waited 5 days for mini: mini is unreachable"
    )
    assert not desk.box.pending


def test_each_lane_is_told_of_and_its_next_head_after_as_long_again(desk: Desk) -> None:
    """A long queue that drains slowly is no flood of notices."""
    first = desk.put("bob")
    desk.put("bob")
    desk.put("eve")
    desk.pass_(5 * HOUR)
    assert [about for about, _, _ in desk.told] == [first.id, ids.shape(3)]
    desk.box.apply(LedgerLine(n=1, seq=1, id=first.id, rung=Rung.RELAYED, at=""))
    desk.pass_(HOUR)
    assert len(desk.told) == 2
    desk.pass_(4 * HOUR)
    assert [about for about, _, _ in desk.told[2:]] == [ids.shape(2)]


def test_lost_time_is_followed_by_an_hour_of_running(desk: Desk) -> None:
    """A laptop that slept for a week gives its links time first."""
    desk.put()
    desk.pass_(2 * HOUR)
    desk.clock.now += 7 * DAY
    desk.over.look()
    desk.pass_(0.9 * HOUR)
    assert (desk.told, desk.bounced) == ([], [])
    desk.pass_(0.2 * HOUR)
    assert len(desk.bounced) == 1


def test_a_start_is_followed_by_an_hour_of_running(desk: Desk) -> None:
    """However old the mail is that stood in the queue."""
    desk.put()
    desk.clock.now += 7 * DAY
    desk.over = Overdue(
        lambda: [desk.box],
        desk.over._books,
        Senders(desk._tell, desk._lapse),
        lambda _device: desk.way,
        desk.clock,
        desk.over.patience,
    )
    desk.pass_(0.9 * HOUR)
    assert desk.bounced == []
    desk.pass_(0.2 * HOUR)
    assert len(desk.bounced) == 1


def test_a_time_to_live_ends_at_once_and_its_sender_is_told(desk: Desk) -> None:
    """It is the sender's wish: no hour is waited, a full ledger is tried again."""
    item = desk.put(ttl=60)
    desk.put()
    desk.pass_(59)
    assert desk.expired == []
    desk.kept = False
    desk.pass_(2, steps=1)
    assert (desk.expired, desk.told) == ([item.id], [])
    desk.kept = True
    desk.pass_(1, steps=1)
    assert [step for _, step, _ in desk.told] == ["@mini/expired"]
    assert list(desk.box.pending) == [2]


def test_what_answers_itself_ends_only_once_its_answer_is_stored(desk: Desk) -> None:
    """Else who asked would be told of its end, and never have its default."""
    item = desk.put(ttl=60)
    desk.given = False
    desk.pass_(61, steps=1)
    assert (desk.lapses, desk.expired, list(desk.box.pending)) == (1, [], [1])
    desk.given = True
    desk.pass_(1, steps=1)
    assert (desk.lapses, desk.expired) == (2, [item.id])


def test_a_person_and_a_link_at_work_keep_what_they_keep(desk: Desk) -> None:
    """Held mail waits for its person; over a link that is up only a refusal counts."""
    held, refused = desk.put("bob"), desk.put("eve")
    desk.put("ada")
    held.rung = Rung.PARKED
    refused.rung = Rung.DEFERRED
    desk.way = Way(up=True, reason=None, text="mini does not take it yet")
    desk.pass_(6 * DAY)
    assert [message for message, _ in desk.bounced] == [refused.id]
    assert [about for about, _, _ in desk.told] == [refused.id]
    desk.way = Way(up=False, reason=Reason.LINK_DOWN, text="gone")
    desk.pass_(DAY)
    assert list(desk.box.pending) == [held.seq]


def test_not_too_many_ends_are_under_way(desk: Desk) -> None:
    """What cannot be told of yet stays where it is."""
    desk.over._books = desk.over._books._replace(bounce=lambda *_args: None)
    for _ in range(AT_ONCE + 10):
        desk.put()
    desk.pass_(6 * DAY)
    assert len(desk.over._ending) == AT_ONCE
    assert len(desk.box.pending) == AT_ONCE + 10


class Timers:
    """The part of a loop that is used."""

    def __init__(self) -> None:
        self.dues: list[float] = []

    def time(self) -> float:
        return 0.0

    def call_at(self, due: float, _what: object) -> "Timers.Timer":
        self.dues.append(due)
        return Timers.Timer(due)

    class Timer:
        def __init__(self, due: float) -> None:
            self.due = due

        def when(self) -> float:
            return self.due

        def cancel(self) -> None:
            self.due = 1e9


def test_nothing_ticks_while_nothing_waits(desk: Desk) -> None:
    """The first message begins it; a short time to live is looked at in time."""
    timers = Timers()
    desk.over.start(cast(AbstractEventLoop, timers))
    assert timers.dues == []
    desk.over.arrived(MINI, desk.put())
    assert timers.dues == [60.0]
    desk.over.arrived(MINI, desk.put(ttl=5))
    assert timers.dues == [60.0, 5.0]
    desk.over.stop()

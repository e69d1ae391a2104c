"""What the other end acked and does not know any more, as behind a backup put back.

Owns how that is found out when two devices meet, and how far back.  It is sent again
in its order, before what is newer; nothing is asked beside a meeting.
homi-protocol(7) has the rule.
"""

import logging
from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from homi.address import Name
from homi.clock import rfc3339
from homi.envelope import MessageId
from homi.errors import HomiError, NotReached
from homi.far import FarMissing
from homi.ids import is_id
from homi.links.answering import Asker, Reply
from homi.links.exchange import Exchange
from homi.links.frames import End, Res
from homi.links.losses import Losses
from homi.store.base import Store
from homi.store.mailbox import Item
from homi.store.relayed import CHUNK, Letters, Sent

log = logging.getLogger("homi.links")

VERB = "missing"
FIRST = 64  # the newest of a queue, asked about at each meeting
HOLD = 10.0  # s that a queue waits for that answer
WALK = 60.0  # s that it waits where something is lost
RETRY = 0.25  # s until a look that came to a busy thread is tried again
AT_ONCE = 8  # queues of one link that are asked about at once
MOST = 50_000  # messages of one queue that are sent again at one meeting
# What is finished may be removed over there after thirty days, by another clock.
KEPT = 28 * 86_400.0  # s


class Looks(Protocol):
    """What is looked up in the files, beside the loop."""

    def sent(self, queue: Name, below: int | None, since: str, reply: Reply) -> None:
        """What went on from a queue: Sent."""
        ...

    def letters(
        self, queue: Name, sent: Sent, by: frozenset[str], now: float, reply: Reply
    ) -> None:
        """Those that can go again: Letters."""
        ...

    def missing(self, ids: list[MessageId], reply: Reply) -> None:
        """Those that are nowhere here: FarMissing."""
        ...


class Feeding(Protocol):
    """What sends the mail of a queue."""

    def release(self, place: Name) -> None:
        """Let it go."""
        ...

    def again(
        self, place: Name, items: Iterable[Item], found: Callable[[], None]
    ) -> None:
        """Send these, too; found: when all of them are settled."""
        ...


class Recall:
    """Asks at each meeting, and answers."""

    def __init__(self, store: Store, looks: Looks, losses: Losses) -> None:
        """Nothing is asked before a meeting."""
        self.store = store
        self.looks = looks
        self.losses = losses
        self._meetings: dict[Exchange, _Meeting] = {}

    def met(self, exchange: Exchange, places: Iterable[Name], feed: Feeding) -> None:
        """Ask about each of these queues; feed releases each when that is known, or
        takes too long."""
        meeting = _Meeting(self, exchange, feed, deque(places))
        self._meetings[exchange] = meeting
        meeting.begin()

    def ended(self, exchange: Exchange) -> None:
        """Nothing is answered any more."""
        if (meeting := self._meetings.pop(exchange, None)) is not None:
            meeting.end()

    def answer(self, _asker: Asker, line: bytes, reply: Reply) -> None:
        """Which of the messages asked about are not here, whoever brought them: what
        came by another way must not come twice."""
        left = {MessageId(one) for one in _ids(line).ids[:CHUNK] if is_id(one)}
        for box in (*self.store.mailboxes(), *self.store.queues()):
            left -= box.known(left)
        if left:
            self.looks.missing(sorted(left), reply)
        else:
            reply(FarMissing([]))


class _Meeting:
    """The questions of one exchange."""

    def __init__(
        self, recall: Recall, exchange: Exchange, feed: Feeding, todo: deque[Name]
    ) -> None:
        self.recall = recall
        self.exchange = exchange
        self.feed = feed
        self.loop = exchange.here.loop
        self.over = False
        self._todo = todo
        self._held: dict[Name, TimerHandle] = {}
        device = "" if exchange.peer is None else exchange.peer.device
        self.asked: set[Name] = set()  # an answer of the other end is due
        self.by = frozenset({f"link {device}", f"bundle {device}"})
        self.device = device

    def begin(self) -> None:
        """Let no queue wait for ever; ask."""
        for place in self._todo:
            self.wait(place, WALK if self.recall.losses.marked(place) else HOLD)
        for _ in range(min(AT_ONCE, len(self._todo))):
            self._next()

    def end(self) -> None:
        """The exchange is over."""
        self.over = True
        for timer in self._held.values():
            timer.cancel()

    def wait(self, place: Name, seconds: float) -> None:
        """Hold the queue no longer than that from now on; not if it goes already."""
        timer = self._held.get(place)
        if timer is not None:
            timer.cancel()
        self._held[place] = self.loop.call_later(seconds, self._late, place)

    def _late(self, place: Name) -> None:
        """No answer.  A question that got lost is asked on a new connection, once;
        an end that cannot answer gets its mail all the same."""
        newest = self.recall.store.mailbox(place).last_seq
        again = self.recall.losses.doubt(place, newest)
        if place in self.asked and not again:
            self.end()
            self.exchange.close(End.SILENT, f"no answer about the queue {place}")
        else:
            self.feed.release(place)

    def done(self, place: Name) -> None:
        """All is known of that queue, or nothing will be."""
        self._held.pop(place).cancel()
        if not self.over:
            self.feed.release(place)
            self.loop.call_soon(self._next)

    def _next(self) -> None:
        if self._todo and not self.over:
            _Inquiry(self, self._todo.popleft()).start()


class _Inquiry:
    """What the other end still knows of one queue, from the newest backwards."""

    def __init__(self, meeting: _Meeting, place: Name) -> None:
        self._meeting = meeting
        self._recall = meeting.recall
        self._exchange = meeting.exchange
        self._clock = meeting.exchange.here.clock
        self._place = place
        self._mark = meeting.recall.losses.first(place)
        self._below: int | None = None
        self._chunk = Sent([], more=False)
        self._lost = Sent([], more=False)

    def start(self) -> None:
        """Ask about the newest; where it knows those, it knows what is older."""
        box = self._recall.store.mailbox(self._place)
        ids = box.onward(FIRST)
        if self._mark is None and 0 < len(box.pending) == box.last_seq:
            # Nothing ever left it.  To read so in the files would keep a long queue
            # waiting, and the loop with it.
            self._end()
        elif ids and self._mark is None:
            self._ask(ids, self._first)
        else:
            self._walk()

    def _first(self, missing: set[str]) -> None:
        if missing:
            self._meeting.wait(self._place, WALK)
            self._walk()
        else:
            self._end()

    def _walk(self) -> None:
        """The next older ones, by the files."""
        since = rfc3339(self._clock.wall() - KEPT)
        self._recall.looks.sent(self._place, self._below, since, self._found)

    def _found(self, found: msgspec.Struct | HomiError) -> None:
        if isinstance(found, Sent) and not self._meeting.over:
            self._chunk = found
            if found.entries:
                self._ask([entry.id for entry in found.entries], self._told)
            else:
                self._gather()
        else:
            self._not_now(found, self._walk)

    def _told(self, missing: set[str]) -> None:
        """Go on until one whole chunk is known there."""
        lost = [entry for entry in self._chunk.entries if entry.id in missing]
        self._meeting.wait(self._place, WALK)
        self._lost.entries.extend(lost)
        self._below = lowest = self._chunk.entries[-1].seq
        known = not lost and (self._mark is None or lowest <= self._mark)
        if known or not self._chunk.more or len(self._lost.entries) >= MOST:
            self._gather()
        else:
            self._walk()

    def _gather(self) -> None:
        """Read what can be sent again."""
        self._recall.losses.compared(self._place)
        if not self._lost.entries:
            self._recall.losses.unmark(self._place)
            self._end()
            return
        self._recall.looks.letters(
            self._place,
            self._lost,
            self._meeting.by,
            self._clock.wall(),
            self._gathered,
        )

    def _gathered(self, found: msgspec.Struct | HomiError) -> None:
        if not isinstance(found, Letters) or self._meeting.over:
            self._not_now(found, self._gather)
            return
        place, losses = self._place, self._recall.losses
        if found.items:
            log.warning(
                "%s lost %d messages it had of %s, as if a backup were put back"
                " there: they are sent again",
                self._meeting.device,
                len(found.items),
                place,
            )
            losses.mark(place, found.items[0].seq)
            self._meeting.feed.again(place, found.items, lambda: losses.unmark(place))
        else:
            losses.unmark(place)
        self._end()

    def _not_now(
        self, found: msgspec.Struct | HomiError, again: Callable[[], None]
    ) -> None:
        """A look failed: come back where only the thread was busy."""
        if isinstance(found, NotReached) and not self._meeting.over:
            self._meeting.loop.call_later(RETRY, again)
            return
        if isinstance(found, HomiError):
            log.warning("%s: not compared: %s", self._place, found.text)
        self._end()

    def _ask(self, ids: list[MessageId], told: Callable[[set[str]], None]) -> None:
        """Ask which of ids it does not have; an end that does not answer, or is of a
        homi that does not know the question, has them all."""

        def answered(res: Res | None) -> None:
            self._meeting.asked.discard(self._place)
            missing = _missing(res)
            if missing is None or self._meeting.over:
                self._end()
            else:
                told(missing)

        self._meeting.asked.add(self._place)
        self._exchange.ask(VERB, {"ids": ids}, answered)

    def _end(self) -> None:
        self._meeting.done(self._place)


class _Ids(msgspec.Struct):
    """The field of the question."""

    ids: list[str] = []


_ids = msgspec.json.Decoder(_Ids).decode


def _missing(res: Res | None) -> set[str] | None:
    """What an answer says; None where it says nothing."""
    if res is None or res.error is not None:
        return None
    try:
        return set(msgspec.json.decode(res.ok, type=FarMissing).missing)
    except (msgspec.DecodeError, RecursionError):
        return None

"""One out queue on its way over one connection: what goes next, and what must wait.

Owns the order within a lane, also where the other end refused one of it for now.
Sends nothing, writes nothing.  homi-protocol(7) states the rule.
"""

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from homi.envelope import ASIDE, Rung
from homi.store.ahead import Ahead
from homi.store.mailbox import Item, Mailbox

FIRST = 2.0  # s at most until a lane that was refused is tried again, then doubled
LONGEST = 300.0  # s
_PARKED = Rung.PARKED  # of every item: asked of its class, a member costs more

Lane = tuple[str, str]  # sender and address: the unit of order


class Next(msgspec.Struct, frozen=True, gc=False):
    """What may be sent now."""

    item: Item
    first: bool  # of its lane, behind a refusal
    again: bool = False  # it was over there, and is lost


class Waiting:
    """A lane that does not go on by itself."""

    __slots__ = ("due", "flying", "seqs", "tries", "trying")

    def __init__(self, flying: int) -> None:
        """flying: how many of it are under way, and come back before it goes on."""
        self.seqs: list[int] = []  # a heap: what goes when it goes on
        self.flying = flying
        self.due: float | None = None  # wall seconds; None: when a person lets it go
        self.tries = 0
        self.trying = False  # its first is under way


class Route:
    """The pending mail of one out queue, in the order in which it goes."""

    def __init__(self, box: Mailbox) -> None:
        """Everything pending goes, from the oldest on."""
        self.box = box
        self.ahead = Ahead(box)
        self._todo: deque[int] = deque(box.pending)
        self._last = max(box.last_seq, self._todo[-1] if self._todo else 0)
        self._flying: dict[int, Lane] = {}  # sent, not settled
        self._ending: set[int] = set()  # settled, not recorded
        self._waiting: dict[Lane, Waiting] = {}
        self._lost: dict[int, Item] = {}  # finished here, and gone over there
        self._found: Callable[[], None] = _nobody
        self._dues: list[tuple[float, int, Lane]] = []  # a heap; an entry may be stale
        self._count = itertools.count()

    def next(self, now: float) -> Next | None:
        """The next to send, from now on under way; None: nothing goes now."""
        while self._dues and self._dues[0][0] <= now:
            again = self._retry(heapq.heappop(self._dues)[2], now)
            if again is not None:
                return again
        while self._todo:
            seq = self._todo.popleft()
            item = self.box.pending.get(seq) or self._lost.get(seq)
            if item is None or seq in self._flying or seq in self._ending:
                continue  # it is done with, or it is not its turn again
            lane = (item.sender, item.to)
            if self._waiting and (waits := self._waiting.get(lane)) is not None:
                heapq.heappush(waits.seqs, seq)
                continue
            parked = item.rung is _PARKED
            if parked and item.reason in ASIDE:
                continue
            if parked or (item.until is not None and item.until > now):
                self._hold(lane, item, now)
                continue
            self._flying[seq] = lane
            return Next(item, first=False, again=seq in self._lost)
        return None

    def due(self) -> float | None:
        """Wall seconds at which next() may have something by time alone."""
        return self._dues[0][0] if self._dues else None

    def arrived(self, item: Item) -> None:
        """A new one, or one that a person let go."""
        if item.seq > self._last:
            # With those whose own word was lost: none may be overtaken.
            new = itertools.takewhile(self._is_new, reversed(self.box.pending))
            self._todo.extend(reversed(list(new)))
            self._last = item.seq if not self._todo else max(item.seq, self._todo[-1])
            return
        lane = (item.sender, item.to)
        waits = self._waiting.get(lane)
        if waits is not None and waits.due is None:
            self._due_at(lane, waits, 0.0)
        elif item.seq not in self._todo:
            # It waited beside its lane; what is under way or ends is passed over.
            self._todo.append(item.seq)

    def again(self, items: Iterable[Item], found: Callable[[], None]) -> None:
        """These went over once and are lost there: they go again, in their place in
        the order.  found is called when the last of them is settled."""
        self._lost |= {item.seq: item for item in items}
        self._found = found
        self._todo = deque(sorted({*self._todo, *self._lost}))

    def stir(self) -> None:
        """Try every waiting lane now."""
        for lane, waits in self._waiting.items():
            self._due_at(lane, waits, 0.0)

    def settled(self, item: Item) -> None:
        """It is stored over there, or refused for good: its record is under way."""
        lane = self._flying.pop(item.seq)
        self._ending.add(item.seq)
        waits = self._waiting.get(lane)
        if waits is None:
            return
        if waits.trying:
            self._release(lane, waits)
        else:
            self._landed(lane, waits)

    def unread(self, item: Item) -> None:
        """It could not be read: what was lost over there is not found again."""
        if item.seq in self._lost:
            self._found = _nobody
        self.settled(item)
        self.recorded(item.seq)

    def recorded(self, seq: int) -> None:
        """Its ledger says so: it is done with."""
        self._ending.discard(seq)
        if self._lost.pop(seq, None) is not None and not self._lost:
            self._found()

    def refused(self, item: Item, now: float, draw: float) -> float | None:
        """Refused for now: its lane waits.  Until when (wall seconds) if it is the one
        the others wait for; draw is in [0, 1)."""
        lane = self._flying.pop(item.seq)
        waits = self._waiting.get(lane)
        if waits is None:
            waits = self._wait(lane)
        elif not waits.trying:
            heapq.heappush(waits.seqs, item.seq)
            self._landed(lane, waits)
            return None
        heapq.heappush(waits.seqs, item.seq)
        waits.trying = False
        waits.tries += 1
        due = now + _backoff(waits.tries, draw)
        self._due_at(lane, waits, due)
        return due

    def sweep(self) -> None:
        """Find what a lost word told of."""
        known = {*self._todo, *self._flying, *self._ending}
        for waits in self._waiting.values():
            known.update(waits.seqs)
        missing = self.box.pending.keys() - known
        if missing:
            self._todo = deque(sorted({*self._todo, *missing}))
            self._last = max(self._last, self._todo[-1])

    def _item(self, seq: int) -> Item | None:
        """What is to go under that seq; None: it is done with."""
        return self.box.pending.get(seq) or self._lost.get(seq)

    def _is_new(self, seq: int) -> bool:
        """Whether nothing was known of it."""
        return seq > self._last

    def _hold(self, lane: Lane, item: Item, now: float) -> None:
        """It waits by its own record, and its lane with it."""
        waits = self._wait(lane)
        waits.seqs.append(item.seq)
        if item.rung is not Rung.PARKED:
            waits.tries = 1
            # A clock that was set must not keep it for ever.
            self._due_at(lane, waits, min(item.until or now, now + LONGEST))

    def _wait(self, lane: Lane) -> Waiting:
        """The lane waits from now on, for those of it under way first."""
        flying = sum(other == lane for other in self._flying.values())
        waits = self._waiting[lane] = Waiting(flying)
        return waits

    def _retry(self, lane: Lane, now: float) -> Next | None:
        """The first of a lane whose time has come, under way from now on."""
        waits = self._waiting.get(lane)
        if waits is None or waits.trying or waits.flying:
            return None
        if waits.due is None or waits.due > now:
            return None
        while waits.seqs:
            seq = heapq.heappop(waits.seqs)
            item = self._item(seq)
            if item is None or seq in self._ending or _aside(item):
                continue
            if item.rung is Rung.PARKED:
                heapq.heappush(waits.seqs, seq)
                waits.due = None
                return None
            waits.trying = True
            self._flying[seq] = lane
            return Next(item, first=True, again=seq in self._lost)
        del self._waiting[lane]
        return None

    def _landed(self, lane: Lane, waits: Waiting) -> None:
        """One less of a waiting lane is under way."""
        waits.flying -= 1
        if not waits.flying and waits.due is not None:
            self._due_at(lane, waits, waits.due)

    def _release(self, lane: Lane, waits: Waiting) -> None:
        """Its first went through: the rest of the lane follows in order."""
        del self._waiting[lane]
        self._todo.extendleft(sorted(set(waits.seqs), reverse=True))

    def _due_at(self, lane: Lane, waits: Waiting, due: float) -> None:
        """Try the lane again then."""
        waits.due = due
        heapq.heappush(self._dues, (due, next(self._count), lane))


def _nobody() -> None:
    """Nothing was lost, so nobody waits for its end."""


def _aside(item: Item) -> bool:
    """Whether it waits for a person, and keeps nothing behind it waiting."""
    return item.rung is Rung.PARKED and item.reason in ASIDE


def _backoff(tries: int, draw: float) -> float:
    """Seconds until the next try, half of them at the least."""
    longest: float = min(LONGEST, FIRST * 2.0 ** min(tries - 1, 16))
    return longest * (0.5 + draw / 2)

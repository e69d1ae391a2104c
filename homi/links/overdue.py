"""Mail that waits too long for another device: told of, then given up.

Owns when that is, and that time in which nothing could be delivered does not count;
what is written to the sender is the postmaster's.  homi-queue(1) states the rules.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from homi.address import Device, Name
from homi.clock import Clock, parse_rfc3339, rfc3339
from homi.config import SWEEP
from homi.courier.rules import expires_at
from homi.envelope import Kind, LedgerLine, MessageId, Reason, Rung
from homi.links.feed import Books
from homi.store.mailbox import Item, Mailbox
from homi.store.places import device_of

DAY = 86_400.0
CALM = 3_600.0  # s of running behind a start, or a clock that jumped so far
AT_ONCE = 256  # messages whose end is being recorded
SOONEST = 0.05  # s between two looks

Lane = tuple[Name, str, str]


class Tell(Protocol):
    """Writes a notice to a sender."""

    def __call__(
        self, sender: str, about: MessageId, kind: Kind, step: str, text: str
    ) -> None:
        """Once per step."""
        ...


class Senders(NamedTuple):
    """What those who wrote something are given."""

    tell: Tell
    # The default answer of what expires; done(False): it could not be stored yet.
    lapse: Callable[[Mailbox, Item, Callable[[bool], None]], None]


class Way(NamedTuple):
    """How the way to a device is."""

    up: bool
    reason: Reason | None
    text: str  # for people


class Patience(NamedTuple):
    """How long mail waits, in seconds."""

    delay: float  # until its sender is told
    bounce: float  # until it is given up

    @property
    def calm(self) -> float:
        """Of running, before either counts: what was down needs time to come back."""
        return min(CALM, self.delay)


class Overdue:
    """Looks after all out queues.  All calls on the loop."""

    def __init__(
        self,
        queues: Callable[[], list[Mailbox]],
        books: Books,
        senders: Senders,
        way: Callable[[Device], Way],
        clock: Clock,
        patience: Patience,
    ) -> None:
        """Nothing is looked at before start()."""
        self._queues = queues
        self._books = books
        self._tell = senders.tell
        self._lapse = senders.lapse
        self._way = way
        self._clock = clock
        self._patience = patience
        self._calm_from = clock.monotonic()
        self._gap = clock.wall() - clock.monotonic()
        self._ending: set[tuple[Name, int]] = set()
        self._told: dict[Lane, tuple[MessageId, float]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look from now on."""
        self._loop = loop
        self.look()

    def stop(self) -> None:
        """Look no more; twice is fine."""
        self._loop = None
        if self._timer is not None:
            self._timer.cancel()

    def look(self) -> None:
        """End what is due, tell who has to be told, and come back in time."""
        now, running = self._clock.wall(), self._running()
        nexts: list[float] = []
        for box in self._queues():
            if box.pending and box.device is not None:
                nexts += _Look(self, box, box.device, now, running).run()
                nexts.append(now + SWEEP)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if nexts:
            calm = self._patience.calm - running
            nexts += [now + calm] if calm > 0 else []
            self._later(min(nexts) - now)

    def arrived(self, place: Name, item: Item) -> None:
        """There is new mail: what waits for a device is looked after."""
        if device_of(place) is not None and (
            self._timer is None or item.ttl_s is not None
        ):
            self._later(min(float(item.ttl_s or SWEEP), self._patience.delay, SWEEP))

    def _later(self, seconds: float) -> None:
        """Look then, unless a look comes before."""
        if self._loop is None:
            return
        due = self._loop.time() + max(seconds, SOONEST)
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self.look)

    def _running(self) -> float:
        """Seconds since the start, or since the clock jumped."""
        mono = self._clock.monotonic()
        gap = self._clock.wall() - mono
        if abs(gap - self._gap) >= CALM:
            self._calm_from = mono
        self._gap = gap
        return mono - self._calm_from

    def calm(self, running: float) -> bool:
        """Whether waiting counts."""
        return running >= self._patience.calm

    @property
    def patience(self) -> Patience:
        """How long mail waits."""
        return self._patience

    def way(self, device: Device) -> Way:
        """How the way to a device is now."""
        return self._way(device)

    def expire(self, box: Mailbox, item: Item) -> None:
        """Its sender wanted it no later than now; what answers itself then does."""
        if self._begun(box, item):
            self._lapse(box, item, partial(self._lapsed, box, item))

    def _lapsed(self, box: Mailbox, item: Item, given: bool) -> None:
        """Its default is stored, if it has one: then it ends."""
        if not given:
            self._ended(box, item)
            return
        line = LedgerLine(
            seq=item.seq,
            id=item.id,
            rung=Rung.EXPIRED,
            at=rfc3339(self._clock.wall()),
            by=f"ttl {item.ttl_s} s",
        )
        text = (
            f"Your message {item.id} to {item.to} expired: it could not be sent within"
            f" {item.ttl_s} s."
        )

        def done(kept: bool) -> None:
            self._ended(box, item)
            if kept:
                step = f"{box.name}/expired"
                self._tell(item.address, item.id, item.kind, step, text)

        self._books.record(box.name, line, done, durable=True)

    def bounce(self, box: Mailbox, item: Item, way: Way) -> None:
        """It waited long enough."""
        if self._begun(box, item):
            days = self._patience.bounce / DAY
            waited = "1 day" if days == 1 else f"{days:.3g} days"
            text = f"it waited {waited} for {box.device}: {way.text}"
            reason = way.reason or item.reason or Reason.UNREACHABLE
            done = partial(self._done, box, item)
            self._books.bounce(box.name, item, reason, text, "bounce_after", done)

    def notify(self, box: Mailbox, item: Item, more: int, way: Way) -> None:
        """Tell the sender of the first of a lane that it waits, once for each such
        and not too often."""
        lane = (box.name, item.sender, item.to)
        mono = self._clock.monotonic()
        told = self._told.get(lane)
        if told and (told[0] == item.id or mono - told[1] < self._patience.delay):
            return
        self._told[lane] = (item.id, mono)
        ends = parse_rfc3339(item.at) + self._patience.bounce
        behind = f" {more} more to that address wait behind it." if more else ""
        text = (
            f"Your message {item.id} to {item.to} could not be sent yet: {way.text}."
            f" It stays in the queue, and is given up at {rfc3339(ends)}.{behind}"
        )
        self._tell(item.address, item.id, item.kind, f"{box.name}/delayed", text)

    def _begun(self, box: Mailbox, item: Item) -> bool:
        """Whether its end may begin now: it did not, and not too many are under way."""
        key = (box.name, item.seq)
        if key in self._ending or len(self._ending) >= AT_ONCE:
            return False
        self._ending.add(key)
        return True

    def _done(self, box: Mailbox, item: Item, _kept: bool) -> None:
        self._ended(box, item)

    def _ended(self, box: Mailbox, item: Item) -> None:
        """Its end is recorded, or is tried again at a later look."""
        full = len(self._ending) >= AT_ONCE
        self._ending.discard((box.name, item.seq))
        if full:
            self._later(SOONEST)


class _Look:
    """One look at one out queue."""

    def __init__(
        self, over: Overdue, box: Mailbox, device: Device, now: float, running: float
    ) -> None:
        patience = over.patience
        self._over = over
        self._box = box
        self._now = now
        self._way = over.way(device)
        self._counts = over.calm(running)
        # As text they sort as in time: a stamp is read only where it decides.
        self._given_up = rfc3339(now - patience.bounce)
        self._late = rfc3339(now - patience.delay)

    def run(self) -> list[float]:
        """Deal with what is due; when more will be, in wall seconds."""
        heads: dict[tuple[str, str], Item] = {}
        late: Counter[tuple[str, str]] = Counter()
        nexts: list[float] = []
        fresh = False
        for item in list(self._box.pending.values()):
            if (ends := expires_at(item)) is not None:
                if ends <= self._now:
                    self._over.expire(self._box, item)
                    continue
                nexts.append(ends)
            if item.at > self._late:
                if not fresh:
                    nexts.append(parse_rfc3339(item.at) + self._over.patience.delay)
                fresh = True
            elif self._counts and self._waits(item):
                if item.at <= self._given_up:
                    self._over.bounce(self._box, item, self._way)
                else:
                    nexts.append(parse_rfc3339(item.at) + self._over.patience.bounce)
                    lane = (item.sender, item.to)
                    heads.setdefault(lane, item)
                    late[lane] += 1
        for lane, item in heads.items():
            self._over.notify(self._box, item, late[lane] - 1, self._way)
        return [min(nexts)] if nexts else []

    def _waits(self, item: Item) -> bool:
        """Whether it is the way, or the other end, that keeps it: not a person, and
        no link that is at it."""
        if item.rung is Rung.PARKED:
            return False
        return not self._way.up or item.rung is Rung.DEFERRED

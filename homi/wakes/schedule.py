"""Which slots of a schedule are due, and which of them are fired.

Owns the arithmetic of times and the rules for what was missed; pure: the time is an
argument.  homi-wake(1) has the rules in words.
"""

import hashlib
import importlib
from collections.abc import Callable
from typing import NamedTuple, Protocol

from homi.clock import Clock, boot_id, parse_rfc3339, rfc3339
from homi.wakes.progress import Progress
from homi.wakes.state import Trigger, Wake

GRACE = 60.0  # s behind its time that a slot is not yet missed
PERIOD_MIN = 60  # s
COUNTED_MAX = 1_000  # slots passed that are counted; of more it is known that many
ALL_MAX = 100  # of those missed that are sent one by one
KNOWN_MAX = 4  # moments whose next is asked for again and again
TICK = 1e-4  # s: a time is not exact that was added up
BACK = 3 * 3_600.0  # s the clock may go back and a schedule waits for it
_AFTER = Callable[[float], float | None]


class Now(NamedTuple):
    """A moment by both clocks."""

    wall: float
    boot: float  # seconds since boot, suspends included

    @classmethod
    def of(cls, clock: Clock) -> "Now":
        """This one."""
        return cls(clock.wall(), clock.boot())


class Slot(NamedTuple):
    """One time that a schedule names."""

    key: str  # makes the id of its envelope
    at: float  # wall seconds
    n: int = 0  # of an interval


class Passed(NamedTuple):
    """What is due: the newest slots, and how many there are in all."""

    slots: list[Slot]
    total: int


class Schedule(Protocol):
    """When a timed wake is due."""

    def settle(self, at: Progress, now: Now) -> None:
        """Take up what stands in a file after a start, or behind a step of a clock."""
        ...

    def next(self, at: Progress, now: Now) -> float | None:
        """Wall seconds of the next firing, as the clocks stand; None: never again."""
        ...

    def passed(self, at: Progress, now: Now) -> Passed:
        """What is due now."""
        ...

    def past(self, at: Progress, slot: Slot, now: Now) -> None:
        """Note that all up to slot was looked at."""
        ...


class Times:
    """Times on the wall clock: an expression, or one moment."""

    def __init__(self, wake: Wake, after: _AFTER, *, once: bool = False) -> None:
        """after: the next one behind a moment."""
        self._wake = wake
        self._after = after
        self._once = once
        self._until = parse_rfc3339(wake.until) if wake.until else None
        self._known: dict[float, float | None] = {}  # what is behind some moments

    def settle(self, at: Progress, now: Now) -> None:
        """A clock that was set far back must not silence it for as long."""
        if not at.mark:
            at.mark = parse_rfc3339(self._wake.at)
        if not self._once and at.mark > now.wall + BACK:
            at.mark = now.wall

    def next(self, at: Progress, now: Now) -> float | None:
        """By the wall clock alone."""
        slot = self._behind(at.mark)
        return None if slot is None else slot + self._late(slot)

    def passed(self, at: Progress, now: Now) -> Passed:
        """Counted one by one as far as that goes, else looked for from the end."""
        slots: list[Slot] = []
        when = self._behind(at.mark)
        while when is not None and when + self._late(when) <= now.wall:
            slots.append(Slot(rfc3339(when), when))
            if len(slots) > COUNTED_MAX:
                return Passed(self._newest(at.mark, now.wall), len(slots))
            when = self._behind(when)
        return Passed(slots[-ALL_MAX:], len(slots))

    def past(self, at: Progress, slot: Slot, now: Now) -> None:
        """The mark is the slot."""
        at.mark = slot.at

    def _behind(self, when: float) -> float | None:
        if when not in self._known:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[when] = self._after(when)
        found = self._known[when]
        late = found is not None and self._until is not None and found > self._until
        return None if late else found

    def _newest(self, mark: float, now: float) -> list[Slot]:
        """The last ones before now, found by looking ever further back."""
        back = float(PERIOD_MIN)
        while True:
            start = max(now - back, mark)
            found: list[Slot] = []
            when = self._behind(start)
            while when is not None and when + self._late(when) <= now:
                found.append(Slot(rfc3339(when), when))
                when = self._behind(when)
            if len(found) >= ALL_MAX or start <= mark:
                return found[-ALL_MAX:]
            back *= 2

    def _late(self, slot: float) -> float:
        return late(self._wake, rfc3339(slot))


class Interval:
    """Every so many seconds, by a clock that nobody sets."""

    def __init__(self, wake: Wake) -> None:
        """ValueError where its record tells no number."""
        self._wake = wake
        self._every = float(wake.trigger.value)
        if not self._every >= 1:
            raise ValueError("no interval")
        self._until = parse_rfc3339(wake.until) if wake.until else None

    def settle(self, at: Progress, now: Now) -> None:
        """Seconds of another boot mean nothing: there the wall clock must do."""
        boot = boot_id()
        if at.boot and at.boot == boot and at.up <= now.boot:
            return
        mark = at.mark or parse_rfc3339(self._wake.at)
        at.up = now.boot - max(0.0, now.wall - mark)
        at.mark, at.boot = mark, boot

    def next(self, at: Progress, now: Now) -> float | None:
        """Where the wall clock will stand then."""
        slot = self._slot(at, at.n + 1, now)
        if self._until is not None and slot.at > self._until:
            return None
        return slot.at + late(self._wake, slot.key)

    def passed(self, at: Progress, now: Now) -> Passed:
        """By division."""
        newest = at.n + int((now.boot - at.up + TICK) // self._every)
        while newest > at.n and not self._due(self._slot(at, newest, now), now):
            newest -= 1
        first = max(at.n + 1, newest - ALL_MAX + 1)
        slots = [self._slot(at, n, now) for n in range(first, newest + 1)]
        return Passed(slots, newest - at.n)

    def past(self, at: Progress, slot: Slot, now: Now) -> None:
        """The phase stays."""
        at.up += (slot.n - at.n) * self._every
        at.n, at.mark = slot.n, slot.at

    def _slot(self, at: Progress, n: int, now: Now) -> Slot:
        due = at.up + (n - at.n) * self._every
        return Slot(f"#{n}", now.wall + due - now.boot, n)

    def _due(self, slot: Slot, now: Now) -> bool:
        over = self._until is not None and slot.at > self._until
        return not over and slot.at + late(self._wake, slot.key) <= now.wall + TICK


def schedule(wake: Wake) -> Schedule:
    """The schedule of a timed wake; Usage (64) or ValueError where it has none."""
    if wake.trigger.kind == "every":
        return Interval(wake)
    if wake.trigger.kind == "at":
        moment = parse_rfc3339(wake.trigger.value)

        def once(after: float) -> float | None:
            return moment if after < moment else None

        return Times(wake, once, once=True)
    return Times(wake, times_of(wake.trigger))


def times_of(trigger: Trigger) -> _AFTER:
    """The next time of an expression behind a moment.

    Its library takes as long to load as a whole start: only who has one loads it.
    """
    module = importlib.import_module("homi.wakes.cron")
    after: _AFTER = module.cron(trigger.value, trigger.zone).next
    return after


def late(wake: Wake, slot: str) -> float:
    """Seconds that a slot is late on purpose: the same after each restart."""
    if not wake.jitter:
        return 0.0
    digest = hashlib.sha256(f"{wake.id}\0{slot}".encode()).digest()
    return float(int.from_bytes(digest[:6], "big") % (wake.jitter + 1))


def decide(wake: Wake, passed: Passed, now: float) -> tuple[list[Slot], int]:
    """Which slots are fired, and how many are only counted as missed."""
    slots, total = passed
    match wake.missed:
        case "all":
            fired = slots
        case "once":
            fired = slots[-1:]
        case "skip":
            fired = [s for s in slots[-1:] if now - s.at <= GRACE + wake.jitter]
    return fired, total - len(fired)

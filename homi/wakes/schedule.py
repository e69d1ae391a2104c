"""Which slots of a schedule are due, and which of them are fired.

Owns the arithmetic of times and the rules for what was missed; pure: the time is an
argument.  homi-wake(1) has the rules in words.
"""

import hashlib
import importlib
from typing import NamedTuple, Protocol

from homi.clock import Clock, boot_id, parse_rfc3339, rfc3339
from homi.wakes.progress import Progress
from homi.wakes.state import Trigger, Wake

GRACE = 60.0  # s behind its time that a slot is not yet missed
PERIOD_MIN = 60  # s
COUNTED_MAX = 64  # slots passed that are looked at one by one
ALL_MAX = 100  # of those missed that are sent one by one
KNOWN_MAX = 4  # moments whose next is asked for again and again
TICK = 1e-4  # s: a time is not exact that was added up
BACK = 3 * 3_600.0  # s the clock may go back and a schedule waits for it


class Now(NamedTuple):
    """A moment by both clocks."""

    wall: float
    boot: float  # seconds since boot, suspends included

    @classmethod
    def of(cls, clock: Clock) -> "Now":
        """This one."""
        return cls(clock.wall(), clock.boot())


class Plan(Protocol):
    """Times on the wall clock."""

    def next(self, after: float) -> float | None:
        """The first behind a moment; None: there is none."""
        ...

    def count(self, after: float, upto: float) -> int:
        """How many are behind one moment and not behind another."""
        ...


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

    def __init__(self, wake: Wake, plan: Plan, *, once: bool = False) -> None:
        """once: it is one moment, whatever becomes of the clock."""
        self._wake = wake
        self._plan = plan
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
                newest = self._newest(at.mark, now.wall)
                return Passed(newest, self._plan.count(at.mark, newest[-1].at))
            when = self._behind(when)
        return Passed(slots, len(slots))

    def past(self, at: Progress, slot: Slot, now: Now) -> None:
        """The mark is the slot."""
        at.mark = slot.at

    def _behind(self, when: float) -> float | None:
        if when not in self._known:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[when] = self._plan.next(when)
        found = self._known[when]
        late = found is not None and self._until is not None and found > self._until
        return None if late else found

    def _newest(self, mark: float, now: float) -> list[Slot]:
        """The last ones before now, found by looking ever further back."""
        back = float(PERIOD_MIN)
        wanted = ALL_MAX if self._wake.missed == "all" else 1
        while True:
            start = max(now - back, mark)
            found: list[Slot] = []
            when = self._behind(start)
            while when is not None and when + self._late(when) <= now:
                found.append(Slot(rfc3339(when), when))
                when = self._behind(when)
            if len(found) >= wanted or (start <= mark and found):
                return found[-wanted:]
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
        self._settled = False

    def settle(self, at: Progress, now: Now) -> None:
        """Seconds of another boot mean nothing: there the wall clock must do, once."""
        if self._settled:
            return
        self._settled = True
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
        return Times(wake, Once(parse_rfc3339(wake.trigger.value)), once=True)
    return Times(wake, plan_of(wake.trigger))


class Once:
    """One moment."""

    def __init__(self, at: float) -> None:
        """at: wall seconds."""
        self._at = at

    def next(self, after: float) -> float | None:
        """It, as long as it is to come."""
        return self._at if after < self._at else None

    def count(self, after: float, upto: float) -> int:
        """One, or none."""
        return int(after < self._at <= upto)


def plan_of(trigger: Trigger) -> Plan:
    """The times of an expression.

    Its library takes as long to load as a whole start: only who has one loads it.
    """
    module = importlib.import_module("homi.wakes.cron")
    plan: Plan = module.cron(trigger.value, trigger.zone)
    return plan


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

"""A hundred thousand messages for a device that is away: what they cost until it is
back, and how soon they are gone then."""

import statistics
import time
from typing import NamedTuple

from tests.bench import profiles
from tests.bench.kit import Load
from tests.bench.million import rss
from tests.bench.pair import NAME, Drain, Pair
from tests.bench.report import Figure, Goal, progress
from tests.bench.setup import SENDER, Loads, Setup, names
from tests.bench.turns import Wire
from tests.standin import verbs
from tests.standin.verbs import Asked

GROUP = "links, {count:,} messages for a device that is away"
SECOND = Goal(1000, most=True, unit="ms")
SHOWN = (Asked(("queue",)), Asked(("queue", "--shape")))
LOAD = ("-c", "1", "-w", "256", "-k", "50", "-d", "600")
LATE = 60.0  # s after which a verb is killed


class Seen(NamedTuple):
    """What was measured, in the order in which it was."""

    small: Drain  # out of a queue of the usual size
    grown: int  # bytes of memory
    queued: Load
    alone: float  # s of one send into an empty queue, the median
    deep: float  # and into the long one
    shown: list[tuple[Asked, float, tuple[str, ...]]]  # ms of each verb, a profile
    large: Drain  # out of the long one


def measure(setup: Setup) -> list[Figure]:
    """All lines; measured once, it takes a minute."""
    count = setup.sizes.away
    group = GROUP.format(count=count)
    progress(group)
    seen = _seen(setup)
    return [
        Figure(
            group,
            "memory a message, in bytes",
            seen.grown / count,
            Goal(1024, most=True, unit="bytes"),
            f"{seen.grown / 1e6:.0f} MB; each is {1024} bytes; queued at"
            f" {seen.queued.rate:,.0f}/s",
        ),
        *(
            Figure(group, one.label, took, SECOND, profile=where)
            for one, took, where in seen.shown
        ),
        Figure(
            group,
            "one send, of one into an empty queue",
            seen.deep / seen.alone,
            Goal(1.2, most=True),
            f"{seen.deep * 1e3:.2f} ms : {seen.alone * 1e3:.2f} ms",
        ),
        Figure(
            group,
            f"drain, of that of {setup.sizes.drained:,}",
            seen.large.rate / seen.small.rate,
            Goal(0.9),
            f"{_told(seen.large)} : {_told(seen.small)}",
        ),
    ]


def _seen(setup: Setup) -> Seen:
    """The whole of it, with one pair."""
    sizes, there = setup.sizes, Loads(setup, "mini")
    with Pair(names(sizes)) as pair:
        pair.order("pause", "paused")
        there.homi(pair.laptop, *LOAD, "-n", str(sizes.drained))
        small = pair.drain(sizes.drained)
        pair.sshd.down()
        pair.cut()
        pair.isnt("up")
        pair.rest()
        before = rss(pair.laptop.pid)
        queued = there.homi(pair.laptop, *LOAD, "-n", str(sizes.away))
        grown = rss(pair.laptop.pid) - before
        pair.rest()
        with pair.wire(pair.laptop) as one, pair.wire(pair.mini) as other:
            both = [
                (_send(other, f"{NAME}@laptop", number), _send(one, NAME_THERE, number))
                for number in range(sizes.singles)
            ]
        shown = [(one, *_shown(setup, pair, one)) for one in SHOWN]
        pair.order("pause", "paused")
        pair.sshd.up()
        large = pair.drain(sizes.away + sizes.singles)
    alone, deep = (statistics.median(column) for column in zip(*both, strict=True))
    return Seen(small, grown, queued, alone, deep, shown, large)


NAME_THERE = f"{NAME}@mini"


def _told(drain: Drain) -> str:
    """Its rate, and what the daemons spent."""
    here, there = drain.cpu
    return f"{drain.rate:,.0f}/s, {here:.0f} + {there:.0f} us a message"


def _send(wire: Wire, to: str, number: int) -> float:
    """Seconds of one durable accept."""
    begun = time.perf_counter()
    wire.send(SENDER, to, number)
    return time.perf_counter() - begun


def _shown(setup: Setup, pair: Pair, one: Asked) -> tuple[float, tuple[str, ...]]:
    """Milliseconds of a verb, and a profile where that is too much."""
    runs = [verbs.run(pair.laptop, one, LATE) for _ in range(min(3, setup.runs))]
    if bad := [seen for seen in runs if seen.status]:
        raise RuntimeError(f"{one.label}: {bad[0].status} {bad[0].err[:200]}")
    took = statistics.median(seen.seconds for seen in runs) * 1000
    if SECOND.met(took):
        return took, ()
    return took, profiles.command(setup, pair.laptop, one.argv, pair.laptop.pid)

"""Mail from one device to another: two real daemons, a real sshd between them.

Each round takes a fresh pair: one message after the other, sixteen at a time, a queue
that is emptied, a connection that is cut, and what the same costs by ssh alone.  A
ratio is the median of the ratios of the rounds.
"""

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.bench import away, bulk, profiles, socketpair, twenty
from tests.bench.kit import Load
from tests.bench.pair import NAME, Drain, Pair
from tests.bench.report import Figure, Goal, progress, skipped
from tests.bench.setup import SENDER, Loads, Setup, names
from tests.bench.turns import Wire
from tests.standin import journals
from tests.standin.sshd import missing

GROUP = "links, two daemons over sshd"
THERE = f"{NAME}@mini"
WINDOW = 16
STEADY = 1.2  # s a link is up until its loss is redialled at once
FRESH = 10  # connections of ssh, over all rounds, that stand for ten thousand
MANY = 10_000
LOAD = ("-c", "1", "-w", "256")


class Round(NamedTuple):
    """What one pair gave."""

    here: float  # s of one durable accept, the median
    over: float  # s from accepted here to relayed, the median
    p50: float  # s from sent to relayed, sixteen at a time
    p99: float
    local: Load  # of the receiver on its own socket, window 256
    drain: Drain
    again: float  # s from a cut to the next ack
    true: float  # s of `ssh mini true`, the median
    cat: float  # s of `ssh mini cat`, the mean


class Traffic:
    """Messages to mini, each with a number of its own."""

    def __init__(self, wire: Wire) -> None:
        """wire leads to laptop."""
        self._wire = wire
        self._numbers = itertools.count(1)

    def here(self) -> float:
        """Seconds of one that stays."""
        begun = time.perf_counter()
        self._wire.send(SENDER, NAME, next(self._numbers))
        return time.perf_counter() - begun

    def over(self) -> float:
        """Seconds from the answer to one that goes until it is relayed."""
        message = self._wire.send(SENDER, THERE, next(self._numbers))
        begun = time.perf_counter()
        self._wire.wait(THERE, message, "relayed")
        return time.perf_counter() - begun

    def piped(self, count: int, window: int) -> list[float]:
        """Seconds of each from sent to relayed, so many at a time."""
        begun = {self._put(): time.perf_counter() for _ in range(window)}
        taken: list[float] = []
        while begun:
            number, sent = divmod(int(self._wire.get()["i"]), 2)
            if sent:
                made = journals.message_id(THERE, number)
                wanted = {"name": THERE, "id": made, "rung": "relayed", "timeout": 20}
                self._wire.put(verb="await", i=2 * number, **wanted)
                continue
            taken.append(time.perf_counter() - begun.pop(number))
            if len(taken) + len(begun) < count:
                begun[self._put()] = time.perf_counter()
        return taken

    def _put(self) -> int:
        """Ask for one to be sent, by an odd number; its own."""
        number = next(self._numbers)
        made = journals.message_id(THERE, number)
        msg = {"id": made, "from": SENDER, "to": THERE, "text": "x" * 900}
        self._wire.put(verb="send", i=2 * number + 1, msg=msg)
        return number


def measure(setup: Setup) -> list[Figure]:
    """Every line about links; those that need an sshd are skipped without."""
    if why := missing():
        return [skipped(GROUP, "all", None, why), *socketpair.measure(setup)]
    rounds = []
    for number in range(setup.runs):
        progress(f"links, round {number + 1} of {setup.runs}")
        rounds.append(_round(setup))
    found = [_explained(setup, one) for one in _figures(rounds)]
    found += [*twenty.measure(setup), *away.measure(setup)]
    return found + bulk.measure(setup) + socketpair.measure(setup)


def _round(setup: Setup) -> Round:
    """All of it once."""
    sizes = setup.sizes
    here, there = Loads(setup), Loads(setup, "mini")
    spread = ("-k", str(min(sizes.names, 50)))
    with Pair(names(sizes)) as pair, pair.wire(pair.laptop) as wire:
        traffic = Traffic(wire)
        both = [(traffic.here(), traffic.over()) for _ in range(sizes.singles)]
        piped = sorted(traffic.piped(4 * sizes.singles, WINDOW))
        pair.order("pause", "paused")
        pair.rest()
        local = here.homi(pair.mini, *LOAD, *spread)
        limit = ("-n", str(sizes.drained), "-d", "120")
        there.homi(pair.laptop, *LOAD, *spread, *limit)
        drained = pair.drain(sizes.drained)
        fresh = max(2, min(FRESH, sizes.commands) // setup.runs)
        times = [pair.ssh("true") for _ in range(fresh)]
        line = b"x" * 1023 + b"\n"
        cats = [pair.ssh("cat >> taken", line) for _ in range(fresh)]
        time.sleep(STEADY)
        pair.cut()
        again = time.perf_counter()
        traffic.over()
        again = time.perf_counter() - again
    return Round(
        statistics.median(one for one, _ in both),
        statistics.median(one for _, one in both),
        piped[len(piped) // 2],
        piped[len(piped) * 99 // 100],
        local,
        drained,
        again,
        statistics.median(times),
        statistics.mean(cats),
    )


def _figures(rounds: list[Round]) -> Iterator[Figure]:
    """The lines of these rounds."""

    def line(
        label: str, goal: Goal, ratio: Callable[[Round], float], said: str
    ) -> Figure:
        value = statistics.median(ratio(one) for one in rounds)
        return Figure(GROUP, label, value, goal, said)

    def middle(of: Callable[[Round], float], scale: float = 1) -> str:
        return f"{statistics.median(of(one) for one in rounds) * scale:,.1f}"

    yield line(
        ONE,
        Goal(3.5, most=True),
        lambda one: one.over / one.here,
        f"{middle(lambda r: r.over, 1e3)} ms : {middle(lambda r: r.here, 1e3)} ms",
    )
    rate = f"{middle(lambda r: r.drain.rate)}/s"
    yield line(
        "window 256, of that receiver on its own socket",
        Goal(0.30),
        lambda one: one.drain.rate / one.local.rate,
        f"{rate} : {middle(lambda r: r.local.rate)}/s; us of the daemons a message:"
        f" {middle(lambda r: r.drain.cpu[0])} + {middle(lambda r: r.drain.cpu[1])}"
        f" : {middle(lambda r: r.local.server_cpu_us)}",
    )
    yield line(
        "window 256, of its own window 1",
        Goal(30),
        lambda one: one.drain.rate * one.over,
        f"{rate} : {middle(lambda r: 1 / r.over)}/s",
    )
    yield line(
        SIXTEEN,
        Goal(8, most=True),
        lambda one: one.p99 / one.p50,
        f"{middle(lambda r: r.p99, 1e3)} ms : {middle(lambda r: r.p50, 1e3)} ms",
    )
    yield line(
        "cut to next ack, of one fresh `ssh host true`",
        Goal(1.3, most=True),
        lambda one: one.again / one.true,
        f"{middle(lambda r: r.again, 1e3)} ms : {middle(lambda r: r.true, 1e3)} ms",
    )
    yield line(
        f"{MANY:,} messages, of so many fresh `ssh host cat`",
        Goal(5000),
        lambda one: one.cat * one.drain.rate,
        f"{rate} : {middle(lambda r: r.cat, 1e3)} ms each",
    )


ONE = "one message, accepted to relayed, of one local accept"
SIXTEEN = f"p99 at window {WINDOW}, of p50"


def _explained(setup: Setup, one: Figure) -> Figure:
    """The figure, with a profile of both daemons where it missed."""
    if one.verdict != "MISSED":
        return one
    progress(f"profile of both daemons: {one.label}")
    return one._replace(profile=_sampled(setup, one.label))


def _sampled(setup: Setup, label: str) -> tuple[str, ...]:
    """Where both daemons spend their time under that load, behind a warm-up."""
    sizes, there = setup.sizes, Loads(setup, "mini")
    for device in ("laptop", "mini"):
        (setup.folder / device).mkdir(exist_ok=True)
    with Pair(names(sizes), setup.folder) as pair, pair.wire(pair.laptop) as wire:
        traffic = Traffic(wire)
        traffic.piped(sizes.singles, WINDOW)
        alone = label in (ONE, SIXTEEN)
        if not alone:
            pair.order("pause", "paused")
            limit = ("-n", str(sizes.drained), "-d", "120", "-k", "20")
            there.homi(pair.laptop, *LOAD, *limit)
        with (
            profiles.Sampler(pair.laptop.pid, setup.folder / "laptop") as first,
            profiles.Sampler(pair.mini.pid, setup.folder / "mini") as second,
        ):
            if alone:
                traffic.piped(4 * sizes.singles, 1 if label == ONE else WINDOW)
            else:
                pair.drain(sizes.drained)
    told = [f"laptop, {line}" for line in first.lines]
    return (*told, *(f"mini, {line}" for line in second.lines))

"""Durable accepts a second beside the C reference and the peers, interleaved.

Each round takes every case in turn: the C server, then homi, one right after the
other; homi's daemon is frozen while another is measured.  A ratio is the median of
the ratios of the rounds.
"""

import statistics
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.bench import peers, profiles
from tests.bench.kit import Load
from tests.bench.report import Figure, Goal, progress, skipped
from tests.bench.setup import Loads, Machine, Setup, frozen, machine

GROUP = "accept, against C"
AGAINST = "accept, against peers at the same load"


class Case(NamedTuple):
    """One load, by the options of the generator."""

    label: str
    options: tuple[str, ...]
    goal: Goal


def cases(setup: Setup) -> list[Case]:
    """The loads of the accept path, the plainest first."""
    many, crowd = str(setup.sizes.clients), str(setup.sizes.crowd)
    names = setup.sizes.names
    spread = ("-k", str(names))
    return [
        Case("1 client", ("-c", "1"), Goal(0.80)),
        Case(f"{many} clients, one name", ("-c", many), Goal(0.50)),
        Case(f"{many} clients, {names:,} names", ("-c", many, *spread), Goal(0.40)),
        Case(f"{crowd} clients, one name", ("-c", crowd), Goal(0.40)),
        Case(f"{crowd} clients, {names:,} names", ("-c", crowd, *spread), Goal(0.30)),
        Case("1 client, window 64", ("-c", "1", "-w", "64"), Goal(0.30)),
    ]


class Pair(NamedTuple):
    """Both figures of one case in one round."""

    ours: Load
    theirs: Load


class Rounds:
    """What was seen of each case, round by round."""

    def __init__(self, setup: Setup) -> None:
        """Nothing is measured yet."""
        self._setup = setup
        self._loads = Loads(setup)
        self.cases = cases(setup)
        self.pairs: list[list[Pair]] = [[] for _ in self.cases]
        self.peers: dict[str, list[float]] = {peer.name: [] for peer in peers.PEERS}
        self.missing: dict[str, str] = {}
        self._profiles: dict[str, tuple[str, ...]] = {}

    def measure(self) -> None:
        """All rounds."""
        for number in range(self._setup.runs):
            progress(f"accept, round {number + 1} of {self._setup.runs}")
            with machine(self._setup.sizes) as place:
                self._loads.warm(place)
                for case, pairs in zip(self.cases, self.pairs, strict=True):
                    with frozen(place.pid):
                        theirs = self._loads.reference(*case.options)
                    pairs.append(Pair(self._loads.homi(place, *case.options), theirs))
                with frozen(place.pid):
                    self._peers()

    def _peers(self) -> None:
        """Every peer that is here, at as many clients as homi's second case."""
        for peer in peers.PEERS:
            if peer.name in self.missing:
                continue
            try:
                rate = peer.measure(self._setup)
            except peers.Missing as why:
                self.missing[peer.name] = str(why)
            else:
                self.peers[peer.name].append(rate)

    def median(self, index: int, of: Callable[[Pair], float]) -> float:
        """The median over the rounds of one case."""
        return statistics.median(of(pair) for pair in self.pairs[index])

    # ---- figures ----

    def figures(self) -> Iterator[Figure]:
        """Every line of the two groups; one that missed says where the time goes."""
        for index, case in enumerate(self.cases):
            yield self._explained(self._rate(index, case), case)
        last, many = self.cases[-1], self.cases[1]
        yield self._explained(self._window(), last)
        late = self._compared(f"p99, {many.label}", "p99_us", Goal(4, most=True))
        yield self._explained(late, many)
        label, goal = f"CPU a message, {many.label}", Goal(5, most=True)
        yield self._explained(self._compared(label, "server_cpu_us", goal), many)
        for one in self._against_peers():
            yield self._explained(one, many)

    def _explained(self, one: Figure, case: Case) -> Figure:
        """The figure, with a profile of the load it is of where it missed."""
        if one.verdict != "MISSED":
            return one
        if case.label not in self._profiles:
            loads = Loads(self._setup._replace(seconds=profiles.SECONDS))

            def run(place: Machine) -> Load:
                return loads.homi(place, *case.options)

            self._profiles[case.label] = profiles.load(
                self._setup, case.label, loads.warm, run
            )
        return one._replace(profile=self._profiles[case.label])

    def _rate(self, index: int, case: Case) -> Figure:
        ratio = self.median(index, lambda pair: pair.ours.rate / pair.theirs.rate)
        ours = self.median(index, lambda pair: pair.ours.rate)
        theirs = self.median(index, lambda pair: pair.theirs.rate)
        spread = [pair.ours.rate / pair.theirs.rate for pair in self.pairs[index]]
        measured = f"{ours:,.0f}/s : {theirs:,.0f}/s"
        measured += f"  ({min(spread):.2f} to {max(spread):.2f})"
        return Figure(GROUP, case.label, ratio, case.goal, measured)

    def _window(self) -> Figure:
        """Pipelined against one at a time, both of homi."""
        one, many = self.pairs[0], self.pairs[-1]
        ratios = [b.ours.rate / a.ours.rate for a, b in zip(one, many, strict=True)]
        label = "1 client, window 64, of its own window 1"
        return Figure(GROUP, label, statistics.median(ratios), Goal(12))

    def _compared(self, label: str, field: str, goal: Goal) -> Figure:
        """A field of homi's load over the same of the C server's, many clients."""

        def ours(pair: Pair) -> float:
            return float(getattr(pair.ours, field))

        def theirs(pair: Pair) -> float:
            return float(getattr(pair.theirs, field))

        ratio = self.median(1, lambda pair: ours(pair) / theirs(pair))
        measured = f"{self.median(1, ours):,.1f} us : {self.median(1, theirs):,.1f} us"
        if field == "server_cpu_us":
            loop = self.median(1, lambda pair: pair.ours.loop_cpu_us)
            measured += f"  (of it the loop {loop:.1f} us)"
        return Figure(GROUP, label, ratio, goal, measured)

    def _against_peers(self) -> Iterator[Figure]:
        for peer in peers.PEERS:
            label, rates = f"{peer.name}, {peer.how}", self.peers[peer.name]
            if not rates:
                yield skipped(AGAINST, label, peer.goal, self.missing[peer.name])
                continue
            ours = [pair.ours.rate for pair in self.pairs[1]]
            ratios = [a / b for a, b in zip(ours, rates, strict=False)]
            measured = f"{statistics.median(ours):,.0f}/s : "
            measured += f"{statistics.median(rates):,.0f}/s"
            yield Figure(AGAINST, label, statistics.median(ratios), peer.goal, measured)


def measure(setup: Setup) -> list[Figure]:
    """All lines of the accept path."""
    rounds = Rounds(setup)
    rounds.measure()
    return list(rounds.figures())

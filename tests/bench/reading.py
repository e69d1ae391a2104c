"""The verbs on a large state root: a second each, and memory that does not grow.

Each is asked with the daemon running and with it dead, of the large root and of one
with far fewer messages; the index is made before, as a daemon at rest has it.
"""

import statistics
from collections.abc import Iterator
from typing import NamedTuple

from homi.store.index import Index
from tests.bench import profiles
from tests.bench.report import Figure, Goal, progress, skipped
from tests.bench.setup import PATIENCE, Machine, Setup
from tests.standin import verbs
from tests.standin.verbs import Asked, Seen

BOUND = Goal(1000, most=True, unit="ms")
FLAT = Goal(1.3, most=True)
LATE = 60.0  # s after which a verb is killed


class Ran(NamedTuple):
    """One verb on one root."""

    milliseconds: float
    peak: float  # MB
    failure: str


def measure(setup: Setup, large: Machine) -> Iterator[Figure]:
    """All lines; large has its messages already, the rest is written here."""
    sizes = setup.sizes
    progress(f"writing {sizes.names:,} mailboxes")
    verbs.around(large.state, sizes.pending, sizes.names)
    with Machine('device = "here"\n') as small:
        verbs.root(small.state, sizes.few, min(sizes.few, sizes.pending), sizes.names)
        for place in (large, small):
            with Index.open(place.state) as index:
                index.catch_up(text=True)
        for running in (True, False):
            if running:
                large.start(PATIENCE)
                small.start(PATIENCE)
            yield from _all(setup, large, small, running=running)
            for place in (large, small) if running else ():
                place.stop(PATIENCE)


def _all(
    setup: Setup, large: Machine, small: Machine, *, running: bool
) -> Iterator[Figure]:
    """Every verb, and the memory of the one that grows most."""
    count = setup.sizes.messages
    group = f"verbs, {count:,} messages, daemon {'running' if running else 'dead'}"
    progress(group)
    growth: list[tuple[float, str]] = []
    few = verbs.asked(setup.sizes.few)
    for here, there in zip(verbs.asked(count), few, strict=True):
        if not verbs.known(here.argv):
            yield skipped(group, here.label, BOUND, "homi has no such verb or option")
            continue
        one, other = _ran(setup, large, here), _ran(setup, small, there)
        measured = f"peak {one.peak:.0f} MB; {other.peak:.0f} MB at"
        measured += f" {setup.sizes.few:,}, {other.milliseconds:.0f} ms"
        # A verb that failed answered nothing, however quickly.
        value = float("inf") if one.failure else one.milliseconds
        figure = Figure(group, here.label, value, BOUND, measured, note=one.failure)
        if figure.verdict == "MISSED" and not one.failure:
            daemon = large.pid if running else None
            where = profiles.command(setup, large, here.argv, daemon)
            figure = figure._replace(profile=where)
        yield figure
        if other.peak:
            growth.append((one.peak / other.peak, here.label))
    worst, label = max(growth)
    said = f"the worst of {len(growth)}: {label}"
    yield Figure(
        group, f"peak memory, of that at {setup.sizes.few:,}", worst, FLAT, said
    )


def _ran(setup: Setup, place: Machine, line: Asked) -> Ran:
    """The median of a few runs."""
    seen = [verbs.run(place, line, LATE) for _ in range(min(setup.runs, 3))]
    bad = [one for one in seen if one.status not in line.statuses]
    return Ran(
        statistics.median(one.seconds for one in seen) * 1000,
        max(one.peak_kib for one in seen) / 1024,
        _failure(bad[0]) if bad else "",
    )


def _failure(seen: Seen) -> str:
    """What a verb said that could not do it."""
    said = seen.err.strip().splitlines()
    return f"status {seen.status}: {said[0][:100] if said else 'killed: too late'}"

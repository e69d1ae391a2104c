"""A disk whose every sync takes 5 ms longer: what then limits is the sync alone.

Its time is measured beside each load: the disk's own and the sleep, one record at a
time, by a process that does nothing else.
"""

import os
import statistics
import time

from tests.bench import kit, profiles
from tests.bench.report import Figure, Goal, progress
from tests.bench.setup import Loads, Setup, frozen, machine

GROUP = "accept, each sync 5 ms longer (emulated)"
LONGER = 0.005  # s
SYNCS = 60


def sync_time(setup: Setup) -> float:
    """Seconds of one slow sync of one record in a file of fixed size; the median."""
    path, record = setup.folder / "sync", b"x" * kit.RECORD
    path.write_bytes(bytes(SYNCS * kit.RECORD))
    fd = os.open(path, os.O_WRONLY)
    taken = []
    try:
        os.fsync(fd)
        for number in range(SYNCS):
            begun = time.perf_counter()
            os.pwrite(fd, record, number * kit.RECORD)
            os.fdatasync(fd)
            time.sleep(LONGER)
            taken.append(time.perf_counter() - begun)
    finally:
        os.close(fd)
    return statistics.median(taken)


def measure(setup: Setup) -> list[Figure]:
    """All lines of this group; those that missed with a profile of the crowd."""
    count = setup.sizes.clients
    alone: list[tuple[float, float]] = []  # the sync, the rate of one client
    crowd: list[tuple[float, float, float]] = []  # the sync, the rate, p99
    loads = Loads(setup)
    with machine(setup.sizes, HOMI_BENCH_SYNC=str(LONGER)) as place:
        loads.warm(place)
        for number in range(setup.runs):
            progress(f"slow syncs, round {number + 1} of {setup.runs}")
            with frozen(place.pid):
                sync = sync_time(setup)
            alone.append((sync, loads.homi(place, "-c", "1").rate))
            with frozen(place.pid):
                sync = sync_time(setup)
            many = loads.homi(place, "-c", str(count))
            crowd.append((sync, many.rate, many.p99_us / 1e6))
    sync = statistics.median(one for one, *_ in [*alone, *crowd])
    found = [*_crowd(count, crowd, sync), _alone(alone)]
    if all(one.verdict == "ok" for one in found):
        return found
    loads = Loads(setup._replace(seconds=profiles.SECONDS))
    where = profiles.load(
        setup,
        GROUP,
        loads.warm,
        lambda place: loads.homi(place, "-c", str(count)),
        HOMI_BENCH_SYNC=str(LONGER),
    )
    return [
        one._replace(profile=where) if one.verdict == "MISSED" else one for one in found
    ]


def _crowd(
    count: int, crowd: list[tuple[float, float, float]], sync: float
) -> list[Figure]:
    """The lines of many clients."""
    rate = statistics.median(rate for _, rate, _ in crowd)
    late = statistics.median(late for *_, late in crowd)
    return [
        Figure(
            GROUP,
            f"{count} clients, of {count} / sync",
            statistics.median(rate * sync / count for sync, rate, _ in crowd),
            Goal(0.75),
            f"{rate:,.0f}/s; a sync takes {sync * 1000:.2f} ms",
        ),
        Figure(
            GROUP,
            f"p99, {count} clients, in syncs",
            statistics.median(late / sync for sync, _, late in crowd),
            Goal(3, most=True),
            f"{late * 1000:.1f} ms",
        ),
    ]


def _alone(alone: list[tuple[float, float]]) -> Figure:
    """The line of one client."""
    rate = statistics.median(rate for _, rate in alone)
    ratio = statistics.median(rate * sync for sync, rate in alone)
    return Figure(GROUP, "1 client, of 1 / sync", ratio, Goal(0.95), f"{rate:,.0f}/s")

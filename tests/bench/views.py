"""The verbs that look at everything, and the door that everything looks at."""

import contextlib
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from tests.bench import kit, profiles
from tests.bench.report import Figure, Goal, progress
from tests.bench.setup import Loads, Machine, Setup, machine, names
from tests.standin.place import Place, until

GROUP = "views and probes"
BOUND = Goal(300, most=True, unit="ms")
PAUSE = 0.005  # s between two probes: a session's listing probes one name after another


def measure(setup: Setup) -> list[Figure]:
    """All lines of this group."""
    progress("views and probes")
    with machine(setup.sizes) as place:
        loads = Loads(setup)
        loads.warm(place)
        figures = [_probes(setup, place, loads)]
        with crowd(place, setup.sizes.sessions):
            figures += [_view(setup, place, verb) for verb in ("status", "ls")]
    return figures


@contextlib.contextmanager
def crowd(place: Place, count: int) -> Iterator[None]:
    """So many live sessions beside the daemon, known to it."""
    argv = [sys.executable, "-m", "tests.bench.crowd", str(count)]
    with subprocess.Popen(
        argv,
        env=place.env(),
        cwd=kit.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as parent:
        try:
            assert parent.stdout is not None
            for _ in range(count):
                if parent.stdout.read(1) != b".":
                    raise RuntimeError("a stand-in session did not come up")
            known = f"the daemon knows of {count} sessions"
            until(lambda: _sessions(place) >= count, known, 60, 0.2)
            yield
        finally:
            parent.communicate(timeout=60)


def _sessions(place: Place) -> int:
    """How many live sessions the daemon lists."""
    return sum(row.get("kind") == "session" for row in place.json("ls"))


def _view(setup: Setup, place: Machine, verb: str) -> Figure:
    """The wall time of one verb as a command."""
    taken = []
    for _ in range(setup.sizes.commands):
        begun = time.perf_counter()
        place.ok(verb)
        taken.append(time.perf_counter() - begun)
    empty = statistics.median(_empty() for _ in range(setup.sizes.commands))
    sizes = setup.sizes
    figure = Figure(
        GROUP,
        f"{verb}, {sizes.names:,} names, {sizes.sessions} live sessions",
        statistics.median(taken) * 1000,
        BOUND,
        f"worst {max(taken) * 1000:.0f} ms; python -c pass {empty * 1000:.0f} ms",
    )
    if figure.verdict != "MISSED":
        return figure
    where = profiles.command(setup, place, (verb,), place.pid)
    return figure._replace(profile=where)


def _empty() -> float:
    """Seconds of an empty program."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - begun


def _probes(setup: Setup, place: Machine, loads: Loads) -> Figure:
    """connect and close at the sockets of names while clients load the daemon."""
    count = str(setup.sizes.clients)
    seen: list[kit.Load] = []
    span = str(max(1.0, setup.seconds * setup.runs / 2))
    load = threading.Thread(
        target=lambda: seen.append(loads.homi(place, "-c", count, "-d", span))
    )
    paths = [
        str(place.listed(name)["messagingSocketPath"])
        for name in names(setup.sizes)[:20]
    ]
    load.start()
    taken: list[float] = []
    while load.is_alive():
        taken.append(probe(paths[len(taken) % len(paths)]))
        time.sleep(PAUSE)
    load.join()
    taken.sort()
    rate = kit.rate(seen[0]) if seen else "no load"
    return Figure(
        GROUP,
        f"accept of a probe, {count} clients at work: p99",
        taken[len(taken) * 99 // 100] * 1000,
        Goal(250, most=True, unit="ms"),
        f"p50 {taken[len(taken) // 2] * 1000:.1f} ms of {len(taken)}; beside {rate}",
    )


def probe(path: str) -> float:
    """Seconds until the daemon has accepted a connection and let it go."""
    begun = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(30)
        sock.connect(path)
        sock.shutdown(socket.SHUT_WR)
        if sock.recv(1):
            raise RuntimeError("the peer door wrote something")
    return time.perf_counter() - begun

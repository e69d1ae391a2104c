"""How long until a session's change is known: p50 and worst, in milliseconds.

Run as a program: python -m tests.bench.bench_sessions [rounds]
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from homi.sessions import Session
from tests.unit.sessions.place import Registry, Watched

NEIGHBOURS = 50  # records that lie in the folder and do not change
LIMIT = 5.0  # s for one notice


class Stopwatch:
    """Time from an act to the next event."""

    def __init__(self, watched: Watched) -> None:
        self._done: asyncio.Future[float] | None = None
        self.taken: dict[str, list[float]] = {}
        watched.sessions.subscribe(self._note)

    def _note(self, _old: Session | None, _new: Session | None) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(time.perf_counter())

    async def time(self, what: str, act: Callable[[], None]) -> None:
        """Do act, wait for the event it must cause."""
        self._done = asyncio.get_running_loop().create_future()
        begun = time.perf_counter()
        act()
        async with asyncio.timeout(LIMIT):
            ended = await self._done
        self.taken.setdefault(what, []).append((ended - begun) * 1000)

    def show(self) -> None:
        """One line an act."""
        for what, taken in self.taken.items():
            middle, worst = statistics.median(taken), max(taken)
            print(f"{what:8} p50 {middle:7.2f} ms  max {worst:7.2f} ms  n {len(taken)}")


async def measure(registry: Registry, rounds: int) -> None:
    """Create, modify, delete and kill, each in turn."""
    for number in range(NEIGHBOURS):
        registry.write(4_190_000 + number, name="dead", procStart="1")
    async with Watched(registry.config) as watched:
        watch = Stopwatch(watched)
        pid = registry.spawn()
        for _ in range(rounds):
            await watch.time("create", lambda: registry.write(pid, name="ada"))
            await watch.time("modify", lambda: registry.write(pid, name="bob"))
            await watch.time("delete", registry.path(pid).unlink)
        for _ in range(rounds):
            pid = registry.session("ada")
            await watched.until(lambda pid=pid: pid in watched.sessions.live)
            await watch.time("kill", lambda pid=pid: registry.kill(pid))
        watch.show()


def main() -> None:
    """Measure in a folder of its own."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory() as folder:
        registry = Registry(Path(folder) / "config")
        registry.make()
        try:
            uvloop.run(measure(registry, rounds))
        finally:
            registry.close()


if __name__ == "__main__":
    main()

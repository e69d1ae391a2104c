"""What the store itself costs a mail: python -m tests.bench.bench_store

Prints wall and CPU microseconds a message for batches of 1, 8, 64 and 256 through
the committer alone, then the rate of closed-loop clients through the whole store.
Measures; asserts nothing about time.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvloop

from homi.clock import SystemClock
from homi.config import Config
from homi.store.base import Kept, Mail
from homi.store.store import DiskStore
from tests.unit.store.commit_kit import MIB, Core, mail

BODY = "x" * 850  # about 1 KiB a line
BATCHES = {1: 2000, 8: 8000, 64: 40_000, 256: 40_000}
CLIENTS = ((1, 1, 3000), (64, 1, 60_000), (64, 1000, 60_000), (512, 1, 60_000))


@contextmanager
def timed(line: dict[str, object], count: int) -> Iterator[None]:
    """Note wall and CPU microseconds a message of what runs inside."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    line["us_wall"] = round(wall / count * 1e6, 2)
    line["us_cpu"] = round(cpu / count * 1e6, 2)
    line["per_s"] = round(count / wall)


def committer(root: Path) -> Iterator[dict[str, object]]:
    """The synchronous core, a checkpoint whenever a half is full."""
    for size, count in BATCHES.items():
        core = Core(root / f"batch-{size}", size=64 * MIB)
        mails = [mail(text=BODY) for _ in range(count)]
        line: dict[str, object] = {"what": "committer", "batch": size}
        with timed(line, count):
            for at in range(0, count, size):
                batch = core.commit(*mails[at : at + size])
                if batch.late_mails:
                    core.commit(*batch.late_mails)
        assert all(one.kept is Kept.STORED for one in mails)
        core.close()
        yield line


async def clients(root: Path) -> list[dict[str, object]]:
    """Closed loop: each client submits its next mail when the last was stored."""
    lines: list[dict[str, object]] = []
    loop = asyncio.get_running_loop()
    store = DiskStore.open(root / "store", Config(), SystemClock())
    store.start(loop)
    for count, names, total in CLIENTS:
        line: dict[str, object] = {"what": "store", "clients": count, "names": names}
        crowd = Crowd(store, names, total, loop.create_future())
        with timed(line, total):
            for _ in range(count):
                store.submit(crowd.waiting.pop())
            await crowd.over
        lines.append(line)
    await store.aclose()
    return lines


class Crowd:
    """Mails that are submitted one for each that was stored."""

    def __init__(
        self, store: DiskStore, names: int, total: int, over: asyncio.Future[None]
    ) -> None:
        """over is done when the last was stored."""
        self._store = store
        self._left = total
        self.over = over
        self.waiting = [
            mail(f"n{i % names}", BODY, done=self._done) for i in range(total)
        ]

    def _done(self, one: Mail) -> None:
        assert one.kept is Kept.STORED
        self._left -= 1
        if self.waiting:
            self._store.submit(self.waiting.pop())
        elif not self._left:
            self.over.set_result(None)


def main() -> None:
    """One JSON object a line."""
    with tempfile.TemporaryDirectory(prefix="homi-bench-") as folder:
        root = Path(folder)
        for size in BATCHES:
            (root / f"batch-{size}").mkdir()
        for line in committer(root):
            print(json.dumps(line), flush=True)
        for line in uvloop.run(clients(root)):
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()

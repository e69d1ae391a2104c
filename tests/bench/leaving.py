"""What it costs to look for secrets in what leaves the device."""

import asyncio
import tempfile
import time
from pathlib import Path

from homi.envelope import encode
from homi.scan.scanner import Scanner
from tests.bench.kit import ROOT
from tests.bench.report import Figure, Goal, progress
from tests.bench.setup import Setup
from tests.unit.postmaster.test_postmaster import Bench, letter

GROUP = "secrets in what leaves"
STEP = Goal(20, most=True, unit="ms")
PROSE = "The build is green again; see branch fix-210 for what was wrong with it. "
REPEATS = 500


def measure(setup: Setup) -> list[Figure]:
    """All lines of this group."""
    progress("the scan for secrets")
    code = "".join(path.read_text() for path in sorted((ROOT / "homi").rglob("*.py")))
    texts = (("a line of prose", PROSE), ("4 KiB of code", code[8192:12288]))
    return [
        *(_beside(f"{label}, beside the accept", text) for label, text in texts),
        _steps("1 MiB of code, the longest step", code[: 1 << 20]),
    ]


def _beside(label: str, text: str) -> Figure:
    """What a message for another device costs more, as a part of what one for a name
    here costs; both in memory."""
    with tempfile.TemporaryDirectory() as folder:
        here, there = asyncio.run(_both(Path(folder), text))
    measured = f"{(there - here) * 1e6:.0f} us beside {here * 1e6:.0f} us"
    return Figure(GROUP, label, (there - here) / here, unit="x", measured=measured)


async def _both(root: Path, text: str) -> tuple[float, float]:
    """Seconds of computing a message for here, and one for elsewhere."""
    bench = Bench(root)
    await bench.send(letter("gds@lab", "sg."))  # what is loaded once
    found = []
    for to in ("bob", "gds@lab"):
        await bench.send(letter(to, text))
        begun = time.thread_time()
        for _ in range(REPEATS):
            await bench.send(letter(to, text))
        found.append((time.thread_time() - begun) / REPEATS)
    return found[0], found[1]


def _steps(label: str, text: str) -> Figure:
    """How long the loop computes on a piece of the longest message."""
    scanner = Scanner()
    scanner.load()
    head = letter("gds@lab", text)
    longest, begun = 0.0, time.thread_time()
    last = begun
    for _ in scanner.steps(head, encode(head)):
        now = time.thread_time()
        longest, last = max(longest, now - last), now
    measured = f"{(last - begun) * 1e3:.0f} ms in all"
    return Figure(GROUP, label, longest * 1e3, STEP, measured)

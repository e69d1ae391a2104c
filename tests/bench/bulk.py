"""A blob over a link, on its own channel, beside the same bytes by `ssh cat`.

Both are on the far disk, synced, when they count.  A ratio is the median of those of
the rounds, in which the two take turns.
"""

import hashlib
import os
import statistics
import subprocess
import time

from tests.bench.pair import Pair
from tests.bench.report import Figure, Goal, progress
from tests.bench.setup import PATIENCE, Setup

GROUP = "blobs, over sshd"


def measure(setup: Setup) -> list[Figure]:
    """The line."""
    size = setup.sizes.blob
    progress(f"a blob of {size >> 20} MiB, {setup.runs} times")
    with Pair([]) as pair:
        rounds = [(_blob(pair, size), _cat(pair, size)) for _ in range(setup.runs)]
    blob, cat = (statistics.median(side) for side in zip(*rounds, strict=True))
    mib = size / (1 << 20)
    return [
        Figure(
            GROUP,
            f"{size >> 20} MiB, rate by that of ssh cat and sync",
            statistics.median(other / one for one, other in rounds),
            Goal(0.8),
            f"{mib / blob:,.0f} MiB/s : {mib / cat:,.0f} MiB/s",
        )
    ]


def _blob(pair: Pair, size: int) -> float:
    """Seconds until a new blob is at mini."""
    data = os.urandom(size)
    name = hashlib.sha256(data).hexdigest()
    folder = pair.laptop.state / "blobs"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / name).write_bytes(data)
    with pair.wire(pair.laptop) as wire:
        begun = time.perf_counter()
        wire.ask(verb="blob", do="put", device="mini", sha256=name)
        took = time.perf_counter() - begun
    for place in (pair.laptop, pair.mini):
        (place.state / "blobs" / name).unlink()
    return took


def _cat(pair: Pair, size: int) -> float:
    """Seconds of the same by the user's own ssh, its connection with it."""
    to = pair.mini.root / "cat"
    data = os.urandom(size)
    begun = time.perf_counter()
    subprocess.run(
        ["ssh", "mini", f"cat > {to} && sync {to}"],
        input=data,
        env=pair.laptop.env(),
        timeout=PATIENCE,
        check=True,
    )
    took = time.perf_counter() - begun
    to.unlink()
    return took

"""The data plane of a link alone: two processes on a socketpair, no daemon, no SSH.

A diagnosis beside the figures of links.py: what is slow there and not here is the
daemon's or the transport's.
"""

import json
import shutil
import socket
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from homi.links.identity import Identity
from tests.bench import kit
from tests.bench.report import Figure, progress
from tests.bench.setup import Setup, Sizes

GROUP = "links, the data plane alone (a diagnosis)"
DEVICE = Path(__file__).with_name("device.py")
LIMIT = 120.0  # s for one of them


def measure(setup: Setup) -> list[Figure]:
    """The figures, medians over the rounds."""
    return list(_figures(setup))


def _figures(setup: Setup) -> Iterator[Figure]:
    full = setup.sizes == Sizes()
    many, few = (20_000, 500) if full else (1_000, 20)
    drained, blasted, over, here = [], [], [], []
    for number in range(setup.runs):
        progress(f"data plane, round {number + 1} of {setup.runs}")
        drained.append(many / run(setup.folder, "drain", many))
        blasted.append(many / run(setup.folder, "blast", many))
        over.append(statistics.median(run(setup.folder, "single", few)))
        here.append(statistics.median(run(setup.folder, "knock", few)))
    yield _ratio(
        "one message, accept to far ack, of one accept there",
        over,
        here,
        lambda value: f"{value * 1e6:,.0f} us",
    )
    yield _ratio(
        "window 256 out of a queue, of the receiver alone",
        drained,
        blasted,
        lambda value: f"{value:,.0f}/s",
    )
    singles = [1 / value for value in over]
    yield _ratio(
        "window 256, of its own window 1",
        drained,
        singles,
        lambda value: f"{value:,.0f}/s",
    )


def _ratio(
    label: str,
    ours: list[float],
    theirs: list[float],
    show: Any,  # noqa: ANN401 - a function of one number
) -> Figure:
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    measured = f"{show(statistics.median(ours))} : {show(statistics.median(theirs))}"
    return Figure(GROUP, label, ratio, None, measured, unit="x")


def run(folder: Path, role: str, count: int) -> Any:  # noqa: ANN401 - what the role prints
    """What laptop measured in that role, on fresh stores."""
    root = folder / f"link-{role}"
    for name in ("laptop", "mini"):
        (root / name).mkdir(parents=True, mode=0o700)
        Identity.load(root / name)
    ends = socket.socketpair()
    try:
        mini = _start("mini", root, ends[0], 0)
        laptop = _start(role, root, ends[1], count)
    finally:
        for end in ends:
            end.close()
    try:
        out, _ = laptop.communicate(timeout=LIMIT)
        mini.wait(timeout=LIMIT)
    finally:
        kit.end(laptop)
        kit.end(mini)
        shutil.rmtree(root)
    return json.loads(out)


def _start(
    role: str, root: Path, end: socket.socket, count: int
) -> subprocess.Popen[bytes]:
    argv = [sys.executable, str(DEVICE), role, str(root), str(end.fileno()), str(count)]
    return subprocess.Popen(argv, pass_fds=[end.fileno()], stdout=subprocess.PIPE)

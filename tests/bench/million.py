"""A state root of a million messages: how it starts, what it keeps in memory.

A start is the time until the control socket answers, less that of a root with the
same names and no mail; it is held against the plainest scan that could do the work:
every line of inbox and ledger decoded by msgspec, ids kept in a set.
"""

import contextlib
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from homi.address import Name
from homi.store.index import Index
from tests.bench import kit, profiles
from tests.bench.report import Figure, Goal, progress
from tests.bench.setup import PATIENCE, Machine, Setup
from tests.standin import journals, verbs

START, MEMORY = "start", "memory"
BYTES = Goal(120, most=True, unit="bytes")
SCAN = """
import sys, time
import msgspec
class Msg(msgspec.Struct, gc=False):
    id: str
class Mail(msgspec.Struct, gc=False):
    seq: int
    msg: Msg
class Rung(msgspec.Struct, gc=False):
    seq: int
    id: str
    rung: str
mail, rung = (msgspec.json.Decoder(kind).decode for kind in (Mail, Rung))
begun = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    ids = {mail(line).msg.id for line in file}
with open(sys.argv[2], "rb") as file:
    ids |= {rung(line).id for line in file}
print(time.perf_counter() - begun, len(ids))
"""


class Began(NamedTuple):
    """One start of a daemon."""

    seconds: float
    resident: int  # bytes, at once
    settled: int  # bytes, once it is idle


class Million:
    """The large root, and an empty one with the same names."""

    def __init__(self, setup: Setup, large: Machine, empty: Machine) -> None:
        """Write both."""
        self._setup = setup
        self.large, self.empty = large, empty
        for place, count in ((large, setup.sizes.messages), (empty, 0)):
            journals.write_names(place.state, [verbs.BIG])
            pending = min(100, count)
            journals.write_mailbox(place.state, verbs.BIG, count, pending)

    def index(self) -> float:
        """Make the index anew; seconds."""
        self.forget()
        begun = time.perf_counter()
        with Index.open(self.large.state) as index:
            index.catch_up([Name(verbs.BIG)])
        return time.perf_counter() - begun

    def forget(self) -> None:
        """Take the index away."""
        for file in self.large.state.glob("index.sqlite3*"):
            file.unlink()

    def scan(self) -> float:
        """Seconds of the plainest scan, in a process of its own."""
        folder = self.large.state / "mail" / verbs.BIG
        files = [str(folder / f"{kind}.jsonl") for kind in ("inbox", "ledger")]
        done = subprocess.run(
            [sys.executable, "-c", SCAN, *files],
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        return float(done.stdout.split()[0])

    def start(self, place: Machine, *, settle: bool = False) -> Began:
        """Start the daemon of place and stop it again."""
        begun = time.perf_counter()
        place.start(PATIENCE)
        seconds = time.perf_counter() - begun
        resident = settled = rss(place.pid)
        if settle:
            time.sleep(self._setup.sizes.settle)
            settled = rss(place.pid)
        place.stop(PATIENCE)
        return Began(seconds, resident, settled)


@contextlib.contextmanager
def roots(setup: Setup) -> Iterator[Million]:
    """Both roots, removed afterwards."""
    config = 'device = "here"\nreserve = 1\n'
    progress(f"writing {setup.sizes.messages:,} messages")
    with Machine(config) as large, Machine(config) as empty:
        yield Million(setup, large, empty)


def rss(pid: int) -> int:
    """Resident bytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def measure(setup: Setup, million: Million) -> Iterator[Figure]:
    """All lines about start and memory; the index is there and whole at the end."""
    progress("making the index")
    built = million.index()
    kept = setup.folder / "index"
    with_index, without, base, scans = [], [], [], []
    for number in range(setup.runs):
        progress(f"start, round {number + 1} of {setup.runs}")
        scans.append(million.scan())
        base.append(million.start(million.empty, settle=not number))
        with_index.append(million.start(million.large, settle=not number))
        _move(million.large.state, kept)
        without.append(million.start(million.large))
        million.forget()
        _move(kept, million.large.state)
    scan = statistics.median(scans)
    label = "with a valid index, of a full scan"
    figure = _started(setup, label, with_index, base, scan, Goal(0.05, most=True))
    yield _explained(setup, million.large, figure)
    label = "without an index, of a full scan"
    figure = _started(setup, label, without, base, scan, Goal(2, most=True))
    _move(million.large.state, kept)
    figure = _explained(setup, million.large, figure)
    million.forget()
    _move(kept, million.large.state)
    yield figure
    yield Figure(START, "making the index anew", built, unit="s")
    yield from _memory(setup.sizes.messages, base, with_index, without)


def _started(
    setup: Setup,
    label: str,
    starts: list[Began],
    base: list[Began],
    scan: float,
    goal: Goal,
) -> Figure:
    """How long one kind of start takes, beside a scan."""
    empty = statistics.median(one.seconds for one in base)
    took = statistics.median(one.seconds for one in starts)
    return Figure(
        START,
        f"{setup.sizes.messages:,} messages, {label}",
        max(0.0, took - empty) / scan,
        goal,
        f"{took:.2f} s, of it {empty:.2f} s without mail; scan {scan:.2f} s",
    )


def _explained(setup: Setup, place: Machine, one: Figure) -> Figure:
    """The figure, with a profile of such a start where it missed."""
    if one.verdict != "MISSED":
        return one
    return one._replace(profile=profiles.start(setup, place))


def _memory(
    count: int, base: list[Began], with_index: list[Began], without: list[Began]
) -> Iterator[Figure]:
    idle, none = base[0].settled, statistics.median(one.resident for one in base)
    for label, large, small in (
        ("bytes a remembered id, with a valid index", with_index[0].settled, idle),
        (
            "bytes a remembered id, without an index",
            statistics.median(one.resident for one in without),
            none,
        ),
    ):
        measured = f"{large / 1e6:.0f} MB : {small / 1e6:.0f} MB without mail"
        yield Figure(MEMORY, label, (large - small) / count, BYTES, measured)


def idle(setup: Setup, empty: Machine) -> Figure:
    """The idle daemon beside an interpreter that has imported the same modules."""
    listed = setup.folder / "modules"
    empty.start(PATIENCE, HOMI_BENCH_MODULES=str(listed))
    time.sleep(setup.sizes.settle)
    resident = rss(empty.pid)
    empty.stop()
    code = (
        "import contextlib, importlib, sys\n"
        f"for name in open({str(listed)!r}).read().split():\n"
        "    with contextlib.suppress(ImportError):\n"
        "        importlib.import_module(name)\n"
        "print(flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=kit.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as bare:
        assert bare.stdout is not None
        bare.stdout.readline()
        imports = rss(bare.pid)
        bare.communicate(timeout=30)
    measured = f"{resident / 1e6:.1f} MB : {imports / 1e6:.1f} MB"
    label = "idle, against the same imports"
    return Figure(MEMORY, label, resident / imports, Goal(1.3, most=True), measured)


def _move(source: Path, target: Path) -> None:
    """The files of the index, to another folder."""
    target.mkdir(exist_ok=True)
    for file in source.glob("index.sqlite3*"):
        shutil.move(file, target / file.name)

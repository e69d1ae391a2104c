"""Where the time goes of what missed its goal: functions, threads, kernel.

py-spy samples a process from outside where that is installed and allowed; without it
a daemon profiles its own loop between two signals, which makes it slower.  Either way
the start of the daemon is no part of it.  The system's accounts say which thread spent
how much, and how much of it in the kernel.
"""

import os
import pstats
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.bench import kit
from tests.bench.kit import Load
from tests.bench.report import progress
from tests.bench.setup import PATIENCE, Machine, Setup, machine
from tests.standin.place import Place, homi_command, until

SECONDS = 3.0  # of load
RATE = 250  # samples a second
SHOWN = 6
PROFILE = "profile"  # of a daemon that profiles itself

Warm = Callable[[Machine], None]
Run = Callable[[Machine], Load]


def spy() -> str | None:
    """The sampler, beside this interpreter or in the path."""
    beside = Path(sys.executable).parent / "py-spy"
    return str(beside) if beside.exists() else shutil.which("py-spy")


def wanted(folder: Path) -> dict[str, str]:
    """What a daemon must be started with for a Sampler with that folder."""
    return {} if spy() else {"HOMI_BENCH_PROFILE": str(folder / PROFILE)}


class Sampler:
    """Profiles a process as long as its with block lasts; lines says what was seen.

    Without py-spy it must be a daemon that was started with what wanted() says.
    """

    def __init__(self, pid: int, folder: Path) -> None:
        """Nothing is sampled yet."""
        self._pid = pid
        self._own = folder / PROFILE
        self._target = folder / f"samples-{pid}"
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = 0.0
        self.lines: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        """Begin."""
        if program := spy():
            argv = [program, "record", "--gil", "-d", "600", "-r", str(RATE)]
            argv += ["-f", "raw", "-o", str(self._target), "-p", str(self._pid)]
            self._process = subprocess.Popen(
                argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        else:
            self._own.unlink(missing_ok=True)
            os.kill(self._pid, signal.SIGUSR2)
        self._begun = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End; the file is written by then."""
        if self._process is None:
            self.lines = _written(self._pid, self._own)
            return
        span = time.perf_counter() - self._begun
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.lines = ("no profile: py-spy may not look into that process",)
        if self._target.exists():
            self.lines = tuple(_sampled(self._target, span))
            self._target.unlink()


def load(setup: Setup, label: str, warm: Warm, run: Run, **env: str) -> tuple[str, ...]:
    """Where a fresh daemon's time goes under a load, to print below its figure."""
    progress(f"profile of {label}")
    with machine(setup.sizes, **wanted(setup.folder), **env) as place:
        warm(place)
        before = accounts(place.pid)
        with Sampler(place.pid, setup.folder) as sampler:
            seen = run(place)
        spent = _accounts_line(before, accounts(place.pid), place.pid, seen)
    return (spent, *sampler.lines)


def start(setup: Setup, place: Machine) -> tuple[str, ...]:
    """Where the time of a daemon's start goes; place is stopped before and after."""
    progress("profile of a start")
    own = setup.folder / PROFILE
    own.unlink(missing_ok=True)
    env = {"HOMI_BENCH_PROFILE": str(own), "HOMI_BENCH_PROFILE_START": "1"}
    place.start(PATIENCE, **env)
    lines = _written(place.pid, own)
    place.stop(PATIENCE)
    return lines


def command(
    setup: Setup, place: Place, argv: tuple[str, ...], daemon: int | None
) -> tuple[str, ...]:
    """Where the time of a command goes, its own and that of the daemon it asks."""
    program = spy()
    if program is None:
        return ("no profile: py-spy is not installed",)
    progress(f"profile of {' '.join(argv)}")
    target = setup.folder / "command"
    line = [program, "record", "-r", str(RATE), "-f", "raw", "-o", str(target), "--"]
    sampler = Sampler(daemon or 0, setup.folder)
    begun = time.perf_counter()
    if daemon:
        with sampler:
            _run(place, [*line, *homi_command(), *argv])
    else:
        _run(place, [*line, *homi_command(), *argv])
    span = time.perf_counter() - begun
    own = _sampled(target, span) if target.exists() else ["no profile of the command"]
    target.unlink(missing_ok=True)
    theirs = [f"daemon, {one}" for one in sampler.lines] if daemon else []
    return (*(f"command, {one}" for one in own), *theirs)


def _run(place: Place, argv: list[str]) -> None:
    """A command whose output nobody reads."""
    subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=place.env(),
        cwd=place.work,
        timeout=120,
        check=False,
    )


def _sampled(path: Path, span: float) -> list[str]:
    """The functions most samples stand in; a thread that waits stands in none."""
    own: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        frame = stack.rpartition(";")[2]
        function, _, rest = frame.rpartition(" (") if " (" in frame else (frame, "", "")
        file = rest.rstrip(")").partition(":")[0]
        own[f"{_short(file)} {function}".strip()] += int(count)
    total = sum(own.values()) or 1
    busy = f"py-spy: at work {100 * total / (span * RATE):.0f} % of {span:.1f} s; in"
    return [busy, *_shares(own)]


def _written(pid: int, path: Path) -> tuple[str, ...]:
    """End the profile that a daemon makes of its own loop; what it says."""
    os.kill(pid, signal.SIGUSR2)
    until(path.exists, "the daemon wrote its profile")
    return tuple(_profiled(path))


def _profiled(path: Path) -> list[str]:
    """The functions the loop spent most time in."""
    stats = pstats.Stats(str(path)).stats  # type: ignore[attr-defined]
    own = Counter(
        {f"{_short(key[0])} {key[2]}": entry[2] for key, entry in stats.items()}
    )
    return ["cProfile of the loop, own time in", *_shares(own)]


def _shares(own: Counter[str]) -> list[str]:
    """The largest of them in percent."""
    total = sum(own.values()) or 1
    return [f"  {100 * n / total:4.1f} %  {what}" for what, n in own.most_common(SHOWN)]


def _short(file: str) -> str:
    """The last two parts of a path."""
    return "/".join(Path(file).parts[-2:])


def accounts(pid: int) -> dict[int, tuple[float, float]]:
    """User and system seconds of each thread."""
    ticks = os.sysconf("SC_CLK_TCK")
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text().rpartition(") ")[2].split()
        found[int(task.name)] = (int(fields[11]) / ticks, int(fields[12]) / ticks)
    return found


def _accounts_line(
    before: dict[int, tuple[float, float]],
    after: dict[int, tuple[float, float]],
    pid: int,
    seen: Load,
) -> str:
    """User and system time a message, of the loop and of the other threads."""
    micro = 1e6 / max(1, seen.msgs)
    sums = {True: [0.0, 0.0], False: [0.0, 0.0]}
    for thread, spent in after.items():
        was = before.get(thread, (0.0, 0.0))
        for kind in (0, 1):
            sums[thread == pid][kind] += (spent[kind] - was[kind]) * micro
    loop, rest = sums[True], sums[False]
    return (
        f"us a message: loop {loop[0]:.0f} user + {loop[1]:.0f} system, other threads"
        f" {rest[0]:.0f} + {rest[1]:.0f}, at {kit.rate(seen)} while sampled"
    )

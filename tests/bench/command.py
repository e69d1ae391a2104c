"""What one `homi send` costs, and one message of many, beside an empty program.

The command is an installed wheel in an environment of its own, as a user has it; an
editable one may be compiled anew at each start.  Interleaved; medians of wall time.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench import kit
from tests.bench.report import Figure, Goal, progress, skipped
from tests.bench.setup import PATIENCE, Quiet, Setup
from tests.standin import journals
from tests.standin.place import Place

GROUP = "the command"
SEND = Goal(5, most=True)
AIM = 3.0
LINES = Goal(50)


class Installed:
    """The wheel in an environment of its own."""

    def __init__(self, folder: Path) -> None:
        """Install it; RuntimeError with what pip said where that fails."""
        self.folder = folder / "venv"
        self.python = self.folder / "bin" / "python"
        if self.python.exists():
            return
        quiet = ["-q", "--disable-pip-version-check"]
        self._run(sys.executable, "-m", "venv", str(self.folder))
        self._run(str(self.python), "-m", "pip", "install", *quiet, str(kit.ROOT))
        # What a first use of each would do.
        self._run(str(self.python), "-m", "compileall", "-q", str(self.folder))

    def _run(self, *argv: str) -> None:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=400, check=False
        )
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise RuntimeError(said[-1] if said else f"{argv[0]} failed")

    @property
    def homi(self) -> str:
        """The command."""
        return str(self.folder / "bin" / "homi")


def measure(setup: Setup) -> list[Figure]:
    """All lines of this group."""
    progress("the command: installing the wheel")
    labels = {
        "homi send, against python -c pass": SEND,
        "send --lines a message, against homi send": LINES,
    }
    try:
        installed = Installed(setup.folder)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        why = f"the wheel cannot be installed: {error}"
        return [skipped(GROUP, label, goal, why) for label, goal in labels.items()]
    progress("the command")
    with Quiet('device = "here"\n') as place:
        journals.write_names(place.state, ["ada", "bob", "eve"])
        place.start(PATIENCE)
        found = _interleaved(setup, place, installed)
    return _figures(setup, found, *labels)


def _interleaved(
    setup: Setup, place: Place, installed: Installed
) -> dict[str, list[float]]:
    """Seconds of each program, one after the other in each round."""
    env = place.env()
    del env["PYTHONPATH"]  # it would run what lies in the repository
    send = [installed.homi, "send", "--from", "bob"]
    given = setup.folder / "lines"
    count = setup.sizes.lines // 4
    given.write_text("".join(f"{n} {'x' * 1000}\n" for n in range(count)))

    def run(*argv: str) -> Callable[[], None]:
        return lambda: _quiet([*argv], env)

    programs = {
        "empty": run(str(installed.python), "-c", "pass"),
        "send": run(*send, "ada", "x" * 1000),
        "version": run(installed.homi, "--version"),
    }
    found: dict[str, list[float]] = {name: [] for name in [*programs, "line"]}
    for turn in range(setup.sizes.commands + 1):
        for name, program in programs.items():
            taken = _timed(program)
            if turn:  # the first only warms the caches
                found[name].append(taken)
    many = run(*send, "--lines", "-f", str(given), "eve")
    for _ in range(min(setup.runs, 2)):  # a mailbox refuses at 10,000
        found["line"].append(_timed(many) / count)
    return found


def _quiet(argv: list[str], env: dict[str, str]) -> None:
    subprocess.run(argv, env=env, check=True, stdout=subprocess.DEVNULL, timeout=120)


def _timed(program: Callable[[], None]) -> float:
    begun = time.perf_counter()
    program()
    return time.perf_counter() - begun


def _figures(
    setup: Setup, found: dict[str, list[float]], send: str, lines: str
) -> list[Figure]:
    """The figures, of medians."""
    took = {name: statistics.median(each) for name, each in found.items()}
    ratio = took["send"] / took["empty"]
    aimed = "reached" if ratio <= AIM else "not reached"
    wall = f"{took['send'] * 1000:.1f} ms : {took['empty'] * 1000:.1f} ms"
    note = f"the aim of {AIM:.0f} x is {aimed}"
    version = took["version"] / took["empty"]
    return [
        Figure(GROUP, send, ratio, SEND, wall, note=note),
        Figure(
            GROUP,
            lines,
            took["send"] / took["line"],
            LINES,
            f"{took['line'] * 1e6:.0f} us a message : {took['send'] * 1000:.1f} ms",
        ),
        Figure(
            GROUP,
            "homi --version, against python -c pass",
            version,
            measured=f"{took['version'] * 1000:.1f} ms",
            unit="x",
        ),
    ]

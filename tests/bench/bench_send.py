"""What one `homi send` costs, against an empty Python program of the same interpreter.

    python tests/bench/bench_send.py [REPETITIONS]

Interleaved, so that a busy machine is busy for both; medians of wall time.
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.standin.place import Place, homi_command

REPETITIONS = 15
GOAL = 3.0  # times the empty program; 5 on a machine that does other things, too


def measure(repetitions: int) -> dict[str, float]:
    """Median wall ms of each program."""
    programs = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "homi send": [*homi_command(), "send", "--from", "bob", "ada", "x" * 1024],
        "homi --version": [*homi_command(), "--version"],
    }
    times: dict[str, list[float]] = {name: [] for name in programs}
    with Place() as place:
        place.start()
        for name in ("ada", "bob"):
            place.ok("claim", name)
        for turn in range(repetitions + 1):
            for name, argv in programs.items():
                begun = time.perf_counter()
                subprocess.run(
                    argv, env=place.env(), check=True, stdout=subprocess.DEVNULL
                )
                # The first turn only warms the caches.
                if turn:
                    times[name].append((time.perf_counter() - begun) * 1000)
    return {name: statistics.median(found) for name, found in times.items()}


def main() -> None:
    """Print the medians and their ratio."""
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS)
    empty = found["python -c pass"]
    for name, wall in found.items():
        print(f"{name:16} {wall:7.1f} ms  {wall / empty:4.1f} x")
    print(f"goal for homi send: {GOAL:.0f} x")


if __name__ == "__main__":
    main()

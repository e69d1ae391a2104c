"""make bench: what homi promises of speed and size, measured, each beside its goal.

  run.py [--quick] [--runs N] [--seconds S] [--only GROUP,…] [--json FILE]

The figures of one run are ratios, medians of interleaved repetitions on fresh files
(five, with --quick one).  What is below its goal is MISSED and, on the accept path,
explained by a profile; nothing fails, since a shared machine is no judge.  Peers are
measured where they are installed: pip install '.[bench]', apt-get install
redis-server postfix.  The other programs of this folder measure single parts.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench import (
    accept,
    command,
    kit,
    leaving,
    links,
    million,
    reading,
    slow,
    turns,
    views,
)
from tests.bench.report import Figure, progress, save, skipped, table
from tests.bench.setup import TINY, Setup, Sizes

ROOM = 8 << 30  # bytes of disk for the million messages, their copies and the index
Group = Callable[[Setup], list[Figure]]


def big(setup: Setup) -> list[Figure]:
    """Start, memory and the verbs: one root of a million messages for all of them."""
    free = shutil.disk_usage(setup.folder).free
    if setup.sizes == Sizes() and free < ROOM:
        why = f"{free >> 30} GiB are free, it needs {ROOM >> 30}"
        return [skipped("start", "a million messages", None, why)]
    with million.roots(setup) as roots:
        found = list(million.measure(setup, roots))
        found.append(million.idle(setup, roots.empty))
        return found + list(reading.measure(setup, roots.large))


GROUPS: dict[str, Group] = {
    "accept": accept.measure,
    "links": links.measure,
    "slow": slow.measure,
    "leaving": leaving.measure,
    "turns": turns.measure,
    "views": views.measure,
    "command": command.measure,
    "million": big,
}


def measure(setup: Setup, groups: list[str]) -> Iterator[Figure]:
    """The figures of these groups; one that breaks is a line, not the end."""
    for name in groups:
        try:
            yield from GROUPS[name](setup)
        except (RuntimeError, AssertionError, OSError, subprocess.SubprocessError) as e:
            progress(f"{name} broke: {e}")
            said = str(e).strip().splitlines()
            yield skipped(name, "broken", None, said[0][:200] if said else repr(e))


def parse(argv: list[str]) -> argparse.Namespace:
    """The command line."""
    first = str(__doc__).partition("\n")[0]
    parser = argparse.ArgumentParser(description=first)
    parser.add_argument("--quick", action="store_true", help="one repetition")
    parser.add_argument("--runs", type=int, default=5, help="repetitions (5)")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a load (1)")
    parser.add_argument("--only", default="", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--json", metavar="FILE", type=Path, help="all of it, too")
    parser.add_argument("--tiny", action="store_true", help="does this program work?")
    given = parser.parse_args(argv)
    wanted = given.only.split(",") if given.only else list(GROUPS)
    if unknown := sorted(set(wanted) - set(GROUPS)):
        parser.error(f"no group {unknown[0]}: one of {', '.join(GROUPS)}")
    given.groups = wanted
    return given


def main(argv: list[str]) -> int:
    """Measure, print, leave nothing behind."""
    given = parse(argv)
    if disk := os.environ.get("HOMI_BENCH_DIR"):
        tempfile.tempdir = disk
    folder = kit.scratch()
    try:
        setup = Setup(
            kit.build(folder),
            folder,
            1 if given.quick or given.tiny else given.runs,
            0.2 if given.tiny else given.seconds,
            TINY if given.tiny else Sizes(),
        )
        figures = list(measure(setup, given.groups))
    finally:
        kit.remove(folder)
    print(table(figures))
    if given.json:
        save(given.json, figures, setup.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

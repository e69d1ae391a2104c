"""What was measured: one figure a line, its goal beside it.

Owns goals, verdicts and the table; measures nothing.
"""

import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import NamedTuple

import homi

WIDTHS = (54, 10, 10, 7)


class Goal(NamedTuple):
    """What a figure should be at least, or at most."""

    bound: float
    most: bool = False
    unit: str = "x"

    def met(self, value: float) -> bool:
        """Whether value is as it should be."""
        return value <= self.bound if self.most else value >= self.bound

    def show(self) -> str:
        """The goal as it stands in the table."""
        return f"{'<=' if self.most else '>='} {amount(self.bound, self.unit)}"


class Figure(NamedTuple):
    """One line of the table."""

    group: str
    label: str
    value: float | None  # in the unit of the goal; None: not measured
    goal: Goal | None = None  # None: only shown
    measured: str = ""  # what the value was made of
    note: str = ""  # why it was not measured, or what should be known of it
    unit: str = ""  # where there is no goal
    profile: tuple[str, ...] = ()  # where the time goes, beside a missed goal

    @property
    def verdict(self) -> str:
        """ok, MISSED, skipped, or nothing where there is no goal."""
        if self.value is None:
            return "skipped"
        if self.goal is None:
            return ""
        return "ok" if self.goal.met(self.value) else "MISSED"


def amount(value: float, unit: str) -> str:
    """A number with as many digits as mean something."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    if abs(value) < 0.1 and value:
        digits = 4
    return f"{value:,.{digits}f} {unit}".rstrip()


def skipped(group: str, label: str, goal: Goal | None, why: str) -> Figure:
    """A line that could not be measured, and why."""
    return Figure(group, label, None, goal, note=why)


def table(figures: list[Figure]) -> str:
    """Every figure under its group, notes and profiles below their line."""
    lines = [_row("", "figure", "goal", "", "measured")]
    group, told = "", set[tuple[str, ...]]()
    for one in figures:
        if one.group != group:
            group = one.group
            lines += ["", group.upper()]
        unit = one.goal.unit if one.goal else one.unit
        shown = "-" if one.value is None else amount(one.value, unit)
        goal = one.goal.show() if one.goal else ""
        lines.append(_row(one.label, shown, goal, one.verdict, one.measured))
        again = ("the profile is that above",) if one.profile in told else ()
        told |= {one.profile} - {()}
        notes = (one.note, *(again or one.profile))
        lines += [f"      {note}" for note in notes if note]
    count = dict.fromkeys(("ok", "MISSED", "skipped"), 0)
    for one in figures:
        if one.verdict:
            count[one.verdict] += 1
    lines += ["", ", ".join(f"{number} {word}" for word, number in count.items())]
    return "\n".join(lines)


def _row(label: str, *cells: str) -> str:
    """One line, its columns below each other."""
    parts = [f"  {label}".ljust(WIDTHS[0])]
    parts += [cell.rjust(w) for cell, w in zip(cells, WIDTHS[1:], strict=False)]
    return "  ".join([*parts, cells[-1]]).rstrip()


def save(path: Path, figures: list[Figure], runs: int) -> None:
    """Everything as JSON, with what machine it was."""
    found = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "homi": homi.__version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "runs": runs,
        "figures": [
            one._asdict()
            | {
                "goal": one.goal.show() if one.goal else None,
                "verdict": one.verdict,
                "unit": one.goal.unit if one.goal else one.unit,
            }
            for one in figures
        ],
    }
    path.write_text(json.dumps(found, indent=1) + "\n")


def progress(text: str) -> None:
    """What is being measured now, on stderr."""
    print(f"bench: {text}", file=sys.stderr, flush=True)

"""How much mail waits for whom, and how long: names by ages.  homi-queue(1).

Owns the ages, each twice the one before it, as a queue's ills show best that way.
"""

import time
from bisect import bisect_right
from collections.abc import Iterable

import msgspec

from homi.cli import output
from homi.clock import rfc3339
from homi.render import Cell

# The upper bound of each column in seconds; the last one has none.
AGES = {
    "5m": 300,
    "10m": 600,
    "20m": 1_200,
    "40m": 2_400,
    "1h20": 4_800,
    "2h40": 9_600,
    "5h20": 19_200,
    "10h40": 38_400,
    "1d": 86_400,
    "1d+": None,
}


class Shape(msgspec.Struct, frozen=True):
    """One name: its pending mail by age; its fields are those of the JSON form."""

    name: str
    total: int
    oldest: str  # RFC 3339
    ages: dict[str, int]  # by the heads of the columns


def show_shape(stamps: Iterable[tuple[str, str]], *, as_json: bool) -> None:
    """Print a line a name, that with the oldest mail first, below the sum of all.

    stamps: of each message for whom it is and when it came.
    """
    shapes = shapes_of(stamps, time.time())
    if as_json:
        for shape in shapes:
            output.json_line(shape)
        return
    table: list[tuple[Cell, ...]]
    table = [(each.name, each.total, *each.ages.values()) for each in shapes]
    if table:
        sums = (sum(each.ages[age] for each in shapes) for age in AGES)
        table.insert(0, ("TOTAL", sum(each.total for each in shapes), *sums))
    output.table(("NAME", "T", *AGES), table, empty="no pending mail on this device")


def shapes_of(stamps: Iterable[tuple[str, str]], now: float) -> list[Shape]:
    """The names with their mail by age at now, that with the oldest first."""
    by_name: dict[str, list[str]] = {}
    for name, at in stamps:
        by_name.setdefault(name, []).append(at)
    shapes = [
        Shape(name, len(every), min(every), _ages(every, now))
        for name, every in by_name.items()
    ]
    return sorted(shapes, key=lambda shape: (shape.oldest, shape.name))


def _ages(stamps: list[str], now: float) -> dict[str, int]:
    """How many of the stamps fall into each column; a future one is the youngest."""
    # Stamps of one form are ordered as their text is: a hundred thousand take no time.
    some = sorted(stamps)
    below = [
        len(some)
        if bound is None
        else len(some) - bisect_right(some, rfc3339(now - bound))
        for bound in AGES.values()
    ]
    before = [0, *below[:-1]]
    return dict(
        zip(AGES, (b - a for a, b in zip(before, below, strict=True)), strict=True)
    )

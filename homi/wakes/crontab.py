"""A crontab expression as the sets of values that it means.

Owns the grammar of the five fields, as cron(8) has it; knows nothing of dates.
homi-wake(1) has the rules.
"""

import re
from datetime import date
from typing import NamedTuple

from homi.address import nearest, show
from homi.errors import Usage

LENGTH_MAX = 256  # characters of an expression
_MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = re.compile(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/([0-9]{1,3}))?", re.ASCII)
_SHORT = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class _Field(NamedTuple):
    """One of the five: its words, and from which to which number."""

    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()
    first: int = 0  # what the first word stands for


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS, 1),
    _Field("day of the week", 0, 7, _DAYS, 0),
)


class Crontab(NamedTuple):
    """When it fires, on a wall clock."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]  # of the month
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    every_hour: bool  # the field of the hour is *
    either: bool  # both fields of days are given: one of them is enough

    def on(self, day: date) -> bool:
        """Whether it fires on that day."""
        of_month = day.day in self.days
        of_week = day.isoweekday() % 7 in self.weekdays
        fits = of_month or of_week if self.either else of_month and of_week
        return fits and day.month in self.months


def parse(text: str) -> Crontab:
    """What an expression means; Usage (64) with the field that is wrong."""
    if len(text) > LENGTH_MAX:
        raise Usage(f"the expression has {len(text)} characters, {LENGTH_MAX} are read")
    fields = _SHORT.get(text.strip().lower(), text).split()
    if len(fields) != len(_FIELDS):
        near = nearest(text.strip().lower(), _SHORT) if "@" in text else None
        raise Usage(
            f"a cron expression has 5 fields, {show(text)} has {len(fields)}",
            hint=near or "minute hour day month weekday, as in '0 9 * * 1-5'",
        )
    sets = [_values(f, one) for f, one in zip(_FIELDS, fields, strict=True)]
    minutes, hours, days, months, weekdays = sets
    return Crontab(
        minutes,
        hours,
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        every_hour=fields[1] == "*",
        either=not fields[2].startswith("*") and not fields[4].startswith("*"),
    )


def _values(field: _Field, text: str) -> frozenset[int]:
    """The numbers that a field means."""
    found: set[int] = set()
    for part in text.lower().split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise _wrong(field, text)
        star, low, high, step = match.groups()
        if star:
            first, last = field.least, field.most
        else:
            first = _number(field, low, text)
            # As cron has it: a step behind a single number goes on to the last.
            last = field.most if step and not high else first
            last = _number(field, high, text) if high else last
        if first > last or (step is not None and int(step) == 0):
            raise _wrong(field, text)
        found.update(range(first, last + 1, int(step or 1)))
    return frozenset(found)


def _number(field: _Field, text: str, whole: str) -> int:
    """A number of a field, or one of its words."""
    if text in field.words:
        return field.words.index(text) + field.first
    if not text.isdecimal() or len(text) > 2:
        raise _wrong(field, whole)
    if not field.least <= int(text) <= field.most:
        raise _wrong(field, whole)
    return int(text)


def _wrong(field: _Field, text: str) -> Usage:
    """The refusal of a field."""
    words = f" or {field.words[0]}-{field.words[-1]}" if field.words else ""
    return Usage(
        f"the {field.name} cannot be {show(text)}",
        hint=f"{field.least}-{field.most}{words}, with * , - and /",
    )

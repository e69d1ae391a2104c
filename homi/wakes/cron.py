"""When a crontab expression fires in a time zone, over every change of its clock.

Owns the one use of APScheduler: it finds the next day and time on a clock that never
changes; where that is in the zone is decided here.  homi-wake(1) has the rules.
"""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger  # type: ignore[import-untyped]

from homi.wakes.crontab import Crontab, parse
from homi.wakes.words import zone_of

# The 29th of February may be eight years ahead, and no longer.
YEARS = timedelta(days=9 * 366)
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_TICK, _DAY = timedelta(microseconds=1), timedelta(days=1)
_LAST = datetime(9000, 1, 1, tzinfo=UTC)


class Cron:
    """One expression in one zone."""

    def __init__(self, text: str, zone: ZoneInfo) -> None:
        """Usage (64) where the expression is none."""
        self._tab = parse(text)
        self._zone = zone
        self._triggers = [_trigger(self._tab, *days) for days in _days(self._tab)]
        # Of a day it fires on: seconds since midnight.
        self._day = sorted(
            3600 * hour + 60 * minute
            for hour in self._tab.hours
            for minute in self._tab.minutes
        )

    def next(self, after: float) -> float | None:
        """The first time behind after, in seconds since the epoch; None: never."""
        first = self._from(after, 0)
        if not self._tab.every_hour:
            return first
        # Each hour means each hour that passes: what comes twice is had twice.
        again = self._from(after, 1)
        found = [each for each in (first, again) if each is not None]
        return min(found, default=None)

    def count(self, after: float, upto: float) -> int:
        """How many are behind after and not behind upto, by the calendar: where the
        clock changes between them it may be one or two off."""
        first, last = (datetime.fromtimestamp(t, self._zone) for t in (after, upto))
        day, total = max(first.date(), last.date() - YEARS), 0
        while day <= last.date():
            if self._tab.on(day):
                total += len(self._day)
                if day == first.date():
                    total -= bisect_right(self._day, _second(first))
                if day == last.date():
                    total -= len(self._day) - bisect_right(self._day, _second(last))
            day += _DAY
        return total

    def told(self, at: float) -> str:
        """What is said of one time it fires at, where the clock of the zone changes."""
        here = datetime.fromtimestamp(at, self._zone)
        before = datetime.fromtimestamp(at - 1, self._zone).utcoffset()
        offset = here.utcoffset()
        if before is not None and offset is not None and offset > before:
            gap = offset - before
            lost = here.replace(tzinfo=None) - gap
            if self._clock(lost - _TICK) != here.replace(tzinfo=None):
                return f"the clock goes from {lost:%H:%M} to {here:%H:%M} here"
        if here.replace(fold=0).utcoffset() != here.replace(fold=1).utcoffset():
            which = "second" if here.fold else "first"
            return f"{here:%H:%M} comes twice, this is the {which} time"
        return ""

    def _clock(self, after: datetime) -> datetime | None:
        """The next time on the zone's clock behind after, both without a zone."""
        start = after.replace(tzinfo=UTC) + _TICK
        if start > _LAST:
            return None
        found = []
        for trigger in self._triggers:
            trigger.end_date = start + YEARS
            when = trigger.get_next_fire_time(None, start)
            if when is not None:
                found.append(when.replace(tzinfo=None))
        return min(found, default=None)

    def _from(self, after: float, fold: int) -> float | None:
        """The first time behind after; fold: which of two equal times counts.

        What the clock leaves out counts when it goes on, but not for each hour.
        """
        here = datetime.fromtimestamp(after, self._zone)
        clock = here.replace(tzinfo=None, fold=0)
        if fold:
            # Times of the clock that are over may come again.
            clock -= _shift(here, self._zone)
        while (clock_next := self._clock(clock)) is not None:
            clock = clock_next
            at = _instant(clock, self._zone, fold)
            left_out = _left_out(clock, at, self._zone)
            if left_out and self._tab.every_hour:
                continue
            if left_out:
                at = _resumed(clock, self._zone)
            if at > after:
                return at
        return None


def cron(text: str, zone: str) -> Cron:
    """That expression in that zone; Usage (64) where one is none."""
    return Cron(text, zone_of(zone))


def _days(tab: Crontab) -> Iterator[tuple[str, str]]:
    """Days of the month and of the week, as one trigger takes them."""
    days = _listed(tab.days, 31)
    names = ",".join(_WEEKDAYS[day] for day in sorted(tab.weekdays))
    weekdays = names if len(tab.weekdays) < 7 else "*"
    if tab.either:
        yield days, "*"
        yield "*", weekdays
    else:
        yield days, weekdays


def _trigger(tab: Crontab, days: str, weekdays: str) -> CronTrigger:
    """A trigger of those days."""
    return CronTrigger(
        minute=_listed(tab.minutes, 60),
        hour=_listed(tab.hours, 24),
        day=days,
        month=_listed(tab.months, 12),
        day_of_week=weekdays,
        timezone=UTC,
    )


def _listed(values: frozenset[int], whole: int) -> str:
    """Numbers as a field of a trigger: as few words as may be, each is looked at."""
    if len(values) == whole:
        return "*"
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ",".join(f"{first}-{last}" for first, last in runs)


def _second(here: datetime) -> float:
    """Seconds since midnight on that clock."""
    return here.hour * 3600 + here.minute * 60 + here.second + here.microsecond / 1e6


def _instant(clock: datetime, zone: ZoneInfo, fold: int) -> float:
    """When the clock of the zone shows that."""
    return clock.replace(tzinfo=zone, fold=fold).timestamp()


def _shift(here: datetime, zone: ZoneInfo) -> timedelta:
    """By how much the clock will go, or went, back around here."""
    times = [_instant(here.replace(tzinfo=None), zone, fold) for fold in (0, 1)]
    return timedelta(seconds=max(times[1] - times[0], 0.0))


def _left_out(clock: datetime, at: float, zone: ZoneInfo) -> bool:
    """Whether the clock of the zone never shows that."""
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None, fold=0) != clock


def _resumed(clock: datetime, zone: ZoneInfo) -> float:
    """When the clock goes on that left that out: the moment of the change itself."""
    early = _instant(clock, zone, 1)
    late = _instant(clock, zone, 0)
    low, high = min(early, late), max(early, late)
    first = datetime.fromtimestamp(low, zone).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == first:
            low = middle
        else:
            high = middle
    return float(high)

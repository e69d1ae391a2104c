"""A daily window of quiet, by the clock on the wall of some place: pure.

Owns when such a window begins and ends, also in the nights in which clocks are
changed.  homi-legs(7) states it.
"""

import re
import zoneinfo
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

from homi.address import show
from homi.errors import Usage

_WINDOW = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)(?:@(.+))?", re.ASCII)
_HINT = "HH:MM-HH:MM, in another time zone HH:MM-HH:MM@Europe/Berlin"


class Quiet(NamedTuple):
    """From start to end each day, over midnight where end is the smaller."""

    start: time
    end: time
    zone: zoneinfo.ZoneInfo | None = None  # None: the zone of this machine

    def until(self, now: float) -> float | None:
        """Wall seconds of the end of the window that now is in; None: in none."""
        today = datetime.fromtimestamp(now, self.zone).date()
        for day in (today - timedelta(days=1), today):
            over = timedelta(days=1 if self.end < self.start else 0)
            # Of a time that comes twice in a night the window takes in both; one
            # that is skipped counts as if the clock had not been changed yet.
            start = self._at(day, self.start, 0)
            ends = [self._at(day + over, self.end, fold) for fold in (0, 1)]
            if start <= now < max(ends):
                return max(ends)
        return None

    def _at(self, day: date, at: time, fold: int) -> float:
        """That time of that day as wall seconds."""
        naive = datetime.combine(day, at).replace(fold=fold)
        return naive.replace(tzinfo=self.zone).timestamp()


def parse_window(text: str) -> Quiet:
    """HH:MM-HH:MM or HH:MM-HH:MM@ZONE; Usage (64) with what is wrong."""
    found = _WINDOW.fullmatch(text)
    if found is None:
        raise Usage(f"quiet: {show(text)} is no window of a day", hint=_HINT)
    *digits, zone = found.groups()
    try:
        start, end = (time(int(h), int(m)) for h, m in (digits[:2], digits[2:]))
    except ValueError:
        raise Usage(f"quiet: {show(text)} is no time of a day", hint=_HINT) from None
    if start == end:
        raise Usage(f"quiet: {show(text)} has no length", hint=_HINT)
    return Quiet(start, end, None if zone is None else _zone(zone))


def _zone(name: str) -> zoneinfo.ZoneInfo:
    """The time zone of that name, as this machine knows it."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise Usage(
            f"quiet: no time zone {show(name)} is known here",
            hint="one like Europe/Berlin or UTC; the machine has them in tzdata",
        ) from None

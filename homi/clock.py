"""Wall, monotonic and boot time, and the signs of a suspend.

Owns every reading of a clock; whoever decides takes `now` as an argument.
"""

import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_AGE = re.compile(r"(\d{1,9})([smhdw])", re.ASCII)
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


class Clock(Protocol):
    """What the daemon reads time from; tests pass one they can turn."""

    def wall(self) -> float:
        """Seconds since the epoch, by this device's clock; may step."""
        ...

    def monotonic(self) -> float:
        """Seconds that never step back and stand still in a suspend (Linux)."""
        ...

    def boot(self) -> float:
        """Seconds since boot, a suspend included, where the system has it."""
        ...


class SystemClock:
    """The clocks of the machine."""

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """CLOCK_MONOTONIC in seconds."""
        return time.monotonic()

    def boot(self) -> float:
        """CLOCK_BOOTTIME in seconds; the monotonic clock where there is none."""
        if hasattr(time, "CLOCK_BOOTTIME"):
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.monotonic()


def rfc3339(wall: float) -> str:
    """A wall time as RFC 3339 UTC with milliseconds: 2026-11-29T22:30:00.123Z."""
    stamp = datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds")
    return stamp.replace("+00:00", "Z")


def stamp_of(millis: int) -> str:
    """A moment in ms since the epoch as RFC 3339; empty where there is no such one."""
    return rfc3339(millis / 1000) if 0 < millis < 1 << 42 else ""


def parse_rfc3339(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time; ValueError when it is none."""
    return datetime.fromisoformat(text).timestamp()


def moment(text: str, now: float) -> float:
    """Seconds since the epoch of a time as a person writes it; ValueError if none.

    An age before now (90s, 15m, 3h, 2d, 1w), an RFC 3339 time, or a date and perhaps
    a time of day, which are local without a zone.  Nothing is before the epoch.
    """
    if found := _AGE.fullmatch(text):
        return max(0.0, now - int(found[1]) * _SECONDS[found[2]])
    try:
        return max(0.0, parse_rfc3339(text))
    except OverflowError:
        raise ValueError("out of range") from None


def span(text: str) -> float:
    """Seconds of a time as a person writes it (90s, 15m, 3h, 2d, 1w); ValueError if
    it is none."""
    found = _AGE.fullmatch(text)
    if found is None:
        raise ValueError("no number with a unit")
    return float(int(found[1]) * _SECONDS[found[2]])


def boot_id() -> str:
    """This boot's own name; empty where the system has none."""
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def age(seconds: float) -> str:
    """A span in its largest unit: 7s, 12m, 3h, 5d; never negative."""
    left = max(0, int(seconds))
    size, unit = next((pair for pair in _UNITS if left >= pair[0]), _UNITS[-1])
    return f"{left // size}{unit}"


class Stamps:
    """The time as postmarks have it; made once a millisecond, a hot path's cost."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is asked before now()."""
        self._clock = clock
        self._ms = self._second = -1  # of the last one
        self._stem = self._at = b""  # it, without and with milliseconds

    def now(self) -> bytes:
        """RFC 3339 of the wall clock now."""
        ms = int(self._clock.wall() * 1000)
        if ms != self._ms:
            self._ms = ms
            if ms // 1000 != self._second:
                self._second = ms // 1000
                self._stem = rfc3339(self._second)[:-4].encode()
            self._at = b"%b%03dZ" % (self._stem, ms % 1000)
        return self._at

"""Wall, monotonic and boot time, and the signs of a suspend.

Owns every reading of a clock; whoever decides takes `now` as an argument.
"""

import time
from datetime import UTC, datetime
from typing import Protocol


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


def parse_rfc3339(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time; ValueError when it is none."""
    return datetime.fromisoformat(text).timestamp()

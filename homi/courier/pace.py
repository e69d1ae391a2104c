"""How fast one sender's letters may go to one session, below the client's guard.

Pure: the caller says what time it is.  Owns the bucket and the rule about equal
contents; knows nothing of what waits.  homi-legs(7) has the figures.
"""

from collections.abc import Hashable

from homi.config import PACE_BURST, PACE_RATE

# The client drops a body equal to that sender's last one for 30 s.
EQUAL_GAP = 31.0

Process = tuple[int, str]  # pid and start time: one process for ever
Key = tuple[str, Process]  # what the client's guard counts by, and the session


class _Pour:
    """What one key still has: tokens at a moment, and the last content."""

    __slots__ = ("at", "content", "sent", "tokens")

    def __init__(self, now: float) -> None:
        self.tokens = float(PACE_BURST)
        self.at = now
        self.content: Hashable = None
        self.sent = float("-inf")

    def refill(self, now: float) -> None:
        """Add what time has earned, up to a burst."""
        gained = max(0.0, now - self.at) * PACE_RATE
        self.tokens = min(float(PACE_BURST), self.tokens + gained)
        self.at = now


class Pace:
    """A bucket for each sender and session; now is monotonic seconds."""

    def __init__(self) -> None:
        """Every bucket starts full."""
        self._pours: dict[Key, _Pour] = {}

    def wait(self, key: Key, content: Hashable, now: float) -> float:
        """Seconds until content may go; 0.0: now."""
        pour = self._pours.get(key)
        if pour is None:
            return 0.0
        pour.refill(now)
        # A hair of tolerance: a timer that fires on the very tick must find a token.
        short = 0.0 if pour.tokens > 1.0 - 1e-6 else (1.0 - pour.tokens) / PACE_RATE
        equal = pour.sent + EQUAL_GAP - now if pour.content == content else 0.0
        return max(short, equal, 0.0)

    def spend(self, key: Key, content: Hashable, now: float) -> None:
        """One letter with this content goes out now."""
        pour = self._pours.get(key)
        if pour is None:
            pour = self._pours[key] = _Pour(now)
        pour.refill(now)
        pour.tokens -= 1.0
        pour.content = content
        pour.sent = now

    def unsent(self, key: Key) -> None:
        """The last one did not arrive: its text may come again at once."""
        pour = self._pours.get(key)
        if pour is not None:
            pour.content = None

    def empty(self, key: Key, now: float) -> None:
        """The client itself said that this was too fast: start from nothing."""
        pour = self._pours.get(key)
        if pour is None:
            pour = self._pours[key] = _Pour(now)
        pour.refill(now)
        pour.tokens = min(pour.tokens, 0.0)

    def forget(self, process: Process) -> None:
        """The process is gone; its buckets are too."""
        for key in [key for key in self._pours if key[1] == process]:
            del self._pours[key]

"""How fast one sender's letters may go to one session, below the client's guard.

Pure: the caller says what time it is.  Owns the bucket and the rule about equal
contents; knows nothing of what waits.  homi-legs(7) has the figures.
"""

from collections.abc import Hashable

from homi.address import Name
from homi.config import PACE_BURST, PACE_RATE

# The client drops a body equal to that sender's last one for 30 s.
EQUAL_GAP = 31.0

Process = tuple[int, str]  # pid and start time: one process for ever
Key = tuple[str, Process]  # what the client's guard counts by, and the session


class _Pour:
    """What one key still has: tokens at a moment, and the last content."""

    __slots__ = ("at", "content", "sent", "tokens")

    def __init__(self, burst: int, now: float) -> None:
        self.tokens = float(burst)
        self.at = now
        self.content: Hashable = None
        self.sent = float("-inf")


class Pace:
    """A bucket for each sender and session; now is monotonic seconds."""

    def __init__(self, rate: float = PACE_RATE, burst: int = PACE_BURST) -> None:
        """Every bucket starts full: burst letters at once, then rate a second."""
        self.rate = rate
        self.burst = burst
        self._pours: dict[Key, _Pour] = {}

    def wait(self, key: Key, content: Hashable, now: float) -> float:
        """Seconds until content may go; 0.0: now."""
        pour = self._pours.get(key)
        if pour is None:
            return 0.0
        self._refill(pour, now)
        # A hair of tolerance: a timer that fires on the very tick must find a token.
        short = 0.0 if pour.tokens > 1.0 - 1e-6 else (1.0 - pour.tokens) / self.rate
        equal = pour.sent + EQUAL_GAP - now if pour.content == content else 0.0
        return max(short, equal, 0.0)

    def spend(self, key: Key, content: Hashable, now: float) -> None:
        """One letter with this content goes out now."""
        pour = self._pour(key, now)
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
        pour = self._pour(key, now)
        pour.tokens = min(pour.tokens, 0.0)

    def forget(self, process: Process) -> None:
        """The process is gone; its buckets are too."""
        for key in [key for key in self._pours if key[1] == process]:
            del self._pours[key]

    def _pour(self, key: Key, now: float) -> _Pour:
        """The key's bucket as it is now, a full one where it is new."""
        pour = self._pours.get(key)
        if pour is None:
            pour = self._pours[key] = _Pour(self.burst, now)
        self._refill(pour, now)
        return pour

    def _refill(self, pour: _Pour, now: float) -> None:
        """Add what time has earned, up to a burst."""
        gained = max(0.0, now - pour.at) * self.rate
        pour.tokens = min(float(self.burst), pour.tokens + gained)
        pour.at = now


class Paces:
    """The pace of every session, and beside it the slower ones of single names."""

    def __init__(self) -> None:
        """No name has one of its own yet."""
        self._common = Pace()
        self._own: dict[Name, Pace] = {}

    def wait(self, name: Name, key: Key, content: Hashable, now: float) -> float:
        """Seconds until content of name's mailbox may go; 0.0: now."""
        return max(pace.wait(key, content, now) for pace in self._of(name))

    def spend(self, name: Name, key: Key, content: Hashable, now: float) -> None:
        """One letter of name with this content goes out now."""
        for pace in self._of(name):
            pace.spend(key, content, now)

    def unsent(self, name: Name, key: Key) -> None:
        """The last one did not arrive: its text may come again at once."""
        for pace in self._of(name):
            pace.unsent(key)

    def empty(self, key: Key, now: float) -> None:
        """The client itself said that this was too fast."""
        self._common.empty(key, now)

    def forget(self, process: Process) -> None:
        """The process is gone."""
        for pace in (self._common, *self._own.values()):
            pace.forget(process)

    def choose(self, name: Name, rate: float, burst: int) -> None:
        """Hold name to a pace of its own; one that it has already goes on."""
        own = self._own.get(name)
        if (rate, burst) == (PACE_RATE, PACE_BURST):
            self._own.pop(name, None)
        elif own is None or (own.rate, own.burst) != (rate, burst):
            self._own[name] = Pace(rate, burst)

    def _of(self, name: Name) -> list[Pace]:
        """Every pace that name's letters are held to."""
        own = self._own.get(name)
        return [self._common] if own is None else [self._common, own]

"""Whether a session takes a message: its owner's policy, then the guard.

Figures and order are the client's own; a dropped message is gone.
"""

from typing import NamedTuple

BUCKET = 30  # messages of one sender at once
REFILL = 0.5  # a second
SAME = 30.0  # s in which the same body of one sender counts as a duplicate
WAITING = 50  # messages in the session's queue, over all senders


class _Sender:
    """What the guard remembers of one address."""

    def __init__(self, now: float) -> None:
        self.tokens = float(BUCKET)
        self.at = now
        self.last = ""
        self.last_at = -SAME


class Guard:
    """The client's own flood guard, one count per `from` address."""

    def __init__(self) -> None:
        self._senders: dict[str, _Sender] = {}

    def judge(self, sender: str, content: str, waiting: int, now: float) -> str:
        """The drop reason, empty when the message may pass."""
        one = self._senders.setdefault(sender, _Sender(now))
        one.tokens = min(BUCKET, one.tokens + (now - one.at) * REFILL)
        one.at = now
        if content == one.last and now - one.last_at < SAME:
            return "duplicate"
        if one.tokens < 1:
            return "rate-limited"
        if waiting >= WAITING:
            return "queue-full"
        one.tokens -= 1
        one.last, one.last_at = content, now
        return ""


class Policy(NamedTuple):
    """The settings that decide before the guard does."""

    inbound: str  # accept | hold | refuse, empty: parity of the modes
    mode: str  # prompting | bypass: the receiver's own

    def judge(self, sender_mode: str) -> str:
        """deliver, hold, park (no dialog) or refuse."""
        if self.inbound == "accept":
            return "deliver"
        if self.inbound == "hold":
            return "park"
        if self.inbound == "refuse":
            return "refuse"
        if self.mode == "bypass":
            return "deliver" if sender_mode == "bypass" else "hold"
        return "hold" if sender_mode == "bypass" else "deliver"

"""What one member of a room still has to get, in order, and how its last try ended.

Owns the pauses between tries; submits nothing.  What is here may be lost: it is made
again of the room's pending mail.
"""

import asyncio
from collections import Counter, deque

from homi.address import Name
from homi.config import QUOTA_BYTES, QUOTA_PENDING
from homi.envelope import Reason
from homi.errors import HomiError, NoSuchName
from homi.rooms.state import Member
from homi.store.mailbox import Item

RETRY_FIRST = 1.0  # s after a try that failed
RETRY_MAX = 60.0  # s
# What waits for one member: more of it would fill the room for all others.
LANE_MAX = QUOTA_PENDING // 2  # letters
LANE_BYTES = QUOTA_BYTES // 2
_REASONS = frozenset(Reason)


class Lane:
    """The copies for one member of one room: one is under way at a time."""

    __slots__ = (
        "bytes",
        "failures",
        "flying",
        "gone",
        "member",
        "missed",
        "reason",
        "room",
        "said",
        "timer",
        "todo",
        "unknown",
        "until",
    )

    def __init__(self, room: Name, member: Member) -> None:
        """Nothing waits."""
        self.room = room
        self.member = member
        self.todo: deque[Item] = deque()
        self.bytes = 0  # of their lines
        self.flying = False
        self.gone = False  # it is no member any more
        self.failures = 0
        self.reason: Reason | None = None  # of the last try
        self.until: float | None = None  # wall seconds of the next
        self.said: tuple[int, Reason] | None = None  # by the ledger: seq and reason
        self.timer: asyncio.TimerHandle | None = None
        # Of a member that gets notices: what came while it had not read the last,
        # by sender; more than that where an earlier run of homi counted.
        self.missed: Counter[str] = Counter()
        self.unknown = False

    @property
    def address(self) -> str:
        """Whom it leads to."""
        return self.member.address

    def add(self, item: Item) -> None:
        """One more is for the member."""
        self.todo.append(item)
        self.bytes += item.length

    def drop(self, item: Item) -> None:
        """It is no more to be done; nothing happens where it was none."""
        try:
            self.todo.remove(item)
        except ValueError:
            return
        self.bytes -= item.length

    def excess(self) -> Item | None:
        """The oldest that is not under way, where too much waits."""
        over = len(self.todo) > LANE_MAX or self.bytes > LANE_BYTES
        first = int(self.flying)
        return self.todo[first] if over and len(self.todo) > first else None

    def well(self) -> None:
        """A try was taken."""
        self.failures = 0
        self.reason = self.until = self.said = None

    def pause(self, reason: Reason, now: float) -> float:
        """A try failed; seconds until the next.  now: wall seconds."""
        wait = min(RETRY_FIRST * 2.0 ** min(self.failures, 16), RETRY_MAX)
        self.failures += 1
        self.reason, self.until = reason, now + wait
        return wait

    def wake(self) -> None:
        """Whatever it waited for may be over."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def end(self) -> None:
        """Nothing more goes out."""
        self.gone = True
        self.wake()


def reason_of(error: HomiError) -> Reason:
    """Why a try failed, in a word of the ledger."""
    told = error.reason or ""
    if told in _REASONS:
        return Reason(told)
    return Reason.NO_OWNER if isinstance(error, NoSuchName) else Reason.UNREACHABLE

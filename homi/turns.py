"""What counts of the traffic of agents: turns, chains, pairs, wakes.

Owns the lines of limits.jsonl and the counters they make; decides nothing.
homi-limits(7) has the fields.
"""

from collections import deque
from collections.abc import Callable

import msgspec

from homi.config import BRANCHED, TURNS
from homi.envelope import MessageId, Reason

DAY = 86_400.0  # s a pair's turns count, and a chain is known after its last
HOUR = 3_600.0  # s a wake counts

Pair = tuple[str, str]  # two addresses, the smaller first


class Turn(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="type",
    tag="turn",
):
    """A message of an agent, as it counts."""

    id: MessageId
    at: float  # wall seconds
    from_: str = msgspec.field(name="from")
    to: str
    chain: MessageId | None = None  # what it all began with; None: this began it
    n: int = 0  # of its chain; the beginning is 0
    after: MessageId | None = None  # the turn before it
    mark: str = ""  # of its text
    size: int = 0  # characters
    equal: bool = False  # to one of the six before it
    near: bool = False  # to the last one of its direction
    grown: int = 0  # times in a row that its direction doubled
    reason: Reason | None = None  # parked, and why

    @property
    def pair(self) -> Pair:
        """Whom it is between, whoever wrote it."""
        return pair_of(self.from_, self.to)


class Renewed(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="type",
    tag="renewed",
):
    """A person let a chain go on."""

    chain: MessageId
    at: float
    limit: int  # turns it may have in all
    fresh: int  # turns up to this one are compared with no more
    times: int  # that a person did so
    pairs: list[Pair] = []  # those that may have as many turns more
    parked: Reason | None = None  # since then; of a file written anew


class Cause(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="type",
    tag="cause",
):
    """What a session was given last: it causes what the session sends."""

    pid: int
    start: str
    id: MessageId | None = None  # None: nothing any more
    name: str = ""  # its mailbox


class Wake(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="wake"):
    """A turn of a session that a sender caused by its mail."""

    at: float
    from_: str = msgspec.field(name="from")
    name: str


Line = Turn | Renewed | Cause | Wake


class Sent(msgspec.Struct, frozen=True, gc=False):
    """A message that an agent sends, or one that answers a turn."""

    id: MessageId
    from_: str  # addresses as this device spells them
    to: str
    text: str
    cause: MessageId | None


class Counted(msgspec.Struct, frozen=True, gc=False):
    """What a device tells the next one of a turn that it counted."""

    chain: MessageId
    n: int
    limit: int


Turned = Callable[[MessageId], Counted | None]  # as which turn a message counts


class Chain(msgspec.Struct):
    """What grew out of one message."""

    limit: int = TURNS
    highest: int = 0
    count: int = 0  # of all its branches; without those that were parked
    last: MessageId | None = None  # the turn that reached it
    fresh: int = 0
    times: int = 0
    at: float = 0.0
    parked: Reason | None = None  # since it was renewed last

    @property
    def most(self) -> int:
        """Turns that all its branches may have together."""
        return BRANCHED * (1 + self.times)


class Talk(msgspec.Struct):
    """What two addresses had of each other."""

    last: str = ""  # who wrote last
    times: deque[float] = msgspec.field(default_factory=deque)
    grants: deque[float] = msgspec.field(default_factory=deque)

    def used(self, now: float) -> int:
        """Turns of the last day, less what a person granted."""
        for each in (self.times, self.grants):
            while each and each[0] <= now - DAY:
                each.popleft()
        return max(len(self.times) - TURNS * len(self.grants), 0)


def pair_of(one: str, other: str) -> Pair:
    """The pair of two addresses, in one order."""
    return (one, other) if one <= other else (other, one)

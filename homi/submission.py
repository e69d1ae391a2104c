"""A message at a door, what was measured of who brings it, and what became of it.

Owns what every door hands to the postmaster and gets back.  Decides nothing.
"""

from collections.abc import Callable

import msgspec

from homi import gate
from homi.address import POSTMASTER
from homi.clock import rfc3339
from homi.envelope import (
    LedgerLine,
    MessageId,
    Msg,
    Reason,
    Rung,
    SessionRef,
    Via,
    encode,
    origin,
)
from homi.errors import HomiError
from homi.turns import Counted


class Permit:
    """A person's word that one message may leave as it is."""

    __slots__ = ("by", "words")

    def __init__(self, by: str, words: str) -> None:
        """by: who, as the ledger keeps it; words: why."""
        self.by = by
        self.words = words

    def line(self, seq: int, message: MessageId, now: float) -> LedgerLine:
        """What the ledger keeps of it: from then on the message waits like any."""
        return LedgerLine(
            seq=seq,
            id=message,
            rung=Rung.STORED,
            at=rfc3339(now),
            by=self.by,
            allowed=self.words,
        )


class Stamp:
    """What a door measured about one connection, made ready for its postmarks."""

    __slots__ = (
        "came",
        "free",
        "hops",
        "json",
        "letters",
        "linked",
        "origin",
        "person",
        "process",
        "set_aside",
        "via",
    )

    def __init__(
        self,
        via: Via,
        session: SessionRef | None = None,
        hops: tuple[str, ...] = (),
    ) -> None:
        """Encode once; every line of the connection carries the same bytes.

        session: the one whose process it is.  hops: the devices its mail came over.
        """
        self.via = via
        self.hops = hops
        self.came = way(hops)
        self.letters: set[str] = set()  # senders whose plain letters are admitted
        self.linked = via.door == "link"
        # pid and start time: what a turn causes is told by them.
        self.process = None if session is None else (session.pid, session.start)
        self.person = via.door == "control" and via.verified and session is None
        # No bound counts its mail; whom a room's copies may wake the policy says.
        self.free = self.person or via.door in gate.FREE_DOORS - {gate.ROOM}
        self.json = encode(via)
        self.origin = origin(via)
        self.set_aside = False  # its mail is in quarantine: not a second time

    def following(self, generation: int) -> "Stamp":
        """The same of mail that follows its name to another device."""
        via = msgspec.structs.replace(self.via, moved=generation)
        made = Stamp(via, hops=self.hops)
        made.process, made.free = self.process, self.free
        made.set_aside = self.set_aside
        return made


def way(hops: tuple[str, ...]) -> bytes:
    """The field of a line that names the devices it came over; empty for none."""
    return b'"hops":%b,' % encode(hops) if hops else b""


class Result(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What became of a submission: kept, or the error that says why not."""

    id: MessageId
    kept: bool
    rung: Rung = Rung.STORED
    to: str = POSTMASTER  # a mailbox here, or an address with its device
    seq: int = 0
    duplicate: bool = False
    error: HomiError | None = None
    reason: Reason | None = None  # it is parked, and why


class Submission:
    """One message at a door.  done is called exactly once, on the loop."""

    __slots__ = (
        "clear",
        "done",
        "head",
        "hops",
        "msg",
        "permit",
        "stamp",
        "to",
        "told",
    )

    def __init__(
        self,
        head: Msg,
        msg: bytes,
        stamp: Stamp,
        to: str,
        done: Callable[[Result], None],
        hops: tuple[str, ...] = (),
    ) -> None:
        """head must be strict.parse_msg(msg); to is the address it is for; hops are
        the devices it came over, the sender's own first."""
        self.head = head
        self.msg = msg
        self.stamp = stamp
        self.to = to
        self.done = done
        self.hops = hops
        self.told: Counted | None = None  # as which turn another device counted it
        self.permit: Permit | None = None  # a person lets it out as it is
        self.clear = False  # it was scanned, and may leave

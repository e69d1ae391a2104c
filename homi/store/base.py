"""The store's contract: what the upper layers hand down and what they get back.

Two implementations stand behind it, store.store (disk) and store.memory (tests).
Knows nothing of who sends or receives.  homi-mailbox(5) states the promises.
"""

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from homi.address import Name
from homi.envelope import LedgerLine, Msg, Via
from homi.errors import HomiError
from homi.reports import PrunedRow
from homi.store.mailbox import Item, Mailbox

# Rows of what was removed, and what kept the archive from being read.
Pruned = Callable[[list[PrunedRow], OSError | None], None]


class Kept(Enum):
    """What became of a mail at the commit point."""

    STORED = "stored"  # its line is durable and stands in the inbox
    KNOWN = "known"  # this origin stored these very bytes under this id before
    CONFLICT = "conflict"  # this origin stored other bytes under this id before
    FAILED = "failed"  # not known to be stored; the same id is safe


_FAILED = Kept.FAILED  # of every new mail: asked of its class, a member costs more


class Mail:
    """One envelope on its way into a place.  done is called once, on the loop."""

    __slots__ = (
        "barred",
        "done",
        "head",
        "id",
        "item",
        "kept",
        "length",
        "msg",
        "offset",
        "origin",
        "place",
        "seq",
        "tail",
        "to",
        "via",
    )

    def __init__(
        self,
        place: Name,
        origin: str,
        head: Msg,
        via: Via,
        msg: bytes,
        tail: bytes,
        done: Callable[["Mail"], None],
    ) -> None:
        """tail: the line behind its seq, from '"at":' to the line feed."""
        self.place = place
        self.origin = origin
        self.head = head
        self.via = via
        self.id = head.id
        self.msg = msg
        self.tail = tail
        self.done = done
        self.barred = False  # answered if it is known, else FAILED: never stored
        self.kept = _FAILED
        self.seq = 0  # set when STORED or KNOWN
        self.offset = 0  # of its line in inbox.jsonl
        self.length = 0  # of its line, line feed included
        self.to = ""  # into an out queue: the whole address, as in tail
        self.item: Item | None = None  # what the mailbox made of it when STORED


class Store(Protocol):
    """Mailboxes and out queues on one commit point.  All calls and callbacks on the
    loop's thread."""

    def mailbox(self, name: Name) -> Mailbox:
        """The mailbox of name, or the out queue of that place; a new one touches the
        disk with its first line."""
        ...

    def known(self, name: Name) -> Mailbox | None:
        """The same where there is one; none is made."""
        ...

    def mailboxes(self) -> list[Mailbox]:
        """Every mailbox that exists on disk or in memory; no out queue."""
        ...

    def queues(self) -> list[Mailbox]:
        """Every out queue that exists on disk or in memory."""
        ...

    def submit(self, mail: Mail) -> None:
        """Commit mail; its done comes after its line is durable and in the inbox,
        and after the mailbox knows it.  Until then it is expected there, if it may
        be stored at all."""
        ...

    def record(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None] | None = None,
        *,
        durable: bool = False,
    ) -> None:
        """Append line to the ledger; n is given here.  The mailbox knows it when
        done(True) comes; done(False): the ledger cannot be written.  durable, or a
        rung in DECISIONS: done comes after the ring's sync."""
        ...

    def prune(self, names: list[Name], before: str, done: Pruned) -> None:
        """Remove the segments of these mailboxes in which all is finished and nothing
        is younger than before (RFC 3339), beside the mail, then done.  What grows is
        closed first if the store comes to rest soon."""
        ...

    def clear(self, before: float, done: Pruned) -> None:
        """Remove the blobs that are older than before and no mail names that is kept,
        or comes meanwhile; beside the mail, then done."""
        ...

    def closed(self) -> str:
        """Why accept is closed after a failed sync or write; empty while it is open."""
        ...

    def refusal(self, name: Name) -> HomiError:
        """What a sender is told whose mail for that place FAILED: the file, the fact
        and the fix, where they are known."""
        ...

    def free_bytes(self) -> int:
        """Free disk less what the ring still owes the journals; cached for 1 s."""
        ...

    def commits(self) -> tuple[int, float]:
        """How many commits there were since the start, and the seconds their syncs
        took."""
        ...

    def largest_line(self) -> int:
        """Bytes an inbox line may have; a longer one does not fit the ring."""
        ...

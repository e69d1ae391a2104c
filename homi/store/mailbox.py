"""What the loop knows of one mailbox: its pending mail and how far each got.

Owns the meaning of inbox and ledger lines.  Writes nothing: the committer does,
and tells it through arrived() and apply().  homi-mailbox(5) is the format.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from sys import intern

import msgspec

from homi.address import Device, Name
from homi.clock import parse_rfc3339
from homi.envelope import (
    FINISHED,
    Envelope,
    Kind,
    LedgerLine,
    MessageId,
    Msg,
    Reason,
    Rung,
    SessionRef,
    Via,
    decode_envelope,
)
from homi.errors import NoInput, StorageFailed
from homi.store.places import device_of, titled
from homi.store.standing import climbed, follow

FINISHED_KEPT = 10_000  # ids a mailbox still answers for after they left pending
_STORED = Rung.STORED  # of every new item: asked of its class, a member costs more
# Of what left an out queue: it is known to have been stored on the other device.
ONWARD = frozenset({Rung.RELAYED, Rung.OFFERED, Rung.SEEN, Rung.ANSWERED})

ReadLine = Callable[[int, int], bytes]  # (offset, length) of the inbox -> its bytes


class Item:
    """A pending envelope: its postmark, its place in the inbox, its rung."""

    __slots__ = (
        "at",
        "device",
        "from_",
        "id",
        "kind",
        "length",
        "link",
        "offset",
        "reason",
        "repeat",
        "reply_to",
        "rung",
        "sender",
        "seq",
        "session",
        "taken",
        "to",
        "ttl_s",
        "until",
        "via_repeat",
    )

    def __init__(
        self,
        seq: int,
        offset: int,
        length: int,
        head: Msg,
        via: Via,
        at: str,
        to: str = "",
    ) -> None:
        """A new one stands at STORED.  head needs no text."""
        self.seq = seq
        self.offset = offset
        self.length = length  # of its line, line feed included
        self.id = head.id
        # A thousand letters of one sender keep its name once.
        self.from_ = intern(head.from_)
        self.kind: Kind = head.kind
        self.reply_to = head.reply_to
        self.ttl_s = head.ttl_s  # seconds from at; None: it keeps
        self.device = via.device if via.device is None else intern(via.device)
        # The linked device it came by, which may not be its sender's own.
        self.link: Device | None = None
        if via.door == "link":
            self.link = Device(via.relay or via.device or "")
        # The lane, with the mailbox.
        self.sender = intern(f"{via.device or ''}/{head.from_}")
        self.via_repeat = via.repeat  # the sender may have sent it twice
        self.at = at  # RFC 3339
        self.to = to  # its mailbox; in an out queue the whole address
        self.rung = _STORED
        self.reason: Reason | None = None
        self.until: float | None = None  # wall seconds: no new try before
        self.session: SessionRef | None = None  # of the last hand-over
        self.taken = False  # it stands in that session's conversation
        self.repeat = False  # must carry the repeat mark if offered again

    @property
    def address(self) -> str:
        """The sender's address, as a reply would name it."""
        return self.from_ if self.device is None else f"{self.from_}@{self.device}"


class Mailbox:
    """The mail of a name, or for a device.  All calls on the loop's thread."""

    def __init__(self, name: Name, read_line: ReadLine) -> None:
        """Empty; read_line reads the inbox (OSError where it cannot)."""
        self.name = name
        self.device = device_of(name)  # of an out queue; None: a mailbox
        self.pending: dict[int, Item] = {}  # in seq order
        self.pending_bytes = 0
        self.coming = 0  # mails submitted and not answered: pending, perhaps, soon
        self.coming_bytes = 0
        self.last_seq = 0
        self.last_n = 0
        # What is finished and not kept here any more: its seq and rung.
        self.old: Callable[[MessageId], tuple[int, Rung] | None] = _forgotten
        # Of what is pending: who let a secret leave, and why.
        self.allowed: dict[int, tuple[str, str]] = {}
        self._read_line = read_line
        self._ids: dict[MessageId, Item] = {}
        self._twins: dict[MessageId, list[Item]] = {}  # two origins may use one id
        self._finished: dict[MessageId, tuple[int, Rung]] = {}
        self._order: deque[MessageId] = deque()

    def arrived(
        self,
        seq: int,
        offset: int,
        length: int,
        head: Msg,
        via: Via,
        at: str,
        to: str = "",
    ) -> Item:
        """Take note of a line the inbox now holds; its Item, at STORED.

        to: of an out queue the whole address.  One imported as finished is never
        pending.
        """
        # A thousand letters to one address keep it once.
        to = self.name if self.device is None else intern(to)
        item = Item(seq, offset, length, head, via, at, to)
        if via.was is not None and via.was.rung in FINISHED:
            self.remember(seq, head.id, via.was.rung)
            return item
        if via.parked is not None:
            item.rung, item.reason = Rung.PARKED, via.parked
        self.pending[seq] = item
        self.pending_bytes += length
        self.last_seq = seq
        if self._ids.setdefault(head.id, item) is not item:
            self._twins.setdefault(head.id, []).append(item)
        return item

    def expect(self, sign: int, length: int) -> None:
        """A mail is under way (1), or is about to be answered (-1)."""
        self.coming += sign
        self.coming_bytes += sign * length

    def apply(self, line: LedgerLine) -> None:
        """Follow one ledger line; of two about one envelope the later wins."""
        if line.n > self.last_n:
            self.last_n = line.n
        if line.member is not None:
            return  # one copy of a room's message says nothing of the whole
        item = self.pending.get(line.seq)
        if item is None:
            self._climb(line)
            return
        if line.rung in FINISHED:
            self._finish(item, line.rung)
            return
        follow(item, line)
        if line.allowed is not None:
            self.allowed[line.seq] = line.by or "", line.allowed
        item.until = seconds(line.until)

    def find(self, message: MessageId) -> Item | None:
        """The pending envelope of that id, the oldest of several; None if none."""
        return self._ids.get(message)

    def find_all(self, message: MessageId) -> list[Item]:
        """Every pending envelope of that id: each origin may use it once."""
        first = self._ids.get(message)
        return [] if first is None else [first, *self._twins.get(message, [])]

    def seq_of(self, message: MessageId) -> int | None:
        """Its seq, pending or finished; None where nobody knows it any more."""
        if found := self._ids.get(message):
            return found.seq
        ended = self._finished.get(message) or self.old(message)
        return ended[0] if ended else None

    def rung_of(self, message: MessageId) -> Rung | None:
        """Its rung, pending or finished; None where nobody knows it any more."""
        if found := self._ids.get(message):
            return found.rung
        ended = self._finished.get(message) or self.old(message)
        return ended[1] if ended else None

    def read(self, which: int | Item) -> Envelope:
        """The pending envelope from its inbox line; 66 unknown, 74 unreadable."""
        item = which if isinstance(which, Item) else self.pending.get(which)
        if item is None:
            raise NoInput(f"no pending envelope {which} in {titled(self.name)}")
        try:
            envelope = decode_envelope(self._read_line(item.offset, item.length))
        except (OSError, ValueError, RecursionError) as error:
            raise StorageFailed(
                f"cannot read envelope {item.seq} of {self.name}: {_short(error)}"
            ) from error
        if envelope.seq != item.seq:
            raise StorageFailed(
                f"envelope {item.seq} of {self.name} is not at its place"
            )
        return envelope

    def piece(self, offset: int, length: int) -> bytes:
        """Bytes of the inbox, fewer at its end; OSError where they cannot be read."""
        return self._read_line(offset, length)

    def known(self, messages: set[MessageId]) -> set[MessageId]:
        """Those that are pending, or among the last that were finished: of another it
        is told nothing, what is older stands in the files alone."""
        return (self._ids.keys() & messages) | (self._finished.keys() & messages)

    def onward(self, count: int) -> list[MessageId]:
        """So many of the last that went on to another device, the newest first; of
        what was finished since the start, for the most part."""
        went = (
            (seq, message)
            for message, (seq, rung) in self._finished.items()
            if rung in ONWARD
        )
        return [message for _, message in heapq.nlargest(count, went)]

    def finished(self) -> Iterator[MessageId]:
        """The ids kept of what is finished, oldest first."""
        return iter(self._finished)

    def remember(self, seq: int, message: MessageId, rung: Rung) -> None:
        """Keep the seq and rung of an envelope that is finished."""
        if seq > self.last_seq:
            self.last_seq = seq
        if message not in self._finished:
            self._order.append(message)
            if len(self._order) > FINISHED_KEPT:
                self._finished.pop(self._order.popleft(), None)
        self._finished[message] = (seq, rung)

    def recall(self, seq: int, message: MessageId, rung: Rung) -> None:
        """As remember(), but what is kept already stays as it is."""
        if message not in self._finished:
            self.remember(seq, message, rung)

    def doubt(self, item: Item) -> None:
        """It may have been handed over without a trace: it needs the repeat mark."""
        item.repeat = True

    def moved(self, places: Mapping[int, int]) -> None:
        """Lines stand at other offsets (seq to offset) after a repair of the inbox."""
        for seq, offset in places.items():
            if (item := self.pending.get(seq)) is not None:
                item.offset = offset

    def _finish(self, item: Item, rung: Rung) -> None:
        """Take the item out of pending, its id and seq kept."""
        del self.pending[item.seq]
        self.pending_bytes -= item.length
        if self.allowed:
            self.allowed.pop(item.seq, None)
        if self._twins and item.id in self._twins:
            self._untwin(item)
        else:
            del self._ids[item.id]
        self.remember(item.seq, item.id, rung)

    def _untwin(self, item: Item) -> None:
        """Take out one of several of an id; the oldest of the others is found then."""
        twins = self._twins[item.id]
        if self._ids[item.id] is not item:
            twins.remove(item)
        elif twins:
            self._ids[item.id] = twins.pop(0)
        else:
            del self._ids[item.id], self._twins[item.id]

    def _climb(self, line: LedgerLine) -> None:
        """A later line about a finished envelope may raise its rung, never end it."""
        ended = self._finished.get(line.id) or self.old(line.id)
        if ended is not None and ended[0] == line.seq:
            self.remember(line.seq, line.id, climbed(ended[1], line.rung))


def _forgotten(_message: MessageId) -> None:
    """Nobody keeps more than the mailbox itself."""


def stamp(tail: bytes) -> str:
    """The time in '"at":"2026-11-29T22:30:00.123Z","to":…', as the postmark has it."""
    return tail[6:30].decode("ascii")


def seconds(until: str | None) -> float | None:
    """A stamp of a ledger line in wall seconds; a broken one means no wait."""
    if until is None:
        return None
    try:
        return parse_rfc3339(until)
    except ValueError:
        return None


def _short(error: Exception) -> str:
    """What went wrong, in few words and without any of the message's bytes."""
    if isinstance(error, OSError):
        return error.strerror or "input/output error"
    return str(error) if isinstance(error, msgspec.DecodeError) else "damaged line"

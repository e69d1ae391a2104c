"""What the index keeps of a message and of a mailbox, and the sums that guard it.

Owns the columns of a message and the record of a mailbox; reads and writes nothing.
homi-mailbox(5) says what the index is for.
"""

import zlib
from typing import Generic, TypeVar

import msgspec

from homi.address import Name
from homi.envelope import (
    FINISHED,
    Kind,
    LedgerLine,
    MessageId,
    Reason,
    Rung,
    SessionRef,
    encode,
)
from homi.ids import halves
from homi.store.reading import EnvelopeHead, MsgHead
from homi.store.standing import climbed, follow

Session = TypeVar("Session")
Flag = TypeVar("Flag")


class _Columns(
    msgspec.Struct,
    Generic[Session, Flag],
    array_like=True,
    forbid_unknown_fields=True,
    eq=False,
    gc=False,
):
    """The columns of a message, in order.  A struct: what its fields may be is
    worked out once; that of a plain tuple would be anew for each row, and take forty
    times as long."""

    box: int
    seq: int
    segment: int
    offset: int
    length: int
    head: str
    tail: str
    sender: str
    device: str | None
    kind: Kind
    addressed: str
    dest: str
    thread: str | None
    reply_to: str | None
    at: str
    ttl: int | None
    again: int
    rung: Rung
    reason: Reason | None
    until: str | None
    session: Session | None
    changed: str
    taken: Flag
    repeat: Flag
    pending: Flag


class _Stored(_Columns[str, int], eq=False, gc=False):
    """A row as the table has it."""


COLUMNS = _Columns.__struct_fields__
SELECT = ", ".join(f"mail.{column}" for column in COLUMNS)
RUNG_AT = COLUMNS.index("rung")
_SESSION_AT = COLUMNS.index("session")
_INT_MAX = (1 << 63) - 1  # SQLite's integers end there

_session = msgspec.json.Decoder(SessionRef).decode


class Entry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One message as the index knows it: a hint, until its line was read."""

    name: Name
    seq: int
    segment: int  # 0: inbox.jsonl; else the archived segment, by its last seq
    offset: int  # of its line in that file
    length: int  # line feed included
    id: MessageId
    from_: str
    device: str | None
    kind: Kind
    addressed: str  # msg.to as the sender wrote it
    dest: str  # of an out queue: the whole address after aliases; else empty
    thread: str | None
    reply_to: MessageId | None
    at: str  # RFC 3339
    ttl_s: int | None
    rung: Rung
    reason: Reason | None
    until: str | None  # RFC 3339
    session: SessionRef | None
    changed: str  # RFC 3339: of its last ledger line, else its arrival
    pending: bool


class IndexedMsg(MsgHead, frozen=True, kw_only=True, gc=False):
    """The fields of msg that are indexed; its text has an index of its own."""

    to: object = None
    thread: object = None


class Head(EnvelopeHead, frozen=True, kw_only=True, gc=False):
    """An inbox line without the text.  Readable exactly where a mailbox reads it."""

    msg: IndexedMsg


decode_head = msgspec.json.Decoder(Head).decode


class Mark(msgspec.Struct):
    """How far a journal was indexed: its bytes from start to end have that sum.

    start: what stands before it is synced, and before its last line in any case.
    """

    start: int = 0
    end: int = 0
    crc: int = 0


class Closed(msgspec.Struct):
    """An archived pair of journals that was indexed to its end."""

    last: int  # its last seq: its name
    inbox: int  # bytes
    ledger: int


class Box(msgspec.Struct):
    """How far a mailbox was indexed, and the sums of what is pending in it."""

    name: Name
    num: int = 0
    inbox: Mark = msgspec.field(default_factory=Mark)
    ledger: Mark = msgspec.field(default_factory=Mark)
    segments: list[Closed] = msgspec.field(default_factory=list)
    runs: list[tuple[int, int, int]] = msgspec.field(default_factory=list)
    last_seq: int = 0
    last_n: int = 0
    total: int = 0  # messages
    pending: int = 0
    sum: int = 0  # of the pending rows, so that none can be lost unseen
    orphans: bool = False  # a ledger line told of an envelope not seen yet

    def count(self, row: "Row", sign: int) -> None:
        """Add a row to what is pending, or take it out again."""
        if row.pending:
            self.pending += sign
            self.sum = (self.sum + sign * row.check()) & _INT_MAX


class Row(_Columns[SessionRef, bool], eq=False, gc=False):
    """A message on its way into the index, or out of it."""

    @classmethod
    def new(
        cls, box: int, offset: int, length: int, of: Head, *, queued: bool
    ) -> "Row":
        """A message as it arrived, in an out queue or a mailbox."""
        msg, via, ttl = of.msg, of.via, of.msg.ttl_s
        head, tail = halves(msg.id)
        rung, reason, pending = Rung.STORED, via.parked, True
        if reason is not None:
            rung = Rung.PARKED
        if via.was is not None and via.was.rung in FINISHED:
            rung, pending = via.was.rung, False
        return cls(
            box=box,
            seq=of.seq,
            segment=0,
            offset=offset,
            length=length,
            head=head,
            tail=tail,
            sender=msg.from_,
            device=via.device,
            kind=msg.kind,
            addressed=msg.to if isinstance(msg.to, str) else "",
            dest=of.to if queued and isinstance(of.to, str) else "",
            thread=msg.thread if isinstance(msg.thread, str) else None,
            reply_to=msg.reply_to,
            at=of.at,
            ttl=None if ttl is None else max(-_INT_MAX, min(_INT_MAX, ttl)),
            again=int(via.repeat),
            rung=rung,
            reason=reason,
            until=None,
            session=None,
            changed=of.at,
            taken=False,
            repeat=False,
            pending=pending,
        )

    @classmethod
    def read(cls, values: tuple[object, ...]) -> "Row":
        """A row of the table, its columns in order; ValueError: none we wrote."""
        # SQLite keeps any type in any column: a flipped bit may have made another.
        found = msgspec.convert(values, _Stored)
        row = cls(*msgspec.structs.astuple(found))
        row.session = _session(found.session) if found.session else None
        row.taken, row.repeat = bool(found.taken), bool(found.repeat)
        row.pending = bool(found.pending)
        return row

    def apply(self, line: LedgerLine) -> None:
        """Follow one ledger line, as a mailbox does."""
        if line.member is not None:
            return
        if self.pending:
            follow(self, line)
            self.until = line.until
            self.pending = line.rung not in FINISHED
        elif line.id == self.head + self.tail:
            self.rung = climbed(self.rung, line.rung)
        self.changed = line.at

    def values(self) -> tuple[object, ...]:
        """Its columns in order, as the table takes them."""
        values = list(msgspec.structs.astuple(self))
        if self.session is not None:
            values[_SESSION_AT] = encode(self.session).decode()
        return tuple(values)

    def check(self) -> int:
        """A sum of what a mailbox needs of it, wherever its line stands."""
        values = self.values()
        return zlib.crc32(encode((values[1], *values[3:])))

    def entry(self, name: Name) -> Entry:
        """The row as others see it."""
        return _entry(self, name, self.session)


def entry_of(values: tuple[object, ...], name: Name) -> Entry:
    """A row of the table as others see it; ValueError: none we wrote."""
    found = msgspec.convert(values, _Stored)
    return _entry(found, name, _session(found.session) if found.session else None)


def _entry(
    row: _Columns[Session, Flag], name: Name, session: SessionRef | None
) -> Entry:
    """The row as others see it."""
    return Entry(
        name=name,
        seq=abs(row.seq),
        segment=row.segment,
        offset=row.offset,
        length=row.length,
        id=MessageId(row.head + row.tail),
        from_=row.sender,
        device=row.device,
        kind=row.kind,
        addressed=row.addressed,
        dest=row.dest,
        thread=row.thread,
        reply_to=None if row.reply_to is None else MessageId(row.reply_to),
        at=row.at,
        ttl_s=row.ttl,
        rung=row.rung,
        reason=row.reason,
        until=row.until,
        session=session,
        changed=row.changed,
        pending=bool(row.pending),
    )

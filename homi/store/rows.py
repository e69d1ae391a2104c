"""What the index keeps of a message and of a mailbox, and the sums that guard it.

Owns the columns of a message and the record of a mailbox; reads and writes nothing.
homi-mailbox(5) says what the index is for.
"""

import zlib

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


class _Columns(
    msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True, gc=False
):
    """A row of the table.  A struct: what its fields may be is worked out once, where
    that of a plain tuple would be anew for each row, for forty times as long."""

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
    session: str | None
    changed: str
    taken: int
    repeat: int
    pending: int


COLUMNS = _Columns.__struct_fields__
SELECT = ", ".join(f"mail.{column}" for column in COLUMNS)
RUNG_AT = COLUMNS.index("rung")
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


class Row:
    """A message on its way into the index, or out of it."""

    __slots__ = (*COLUMNS, "was")

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
    session: SessionRef | None
    changed: str
    taken: bool
    repeat: bool
    pending: bool

    @classmethod
    def new(
        cls, box: int, offset: int, length: int, of: Head, *, queued: bool
    ) -> "Row":
        """A message as it arrived, in an out queue or a mailbox."""
        row, msg = cls(), of.msg
        row.box, row.seq, row.segment = box, of.seq, 0
        row.offset, row.length = offset, length
        row.head, row.tail = halves(msg.id)
        row.sender, row.device, row.kind = msg.from_, of.via.device, msg.kind
        row.addressed = msg.to if isinstance(msg.to, str) else ""
        row.dest = of.to if queued and isinstance(of.to, str) else ""
        row.thread = msg.thread if isinstance(msg.thread, str) else None
        row.reply_to, row.at = msg.reply_to, of.at
        ttl = msg.ttl_s
        row.ttl = None if ttl is None else max(-_INT_MAX, min(_INT_MAX, ttl))
        row.again = int(of.via.repeat)
        row.rung, row.changed = Rung.STORED, of.at
        row.reason = row.until = row.session = None
        if of.via.parked is not None:
            row.rung, row.reason = Rung.PARKED, of.via.parked
        row.taken = row.repeat = False
        row.pending = True
        if of.via.was is not None and of.via.was.rung in FINISHED:
            row.rung, row.pending = of.via.was.rung, False
        return row

    @classmethod
    def read(cls, values: tuple[object, ...]) -> "Row":
        """A row of the table, its columns in order; ValueError: none we wrote."""
        row = cls()
        # SQLite keeps any type in any column: a flipped bit may have made another.
        typed = msgspec.structs.astuple(msgspec.convert(values, _Columns))
        for column, value in zip(COLUMNS, typed, strict=True):
            setattr(row, column, value)
        row.session = _session(str(row.session)) if row.session else None
        row.taken, row.repeat = bool(row.taken), bool(row.repeat)
        row.pending = bool(row.pending)
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
        session = encode(self.session).decode() if self.session else None
        return (
            self.box,
            self.seq,
            self.segment,
            self.offset,
            self.length,
            self.head,
            self.tail,
            self.sender,
            self.device,
            self.kind,
            self.addressed,
            self.dest,
            self.thread,
            self.reply_to,
            self.at,
            self.ttl,
            self.again,
            self.rung,
            self.reason,
            self.until,
            session,
            self.changed,
            self.taken,
            self.repeat,
            self.pending,
        )

    def check(self) -> int:
        """A sum of what a mailbox needs of it, wherever its line stands."""
        values = self.values()
        return zlib.crc32(encode((values[1], *values[3:])))

    def entry(self, name: Name) -> Entry:
        """The row as others see it."""
        return _entry(self, name, self.session)


def entry_of(values: tuple[object, ...], name: Name) -> Entry:
    """A row of the table as others see it; ValueError: none we wrote."""
    found = msgspec.convert(values, _Columns)
    return _entry(found, name, _session(found.session) if found.session else None)


def _entry(row: Row | _Columns, name: Name, session: SessionRef | None) -> Entry:
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

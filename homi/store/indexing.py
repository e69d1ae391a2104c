"""From the journals of a mailbox to its rows in the index, a step at a time.

Owns what a line changes in the index; each step is one transaction, in which the
positions are read again, so that several processes may index at once.
homi-mailbox(5) has the rules.
"""

import zlib

from homi.address import Name
from homi.envelope import decode_ledger
from homi.store import oldids
from homi.store.archive import Segment, segments
from homi.store.boxes import (
    Other,
    Pair,
    Source,
    close_segment,
    enter,
    forget,
    is_current,
    next_pair,
    open_pair,
    read_box,
    read_row,
    write_box,
)
from homi.store.database import Database
from homi.store.disk import Disk, read_all
from homi.store.lines import Unreadable, split
from homi.store.places import LEDGER, QUEUE, folder_of, inbox_in
from homi.store.reading import orphan, readable
from homi.store.rows import COLUMNS, RUNG_AT, SELECT, Box, Mark, Row, decode_head

STEP = 1 << 20  # bytes of an inbox a transaction takes: others get their turn soon
UNSYNCED = 8 << 20  # bytes a power cut may still change, and that are read to know
_INSERT = (
    f"INSERT INTO mail({','.join(COLUMNS)}) VALUES({','.join('?' * len(COLUMNS))})"
)
_UPDATE = (
    "UPDATE mail SET rung=?, reason=?, until=?, session=?, changed=?, taken=?,"
    " repeat=?, pending=? WHERE box=? AND seq=?"
)


class Step:
    """One transaction's worth of lines: read them, follow them, write the rows."""

    def __init__(
        self, db: Database, disk: Disk, box: Box, pair: Pair, closed: int
    ) -> None:
        """Inside a transaction, box as it was read in it; Other if it is about
        other bytes than those of pair.  closed: the newest segment's last seq."""
        self._db = db
        self._disk = disk
        self._box = box
        self._pair = pair
        self._new: dict[int, Row] = {}
        self._twins: list[Row] = []
        self._loaded: dict[int, Row] = {}
        self._findings: list[tuple[int, str, int, int | None, str]] = []
        self._closed = closed
        self._inbox = inbox_in(folder_of(box.name))
        if not pair.matches(disk, box):
            raise Other(box.name)

    def run(self, *, synced: bool = False) -> bool:
        """Index what comes next; whether there is more.  synced: what is read is on
        the disk for good."""
        inbox, ledger = self._box.inbox, self._box.ledger
        data, more = self._next(self._pair.inbox, inbox)
        for offset, line in split([data]):
            self._mail(inbox.end + offset, line)
        self._move(self._pair.inbox, inbox, data, synced=synced)
        data, rest = self._next(self._pair.ledger, ledger)
        for offset, line in split([data]):
            if not self._entry(ledger.end + offset, line, more=more):
                data = data[:offset]
                break
        self._move(self._pair.ledger, ledger, data, synced=synced)
        self._write()
        return more or rest

    def _mail(self, offset: int, line: bytes) -> None:
        """One line of the inbox."""
        box, head = self._box, readable(line, offset, decode_head)
        if isinstance(head, Unreadable):
            self._find(self._inbox, offset, head.text)
            return
        row = Row.new(box.num, offset, len(line) + 1, head, queued=self._inbox == QUEUE)
        if head.seq <= box.last_seq:
            text = f"envelope {head.seq} stands behind envelope {box.last_seq}"
            self._find(self._inbox, offset, text)
            if self._row(head.seq) is not None:
                row.seq, row.pending = -head.seq, False
                self._twins.append(row)
                return
        if box.orphans and self._is_orphan(head.seq):
            raise Other(box.name)
        box.last_seq = max(box.last_seq, head.seq)
        box.total += 1
        self._new[head.seq] = row

    def _entry(self, offset: int, line: bytes, *, more: bool) -> bool:
        """One line of the ledger; False: it is about an envelope further on."""
        box, entry = self._box, readable(line, offset, decode_ledger)
        if isinstance(entry, Unreadable):
            self._find(LEDGER, offset, entry.text)
            return True
        row = self._row(entry.seq)
        if row is None and more:
            return False
        box.last_n = max(box.last_n, entry.n)
        if row is not None:
            row.apply(entry)
        else:
            # About archived mail, which may be gone, it is not wrong; but should that
            # seq still come, the line was about it.
            text = orphan(entry.seq) if entry.seq > self._closed else ""
            box.orphans = True
            self._find(LEDGER, offset, text, entry.seq)
        return True

    def _row(self, seq: int) -> Row | None:
        """The message of that seq, in this step or before it."""
        row = self._new.get(seq) or self._loaded.get(seq)
        if row is None and seq <= self._box.last_seq:
            sql = f"SELECT {SELECT} FROM mail WHERE box=? AND seq=?"
            if found := self._db.one(sql, self._box.num, seq):
                row = self._loaded[seq] = read_row(found)
                self._box.count(row, -1)
        return row

    def _is_orphan(self, seq: int) -> bool:
        """Whether a line of this ledger told of that envelope before it was seen."""
        sql = "SELECT 1 FROM finding WHERE box=? AND seq=? AND journal=?"
        return bool(self._db.one(sql, self._box.num, seq, LEDGER))

    def _find(
        self, journal: str, offset: int, text: str, seq: int | None = None
    ) -> None:
        """Note what is wrong with a line; without a text that its envelope is missing
        and nobody need know."""
        self._findings.append((self._box.num, journal, offset, seq, text))

    def _next(self, source: Source, mark: Mark) -> tuple[bytes, bool]:
        """The whole lines behind the mark, a step of them; whether there are more."""
        left, want = source.size - mark.end, STEP
        while left > 0:
            data = read_all(self._disk, source.fd, min(want, left), mark.end)
            end = data.rfind(b"\n") + 1
            if end or want >= left:
                return data[:end], want < left
            want *= 2  # a line longer than a step
        return b"", False

    def _move(self, source: Source, mark: Mark, data: bytes, *, synced: bool) -> None:
        """Let the mark stand behind data, which comes next in that journal."""
        if not data:
            return
        if not synced and mark.end + len(data) - mark.start > UNSYNCED:
            self._disk.sync(source.fd)
            synced = True
        if synced:
            last = data.rstrip(b"\n").rfind(b"\n") + 1
            mark.start, mark.crc = mark.end + last, zlib.crc32(data[last:])
        else:
            mark.crc = zlib.crc32(data, mark.crc)
        mark.end += len(data)

    def _write(self) -> None:
        """The rows, the findings and the record of the mailbox."""
        box, db = self._box, self._db
        for row in (*self._new.values(), *self._loaded.values()):
            box.count(row, 1)
        fresh = [*self._new.values(), *self._twins]
        if fresh:
            db.many(_INSERT, (row.values() for row in fresh))
        if self._loaded:
            db.many(
                _UPDATE,
                (
                    (*row.values()[RUNG_AT:], row.box, row.seq)
                    for row in self._loaded.values()
                ),
            )
        oldids.extend(db, box.num, box.runs, (row.head + row.tail for row in fresh))
        if self._findings:
            db.many(
                "INSERT INTO finding(box, journal, offset, seq, text)"
                " VALUES(?, ?, ?, ?, ?)",
                self._findings,
            )
        write_box(db, box)


def advance(
    db: Database, disk: Disk, folder: str, name: Name, upto: tuple[int, int] | None
) -> tuple[int, bool]:
    """One step of a mailbox: bytes it took, and whether there is more to do.

    upto: no further than these ends of the journals that grow, up to which they are
    synced.
    """
    if upto is None and _is_done(db, disk, folder, name):
        return 0, False
    with db.transaction():
        box = enter(db, name)
        listed = segments(disk, folder)
        try:
            segment = next_pair(db, disk, folder, box)
            pair = open_pair(disk, folder, segment)
            try:
                return _step(db, disk, folder, box, pair, segment, upto)
            finally:
                pair.close(disk)
        except Other:
            # A segment that was closed meanwhile is a reason to look again.
            if segments(disk, folder) == listed:
                forget(db, name)
            return 0, True


def _step(
    db: Database,
    disk: Disk,
    folder: str,
    box: Box,
    pair: Pair,
    segment: Segment | None,
    upto: tuple[int, int] | None,
) -> tuple[int, bool]:
    """One step over one pair of journals."""
    if segment is None and upto is not None:
        pair = pair.limited(box, upto)
    before = pair.behind(box)
    closed = segment.last if segment else box.segments[-1].last if box.segments else 0
    step = Step(db, disk, box, pair, closed)
    more = step.run(synced=segment is not None or upto is not None)
    took = before - pair.behind(box)
    if segment is not None and not more:
        close_segment(db, disk, folder, box, segment)
        more = True
    return took, more


def _is_done(db: Database, disk: Disk, folder: str, name: Name) -> bool:
    """Whether there is nothing to index, told without a transaction."""
    box = read_box(db, name)
    if not is_current(disk, folder, box, segments(disk, folder)):
        return False
    pair = open_pair(disk, folder)
    try:
        return not pair.behind(box) and pair.matches(disk, box)
    finally:
        pair.close(disk)

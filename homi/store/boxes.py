"""How far the index got in each mailbox: the record of one, and its segments.

Owns what is compared with the disk before anything indexed is believed, and what
becomes of rows whose files moved or went.  homi-mailbox(5) has the rules.
"""

import os
import zlib
from typing import NamedTuple, TypeVar

import msgspec

from homi.address import Name
from homi.envelope import encode
from homi.store import oldids
from homi.store.archive import Segment, in_archive, segments
from homi.store.database import Broken, Database
from homi.store.disk import READ, Disk, read_all
from homi.store.places import LEDGER, folder_of, inbox_in, is_place
from homi.store.rows import Box, Closed, Entry, Mark, Row, entry_of

Values = TypeVar("Values")

_box = msgspec.json.Decoder(Box).decode


class Other(Exception):
    """What stands on disk is not what was indexed: the mailbox is indexed anew."""


class Source(NamedTuple):
    """A journal that is being read, as far as it reached at one moment."""

    fd: int  # -1: there is no such file
    size: int

    def limited(self, end: int) -> "Source":
        """The same no further than that byte."""
        return Source(self.fd, min(self.size, end))

    def matches(self, disk: Disk, mark: Mark) -> bool:
        """Whether the bytes that were indexed last stand there still."""
        if mark.end == 0:
            return True
        if self.size < mark.end:
            return False
        found = read_all(disk, self.fd, mark.end - mark.start, mark.start)
        return zlib.crc32(found) == mark.crc


class Pair(NamedTuple):
    """The inbox and the ledger that a mailbox's marks are about."""

    inbox: Source
    ledger: Source

    def matches(self, disk: Disk, box: Box) -> bool:
        """Whether both are what was indexed, as far as that goes."""
        return self.inbox.matches(disk, box.inbox) and self.ledger.matches(
            disk, box.ledger
        )

    def behind(self, box: Box) -> int:
        """Bytes that were not indexed, the ends without a line feed with them."""
        return abs(self.inbox.size - box.inbox.end) + abs(
            self.ledger.size - box.ledger.end
        )

    def limited(self, box: Box, upto: tuple[int, int]) -> "Pair":
        """The same no further than these ends, or than what is indexed already."""
        inbox, ledger = upto
        return Pair(
            self.inbox.limited(max(inbox, box.inbox.end)),
            self.ledger.limited(max(ledger, box.ledger.end)),
        )

    def close(self, disk: Disk) -> None:
        """Give the files back."""
        for source in self:
            if source.fd >= 0:
                disk.close(source.fd)


def open_pair(disk: Disk, folder: str, segment: Segment | None = None) -> Pair:
    """Both journals of a segment, or those that grow, as they stand now.  The ledger
    is measured first: a line there tells of an envelope that stood in the inbox."""
    inbox, ledger = inbox_in(folder), LEDGER
    if segment is not None:
        inbox, ledger = segment.inbox, segment.ledger
    second = _source(disk, os.path.join(folder, ledger))
    return Pair(_source(disk, os.path.join(folder, inbox)), second)


def read_box(db: Database, name: Name) -> Box:
    """The record of a mailbox; an empty one where there is none.  Broken: damaged."""
    found = db.one("SELECT num, state, crc FROM box WHERE name=?", name)
    if not found:
        return Box(name)
    num, state, crc = found
    try:
        box = _box(state)
    except (ValueError, TypeError) as error:
        raise Broken(f"the record of {name}") from error
    if zlib.crc32(state) != crc or (box.name, box.num) != (name, num):
        raise Broken(f"the record of {name}")
    return box


def read_row(values: tuple[object, ...]) -> Row:
    """A row of the table of messages; Broken where it is none of ours."""
    try:
        return Row.read(values)
    except (ValueError, TypeError) as error:
        raise Broken("a row") from error


def typed(values: object, kind: type[Values]) -> Values:
    """What SQLite gave, of that kind; Broken where it is another: it keeps any type in
    any column."""
    try:
        return msgspec.convert(values, kind)
    except (ValueError, TypeError) as error:
        raise Broken("a value") from error


def entries_of(rows: list[tuple[object, ...]]) -> list[Entry]:
    """Rows with the name of their mailbox in front; Broken where one is not ours."""
    if not all(isinstance(name, str) and is_place(name) for name, *_ in rows):
        raise Broken("a name")
    try:
        return [entry_of(row[1:], Name(str(row[0]))) for row in rows]
    except (ValueError, TypeError) as error:
        raise Broken("a row") from error


def write_box(db: Database, box: Box) -> None:
    """Keep the record of a mailbox."""
    state = encode(box)
    db.one(
        "UPDATE box SET state=?, crc=? WHERE num=?", state, zlib.crc32(state), box.num
    )


def enter(db: Database, name: Name) -> Box:
    """The record of a mailbox, made when it is new.  Inside a transaction."""
    box = read_box(db, name)
    if not box.num:
        db.one("INSERT INTO box(name, state, crc) VALUES(?, '', 0)", name)
        found = db.one("SELECT num FROM box WHERE name=?", name)
        (box.num,) = typed(found, tuple[int])
        write_box(db, box)
    return box


def forget(db: Database, name: Name) -> None:
    """Take a mailbox out of the index.  Inside a transaction."""
    found = db.one("SELECT num FROM box WHERE name=?", name)
    if not found:
        return
    for table in ("mail", "finding", "ids"):
        db.one(f"DELETE FROM {table} WHERE box=?", found[0])
    db.one("DELETE FROM box WHERE num=?", found[0])


def is_current(disk: Disk, folder: str, box: Box, listed: list[Segment]) -> bool:
    """Whether the closed segments are those that were indexed."""
    whole = [segment for segment in listed if segment.whole]
    if [segment.last for segment in whole] != [c.last for c in box.segments]:
        return False
    return [_measured(disk, folder, segment) for segment in whole] == box.segments


def next_pair(db: Database, disk: Disk, folder: str, box: Box) -> Segment | None:
    """The segment whose journals come next, None: those that grow.  Inside a
    transaction; Other where the archive is not what was indexed."""
    listed = [segment for segment in segments(disk, folder) if segment.whole]
    now = {segment.last: _measured(disk, folder, segment) for segment in listed}
    gone = [
        closed
        for closed in box.segments
        if (is_now := now.get(closed.last)) is None or closed.inbox > is_now.inbox == 0
    ]
    if gone:
        _prune(db, box, gone)
        box.segments = [now[c.last] for c in box.segments if c.last in now]
        write_box(db, box)
    for closed, segment in zip(box.segments, listed, strict=False):
        if closed != now[segment.last]:
            raise Other(box.name)
    return listed[len(box.segments)] if len(listed) > len(box.segments) else None


def close_segment(db: Database, disk: Disk, folder: str, box: Box, to: Segment) -> None:
    """All of a segment's lines are indexed: the marks go on to the next journals.
    Inside a transaction."""
    db.one("UPDATE mail SET segment=? WHERE box=? AND segment=0", to.last, box.num)
    # A line about an envelope of a closed segment is never wrong: it may be gone.
    db.one(
        "DELETE FROM finding WHERE box=? AND seq<=? AND journal=?",
        box.num,
        to.last,
        LEDGER,
    )
    for journal in (inbox_in(folder), LEDGER):
        db.one(
            "UPDATE finding SET journal=? WHERE box=? AND journal=?",
            in_archive(journal, to.last),
            box.num,
            journal,
        )
    box.segments.append(_measured(disk, folder, to))
    box.last_seq = max(box.last_seq, to.last)
    box.inbox, box.ledger = Mark(), Mark()
    write_box(db, box)


def _prune(db: Database, box: Box, gone: list[Closed]) -> None:
    """Forget the mail of segments that were removed."""
    for closed in gone:
        db.one("DELETE FROM mail WHERE box=? AND segment=?", box.num, closed.last)
        for journal in (inbox_in(folder_of(box.name)), LEDGER):
            db.one(
                "DELETE FROM finding WHERE box=? AND journal=?",
                box.num,
                in_archive(journal, closed.last),
            )
    (box.total,) = db.one("SELECT count(*) FROM mail WHERE box=? AND seq>0", box.num)
    db.one("DELETE FROM ids WHERE box=?", box.num)
    box.runs = []
    left = db.all("SELECT head || tail FROM mail WHERE box=?", box.num)
    messages = (message for (message,) in typed(left, list[tuple[str]]))
    oldids.extend(db, box.num, box.runs, messages)


def _measured(disk: Disk, folder: str, segment: Segment) -> Closed:
    """A segment with the sizes of its journals."""
    pair = open_pair(disk, folder, segment)
    pair.close(disk)
    return Closed(segment.last, pair.inbox.size, pair.ledger.size)


def _source(disk: Disk, path: str) -> Source:
    """A journal opened for reading; what cannot be opened is none."""
    try:
        fd = disk.open(path, READ)
    except OSError:
        return Source(-1, 0)
    return Source(fd, disk.size(fd))

"""Removing old segments of a mailbox: which may go, and in what order.

Owns what follows from the judgement of each, and the order of the removal; closes
nothing.  homi-mailbox(5) has both.
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from homi.address import Name
from homi.errors import StorageFailed
from homi.reports import PrunedRow
from homi.store.archive import ARCHIVE, Segment, segments
from homi.store.disk import Disk
from homi.store.judgement import Stays, judge
from homi.store.places import LEDGER, folder_of, inbox_in
from homi.store.whole import write_whole

DAY = 86_400  # s
LEAST = 30 * DAY  # ids are remembered that long: a repeat is known for one
USUAL = 90 * DAY


class Old(NamedTuple):
    """A segment that may go."""

    segment: Segment
    files: list[str]  # from the mailbox's folder, in the order of their removal
    messages: int
    size: int  # bytes
    # The newest of them stays as two files: an empty inbox, and a ledger of this.
    bearer: bytes | None = None
    grows: tuple[int, int] | None = None  # not closed yet: the ends of its journals

    @property
    def freed(self) -> int:
        """Bytes that its removal gives back."""
        return self.size - len(self.bearer or b"")


class Plan(NamedTuple):
    """What may go of one mailbox, the oldest first."""

    name: Name
    old: list[Old]
    note: str = ""  # why an old segment stays, and what is behind it

    @property
    def growing(self) -> Old | None:
        """The last of them, if it has to be closed first."""
        return self.old[-1] if self.old and self.old[-1].grows else None

    def without(self, note: str) -> "Plan":
        """The same if what grows cannot be closed, and why that is so."""
        return self._replace(old=_bearing(self.old[:-1]), note=note)

    def closed(self, last: int) -> "Plan":
        """The same once what grew is the segment that ends with seq last."""
        segment = self.old[-1].segment._replace(last=last)
        files = [segment.inbox, segment.ledger]
        old = self.old[-1]._replace(segment=segment, files=files, grows=None)
        return self._replace(old=[*self.old[:-1], old])

    def row(self, count: int) -> PrunedRow:
        """The first count of them as they are told."""
        gone = self.old[:count]
        note = self.note
        if gone and gone[-1].bearer is not None and not note:
            note = f"its numbers stay in {gone[-1].segment.ledger}"
        return PrunedRow(
            name=self.name,
            files=sum(len(one.files) for one in gone),
            messages=sum(one.messages for one in gone),
            bytes=sum(one.freed for one in gone),
            upto=gone[-1].segment.last if gone else 0,
            note=note,
        )


def plan(disk: Disk, root: str, names: Iterable[Name], before: str) -> list[Plan]:
    """What of these mailboxes may go: segments in which all is finished, and nothing
    was written at that time (RFC 3339) or later.  OSError: not readable.

    What grows is the last of them, and to be closed first.  The newest one leaves two
    files: sequences and numbers go on from there, and a later ledger line is known by
    them to be about mail that was here.
    """
    return [
        _settled(disk, os.path.join(root, folder_of(name)), name, before)
        for name in names
    ]


def _settled(disk: Disk, folder: str, name: Name, before: str) -> Plan:
    """What of one mailbox may go; judged again where a segment is closed meanwhile."""
    while True:
        listed = segments(disk, folder)
        found = _plan(disk, folder, name, before)
        if segments(disk, folder) == listed:
            return found


def _plan(disk: Disk, folder: str, name: Name, before: str) -> Plan:
    """What of one mailbox may go."""
    old, closed = list[Old](), segments(disk, folder)
    try:
        for segment in closed:
            old.append(_judge(disk, folder, segment, before))
        found = judge(disk, folder, inbox_in(folder), LEDGER, before)
    except Stays as stays:
        # What is behind it may tell of the mail in it.
        whole = len(old) == len(closed)
        return Plan(name, _bearing(old) if whole else _plain(old), str(stays))
    if not found.messages or (closed and found.last <= closed[-1].last):
        return Plan(name, _bearing(old))
    segment = Segment(found.last, whole=True, journal=inbox_in(folder))
    growing = Old(
        segment,
        [segment.inbox, segment.ledger],
        found.messages,
        sum(found.ends),
        found.bearer,
        found.ends,
    )
    return Plan(name, [*_plain(old), growing])


def _plain(old: list[Old]) -> list[Old]:
    """Segments of which none is the newest: they go as a whole."""
    return [one._replace(bearer=None) for one in old]


def _bearing(old: list[Old]) -> list[Old]:
    """Segments of which the last is the newest: it bears the numbers, and has nothing
    to give if it does so already."""
    if not old:
        return []
    newest = old[-1]
    goes = newest.segment.whole and newest.freed > 0
    return [*_plain(old[:-1]), *([newest] if goes else [])]


class Work:
    """A removal, and what came of it."""

    def __init__(self, disk: Disk, root: str) -> None:
        """Nothing is removed yet."""
        self._disk = disk
        self._root = root
        self.rows: list[PrunedRow] = []
        self.gone: dict[Name, list[int]] = {}  # segments, by mailbox

    def run(self, plans: Iterable[Plan]) -> "Work":
        """Remove what may go, all of it closed, durably.  Until the dedupe forgets the
        ids in it, mail under one of them fails, and the same id is safe."""
        for what in plans:
            gone = list[int]()
            error = self._remove(what, gone)
            if gone:
                self.gone[what.name] = gone
            row = what.row(len(gone))
            if error is not None:
                text = f"cannot remove all of it: {error.strerror or error}"
                row = replace(row, code=StorageFailed.code, error=text)
            if row.files or row.note or row.code:
                self.rows.append(row)
        return self

    def _remove(self, what: Plan, gone: list[int]) -> OSError | None:
        """Remove the files; gone: the segments of which one is gone at least.

        The inbox goes first: a ledger that is left alone says nothing to anybody, and
        goes the next time.
        """
        folder = os.path.join(self._root, folder_of(what.name))
        try:
            for old in what.old:
                for file in old.files:
                    self._take(os.path.join(folder, file), old)
                    if old.segment.last not in gone:
                        gone.append(old.segment.last)
                    self._disk.sync_dir(os.path.join(folder, ARCHIVE))
        except OSError as error:
            return error
        return None

    def _take(self, path: str, old: Old) -> None:
        """Remove one file, or what it need not bear."""
        if old.bearer is None:
            self._disk.unlink(path)
        else:
            kept = old.bearer if path.endswith(old.segment.ledger) else b""
            write_whole(self._disk, path, kept)


def _judge(disk: Disk, folder: str, segment: Segment, before: str) -> Old:
    """A closed segment with its measures; Stays if it may not go."""
    found = judge(disk, folder, segment.inbox, segment.ledger, before)
    files = [segment.inbox, segment.ledger]
    if not segment.whole:
        files = [segment.ledger]  # a removal that was cut short
        if not disk.exists(os.path.join(folder, segment.ledger)):
            raise Stays(f"{segment.inbox} has no ledger")
    return Old(segment, files, found.messages, sum(found.ends), found.bearer)

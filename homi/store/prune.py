"""Removing old closed segments of a mailbox: which may go, and in what order.

Owns the judgement, made over the files and not over the index, and the order of the
removal.  homi-mailbox(5) has both.
"""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from homi.address import Name
from homi.envelope import FINISHED, decode_ledger
from homi.errors import StorageFailed
from homi.reports import PrunedRow
from homi.store.archive import ARCHIVE, Segment, segments
from homi.store.disk import READ, Disk
from homi.store.journal import MAIL
from homi.store.lines import Unreadable, chunks, split
from homi.store.reading import readable
from homi.store.rows import decode_head

DAY = 86_400  # s
LEAST = 30 * DAY  # ids are remembered that long: a repeat is known for one
USUAL = 90 * DAY


class Old(NamedTuple):
    """A closed segment that may go."""

    segment: Segment
    files: list[str]  # from the mailbox's folder, in the order of their removal
    messages: int
    bytes: int


class Plan(NamedTuple):
    """What may go of one mailbox, the oldest first."""

    name: Name
    old: list[Old]
    note: str = ""  # why an old segment stays, and what is behind it

    def row(self, count: int) -> PrunedRow:
        """The first count of them as they are told."""
        gone = self.old[:count]
        return PrunedRow(
            name=self.name,
            files=sum(len(one.files) for one in gone),
            messages=sum(one.messages for one in gone),
            bytes=sum(one.bytes for one in gone),
            upto=gone[-1].segment.last if gone else 0,
            note=self.note,
        )


class _Stays(Exception):
    """A segment is not to be removed, and why; empty: it is not old enough."""


def plan(disk: Disk, root: str, names: Iterable[Name], before: str) -> list[Plan]:
    """What of these mailboxes may go: closed segments in which all is finished, and
    nothing was written at that time (RFC 3339) or later.  OSError: not readable.

    The newest one stays: sequences and numbers go on from it, and a later ledger line
    is known by it to be about mail that was here.
    """
    plans = []
    for name in names:
        folder = os.path.join(root, MAIL, name)
        old, note = list[Old](), ""
        for segment in segments(disk, folder)[:-1]:
            try:
                old.append(_judge(disk, folder, segment, before))
            except _Stays as stays:
                # What is behind it may tell of the mail in it.
                note = str(stays)
                break
        plans.append(Plan(name, old, note))
    return plans


class Work:
    """A removal, and what came of it."""

    def __init__(self, disk: Disk, root: str) -> None:
        """Nothing is removed yet."""
        self._disk = disk
        self._root = root
        self.rows: list[PrunedRow] = []
        self.gone: dict[Name, list[int]] = {}  # segments, by mailbox

    def run(self, names: Iterable[Name], before: str) -> "Work":
        """Remove what may go, durably.  Until the dedupe forgets the ids in it, mail
        under one of them fails, and the same id is safe."""
        for what in plan(self._disk, self._root, names, before):
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
        """Unlink the files; gone: the segments of which one is gone at least.

        The inbox goes first: a ledger that is left alone says nothing to anybody, and
        goes the next time.
        """
        folder = os.path.join(self._root, MAIL, what.name)
        try:
            for old in what.old:
                for file in old.files:
                    self._disk.unlink(os.path.join(folder, file))
                    if old.segment.last not in gone:
                        gone.append(old.segment.last)
                    self._disk.sync_dir(os.path.join(folder, ARCHIVE))
        except OSError as error:
            return error
        return None


def _judge(disk: Disk, folder: str, segment: Segment, before: str) -> Old:
    """The segment with its measures; _Stays if it may not go."""
    ended: set[int] = set()
    for at, seq, finished in _entries(disk, folder, segment):
        if at >= before:
            raise _Stays
        if finished:
            ended.add(seq)
    messages = 0
    for at, seq, finished in _messages(disk, folder, segment):
        messages += 1
        if at >= before:
            raise _Stays
        if not finished and seq not in ended:
            raise _Stays(f"message {seq} in {segment.inbox} is not finished")
    files = [segment.inbox, segment.ledger]
    if not segment.whole:
        files = [segment.ledger]  # a removal that was cut short
        if not disk.exists(os.path.join(folder, segment.ledger)):
            raise _Stays(f"{segment.inbox} has no ledger")
    size = sum(_size(disk, os.path.join(folder, file)) for file in files)
    return Old(segment, files, messages, size)


def _entries(
    disk: Disk, folder: str, segment: Segment
) -> Iterator[tuple[str, int, bool]]:
    """Of each ledger line: its time, its envelope, whether that is finished by it."""
    for offset, line in _lines(disk, folder, segment.ledger):
        entry = readable(line, offset, decode_ledger)
        if isinstance(entry, Unreadable):
            raise _Stays(f"{segment.ledger}: at offset {offset}: {entry.text}")
        yield entry.at, entry.seq, entry.rung in FINISHED


def _messages(
    disk: Disk, folder: str, segment: Segment
) -> Iterator[tuple[str, int, bool]]:
    """Of each envelope: its time, its seq, whether it was finished when it came."""
    for offset, line in _lines(disk, folder, segment.inbox):
        head = readable(line, offset, decode_head)
        if isinstance(head, Unreadable):
            raise _Stays(f"{segment.inbox}: at offset {offset}: {head.text}")
        was = head.via.was
        yield head.at, head.seq, was is not None and was.rung in FINISHED


def _lines(disk: Disk, folder: str, file: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a journal; none where there is no such file."""
    return split(chunks(os.path.join(folder, file), disk))


def _size(disk: Disk, path: str) -> int:
    """The length of a file."""
    fd = disk.open(path, READ)
    try:
        return disk.size(fd)
    finally:
        disk.close(fd)

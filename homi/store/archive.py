"""The closed segments of a mailbox, and where a line stands in all of its files.

Owns the names in archive/ and the one number that stands for a segment and an
offset.  Moves nothing.  homi-mailbox(5) is the format.
"""

import os
import re
from typing import NamedTuple

from homi.store.disk import Disk
from homi.store.places import LEDGER, inbox_in

ARCHIVE = "archive"
_NAME = re.compile(r"(inbox|queue|ledger)\.([0-9]{16})\.jsonl", re.ASCII)
_OFFSET_BITS = 40  # a file of a terabyte


class Segment(NamedTuple):
    """A closed pair of journals; last is the last seq in it, and names it."""

    last: int
    whole: bool  # both journals are there
    journal: str  # what the journal of its envelopes is called: inbox.jsonl

    @property
    def inbox(self) -> str:
        """Its envelopes, from the mailbox's folder."""
        return in_archive(self.journal, self.last)

    @property
    def ledger(self) -> str:
        """Its ledger, from the mailbox's folder."""
        return in_archive(LEDGER, self.last)


def in_archive(journal: str, last: int) -> str:
    """The name a journal has in the archive, from the mailbox's folder."""
    stem, _, end = journal.partition(".")
    return f"{ARCHIVE}/{stem}.{last:016}.{end}"


def segments(disk: Disk, folder: str) -> list[Segment]:
    """The closed segments of the mailbox in folder, the oldest first."""
    journal = inbox_in(folder)
    kinds = {_stem(journal), _stem(LEDGER)}
    found: dict[int, int] = {}
    for name in names(disk, folder):
        if (match := _NAME.fullmatch(name)) and match[1] in kinds:
            last = int(match[2])
            found[last] = found.get(last, 0) + 1
    return [Segment(last, count == 2, journal) for last, count in sorted(found.items())]


def newest(disk: Disk, folder: str, journal: str) -> tuple[int, str] | None:
    """Number and path of the newest closed journal of that kind; None without one."""
    kind = _stem(journal)
    found = [
        (int(match[2]), os.path.join(folder, ARCHIVE, name))
        for name in names(disk, folder)
        if (match := _NAME.fullmatch(name)) and match[1] == kind
    ]
    return max(found, default=None)


def names(disk: Disk, folder: str) -> list[str]:
    """What stands in the archive of the mailbox in folder."""
    path = os.path.join(folder, ARCHIVE)
    try:
        return disk.listdir(path) if disk.exists(path) else []
    except NotADirectoryError:
        return []


def place(segment: int, offset: int) -> int:
    """One number for a segment (0: none is closed) and an offset in its inbox."""
    return segment << _OFFSET_BITS | offset


def segment_of(where: int) -> int:
    """The segment of a place, 0 for the inbox that grows."""
    return where >> _OFFSET_BITS


def inbox_at(folder: str, where: int) -> tuple[str, int]:
    """The path of the inbox a place is in, and the offset there."""
    segment = where >> _OFFSET_BITS
    name = inbox_in(folder)
    if segment:
        name = in_archive(name, segment)
    return os.path.join(folder, name), where & ((1 << _OFFSET_BITS) - 1)


def _stem(journal: str) -> str:
    """The first part of a journal's name, which its closed ones have too."""
    return journal.partition(".")[0]

"""Whether all mail in a pair of journals is finished and old.

Owns the reading of both for that question, and nothing of what follows from it.
homi-mailbox(5) has the rule.
"""

import os
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from operator import le
from typing import NamedTuple, TypeVar

from homi.envelope import FINISHED, decode_ledger
from homi.store.disk import READ, Disk, read_all
from homi.store.lines import Unreadable, chunks, split
from homi.store.reading import Numbered, readable
from homi.store.rows import decode_head

GLANCE = 1 << 16  # bytes of an end, to see there that something is young

Record = TypeVar("Record", bound=Numbered)


class Stays(Exception):
    """A segment is not to be removed, and why; empty: it is not old enough."""


class Judged(NamedTuple):
    """A pair of journals that may go."""

    messages: int
    last: int  # the highest seq in it; 0: there is no message
    ends: tuple[int, int]  # bytes of its inbox and of its ledger
    bearer: bytes  # the last line of the ledger, which has its highest number


def judge(disk: Disk, folder: str, inbox: str, ledger: str, before: str) -> Judged:
    """The measures of a pair whose files are named from folder; Stays if it may not go.

    What is young is not old enough, whatever else is wrong with it.
    """
    paths = os.path.join(folder, inbox), os.path.join(folder, ledger)
    ends = _size(disk, paths[0]), _size(disk, paths[1])
    _glance(disk, paths, ends, before)
    trouble = list[str]()
    messages = last = 0
    open_ = array("q")  # a set of them would take a hundred bytes each
    for _, head in _records(disk, paths[0], inbox, decode_head, trouble):
        if head.at >= before:
            raise Stays
        messages, last = messages + 1, max(last, head.seq)
        was = head.via.was
        if was is None or was.rung not in FINISHED:
            open_.append(head.seq)
    seqs = open_ if all(map(le, open_, open_[1:])) else array("q", sorted(open_))
    ended, bearer = bytearray(len(seqs)), b""
    for line, entry in _records(disk, paths[1], ledger, decode_ledger, trouble):
        if entry.at >= before:
            raise Stays
        if entry.rung in FINISHED:
            begin = bisect_left(seqs, entry.seq)
            for at in range(begin, bisect_right(seqs, entry.seq, begin)):
                ended[at] = 1
        bearer = line
    if (at := ended.find(0)) >= 0:
        trouble.append(f"message {seqs[at]} in {inbox} is not finished")
    if trouble:
        raise Stays(trouble[0])
    return Judged(messages, last, ends, bearer + b"\n" if bearer else b"")


def _glance(
    disk: Disk, paths: tuple[str, str], ends: tuple[int, int], before: str
) -> None:
    """Stays where the last line of either is young: most are seen to be so."""
    lines = [_end(disk, path, end) for path, end in zip(paths, ends, strict=True)]
    head = readable(lines[0], 0, decode_head)
    entry = readable(lines[1], 0, decode_ledger)
    for found in (head, entry):
        if not isinstance(found, Unreadable) and found.at >= before:
            raise Stays


def _records(
    disk: Disk,
    path: str,
    name: str,
    decode: Callable[[bytes], Record],
    trouble: list[str],
) -> Iterator[tuple[bytes, Record]]:
    """The lines of a journal that can be read, with what they say; trouble: of the
    others.  None where there is no such file."""
    for offset, line in split(chunks(path, disk)):
        found = readable(line, offset, decode)
        if isinstance(found, Unreadable):
            trouble.append(f"{name}: at offset {offset}: {found.text}")
        else:
            yield line, found


def _end(disk: Disk, path: str, end: int) -> bytes:
    """The last line of a file of that length; empty where there is none."""
    if not end:
        return b""
    start = max(0, end - GLANCE)
    fd = disk.open(path, READ)
    try:
        found = list(split([read_all(disk, fd, end - start, start)]))
    finally:
        disk.close(fd)
    return found[-1][1] if found else b""


def _size(disk: Disk, path: str) -> int:
    """The length of a file, 0 where there is none."""
    if not disk.exists(path):
        return 0
    fd = disk.open(path, READ)
    try:
        return disk.size(fd)
    finally:
        disk.close(fd)

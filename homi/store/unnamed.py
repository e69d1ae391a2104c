"""Blobs that no kept message names: which those are.

Owns the reading for that question; removes nothing.  homi-prune(1) has the rule.
"""

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from homi.store import pickup, refusals
from homi.store.archive import segments
from homi.store.blobs import FOLDER
from homi.store.disk import Disk
from homi.store.lines import chunks, split
from homi.store.places import folder_of, inbox_in, places

# What is cut short has a hidden name: a part, one that was being made, one that was
# on its way out.
_OURS = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{16,64}\.(?:part|new|gone)", re.ASCII)
GONE = ".gone"
ROW = f"{FOLDER}/"  # what they are told as: no mailbox has that name
_DIGEST = re.compile(rb"[0-9a-f]{64}")
_OVERLAP = 63  # bytes of a name that may stand in the chunk before


class Unnamed(NamedTuple):
    """A file in blobs/ that may go."""

    name: str  # of the file
    size: int  # bytes
    at: float  # seconds since the epoch: its time


class _Msg(msgspec.Struct):
    """What is read of a message."""

    blobs: list[str] = []


class _Line(msgspec.Struct):
    """What is read of a line."""

    msg: _Msg


_read = msgspec.json.Decoder(_Line).decode


def unnamed(disk: Disk, root: str, before: float) -> list[Unnamed]:
    """The blobs, and what came of some, that are older than before and that no kept
    message names, the oldest first.  OSError: not readable."""
    old = sorted(_old(disk, root, before), key=lambda found: (found.at, found.name))
    if not old:
        return []
    candidates = {found.name for found in old}
    for name in named(disk, root):
        candidates.discard(name)
    return [found for found in old if found.name in candidates]


def awaited(names: Iterable[str]) -> str:
    """Why no blob goes: one may be what came with these names."""
    return f"kept for {', '.join(names)}: not all that moved here is in place"


def look(path: str) -> os.stat_result | None:
    """What is there; None where nothing is, or no file of its own."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _old(disk: Disk, root: str, before: float) -> Iterator[Unnamed]:
    """What is that old, whoever names it."""
    folder = os.path.join(root, FOLDER)
    if not disk.exists(folder):
        return
    if os.path.islink(folder):
        raise OSError(errno.ELOOP, "it is a symbolic link", folder)
    for name in disk.listdir(folder):
        if _OURS.fullmatch(name) is None:
            continue
        found = look(os.path.join(folder, name))
        if found and (found.st_mtime < before or name.endswith(GONE)):
            yield Unnamed(name, found.st_size, found.st_mtime)


def named(disk: Disk, root: str) -> Iterator[str]:
    """Every blob that is named by mail in a journal, in pickup/ or refused."""
    for place in places(disk, root):
        folder = os.path.join(root, folder_of(place))
        inbox = inbox_in(folder)
        yield from _in_journal(chunks(os.path.join(folder, inbox), disk))
        # Behind that: what is closed meanwhile stands in one of both at least.
        for segment in segments(disk, folder):
            yield from _in_journal(chunks(os.path.join(folder, segment.inbox), disk))
    for other in (pickup.FOLDER, refusals.FOLDER):
        folder = os.path.join(root, other)
        for name in disk.listdir(folder) if disk.exists(folder) else ():
            if look(path := os.path.join(folder, name)):
                yield from _digests(chunks(path, disk))


def _in_journal(data: Iterable[bytes]) -> Iterator[str]:
    """The blobs its lines name; of one that cannot be read, whatever looks so."""
    for _, line in split(data):
        # An escape may stand for any letter of the field's name.
        if b"blobs" not in line and b"\\u" not in line:
            continue
        try:
            yield from _read(line).msg.blobs
        except (ValueError, RecursionError):
            yield from _digests([line])


def _digests(data: Iterable[bytes]) -> Iterator[str]:
    """Whatever in it looks like the name of a blob."""
    rest = b""
    for chunk in data:
        rest += chunk
        for found in _DIGEST.finditer(rest):
            yield found[0].decode()
        rest = rest[-_OVERLAP:]

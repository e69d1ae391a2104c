"""What lies in quarantine/: entries, each with a short id that stays.

Owns the reading of refused.jsonl and of the files beside it.  Changes nothing.
homi-mailbox(5) has the folder.
"""

import base64
import hashlib
import os
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from homi.address import show
from homi.clock import rfc3339
from homi.envelope import VERSION, MessageId, Via
from homi.errors import NoInput, StorageFailed, ambiguous
from homi.store.disk import READ, Disk, RealDisk, read_all
from homi.store.lines import chunks, split

FOLDER = "quarantine"
REFUSED = "refused.jsonl"
DIGITS = 12  # of an id


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in quarantine; its fields are those of the JSON form."""

    id: str
    at: str  # RFC 3339
    reason: str
    text: str = ""  # the reason in words
    from_: str = msgspec.field(name="from", default="")
    to: str = ""
    message: str = ""  # its id, where it has one
    file: str = ""  # in quarantine/; empty: a line of refused.jsonl
    bytes: int  # of what was refused
    kept: bool = True  # false: only the fact was kept


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with its content, and where it came in."""

    entry: Entry
    data: bytes
    via: Via | None = None


class _Line(msgspec.Struct, kw_only=True):
    """A line of refused.jsonl; what else stands there is the postmark."""

    v: int = VERSION
    at: str
    reason: str
    size: int = 0
    id: str = ""
    to: str | None = None
    text: str = ""
    path: str = ""
    data: str | None = None
    base64: str | None = None


class _Sender(msgspec.Struct):
    """Who wrote what was refused, as far as it is a message."""

    id: MessageId = MessageId("")
    from_: str = msgspec.field(name="from", default="")
    to: str = ""


_decode = msgspec.json.Decoder(_Line).decode
_decode_sender = msgspec.json.Decoder(_Sender).decode


def entries(root: str, disk: Disk | None = None) -> Iterator[Kept]:
    """Everything in quarantine, oldest lines first and then the files."""
    disk = disk or RealDisk()
    folder = os.path.join(root, FOLDER)
    if not disk.exists(folder):
        return
    for _, line in split(chunks(os.path.join(folder, REFUSED), disk)):
        yield _of_line(line)
    for name in sorted(disk.listdir(folder)):
        if name != REFUSED and not name.startswith("."):
            yield _of_file(disk, folder, name)


def find(root: str, prefix: str, disk: Disk | None = None) -> Kept:
    """The entry whose id starts with prefix; 64 where that is true of several, 66 of
    none."""
    wanted = prefix.lower()
    if not wanted or not set(wanted) <= set("0123456789abcdef"):
        raise NoInput(
            f"no entry {show(prefix)}", hint="homi quarantine ls shows the ids"
        )
    found = {
        kept.entry.id: kept
        for kept in entries(root, disk)
        if kept.entry.id.startswith(wanted)
    }
    if len(found) > 1:
        raise ambiguous(wanted, *sorted(found))
    if not found:
        raise NoInput(
            f"no entry {wanted[:80]}", hint="homi quarantine ls shows the ids"
        )
    return found.popitem()[1]


def pick(root: str, ids: Iterable[str], disk: Disk | None = None) -> dict[str, Kept]:
    """The entries of these ids, by id; those that are gone are not in it."""
    wanted = frozenset(ids)
    found = (kept for kept in entries(root, disk) if kept.entry.id in wanted)
    return {kept.entry.id: kept for kept in found}


def id_of(line: bytes) -> str:
    """The id of a line of refused.jsonl, its line feed left out."""
    return hashlib.sha256(line).hexdigest()[:DIGITS]


def id_of_file(name: str) -> str:
    """The id of a file in quarantine."""
    return hashlib.sha256(b"file\0" + os.fsencode(name)).hexdigest()[:DIGITS]


def _of_line(line: bytes) -> Kept:
    """An entry from its line; one that cannot be read is an entry all the same."""
    try:
        found, extra = _decode(line), msgspec.json.decode(line)
    except (ValueError, RecursionError):
        entry = Entry(id=id_of(line), at="", reason="unreadable", bytes=len(line))
        return Kept(entry=entry, data=line)
    data = _content(found)
    sender = _sender(data)
    entry = Entry(
        id=id_of(line),
        at=found.at,
        reason=found.reason,
        text=found.text or (f"of {found.path}" if found.path else ""),
        from_=sender.from_,
        to=found.to or sender.to,
        message=found.id or sender.id,
        bytes=found.size,
        kept=bool(data),
    )
    return Kept(entry=entry, data=data, via=_via(extra))


def _of_file(disk: Disk, folder: str, name: str) -> Kept:
    """An entry from a file of its own; 74 where that cannot be read."""
    path = os.path.join(folder, name)
    try:
        fd = disk.open(path, READ)
        try:
            data = read_all(disk, fd, disk.size(fd), 0)
        finally:
            disk.close(fd)
        changed = os.stat(path).st_mtime
    except OSError as error:
        raise StorageFailed(f"cannot read {path}: {error.strerror}") from error
    entry = Entry(
        id=id_of_file(name),
        at=rfc3339(changed),
        reason="set-aside",
        text="cut out or set aside as a whole",
        file=name,
        bytes=len(data),
    )
    return Kept(entry=entry, data=data)


def _content(line: _Line) -> bytes:
    """The bytes that were refused; empty where they were not kept."""
    if line.data is not None:
        return line.data.encode()
    try:
        return base64.b64decode(line.base64 or "")
    except ValueError:
        return b""


def _sender(data: bytes) -> _Sender:
    """Who wrote it; nobody where it is no message."""
    try:
        return _decode_sender(data)
    except (ValueError, RecursionError):
        return _Sender()


def _via(fields: dict[str, Any]) -> Via | None:
    """The postmark beside a refusal; None where there is none."""
    try:
        return msgspec.convert(fields, Via)
    except (ValueError, TypeError):
        return None

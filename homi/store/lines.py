"""Lines of a journal as they stand on disk, and what is wrong with some of them.

Owns the split on byte 0x0A and the rule that an unterminated tail is no line.
Knows nothing of what a line says.  homi-mailbox(5) is the format.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

CHUNK = 1 << 20  # bytes a read: large enough that the read is not what it costs


class Finding(msgspec.Struct, frozen=True):
    """Something on disk that could not be read; it was left where it is."""

    path: str
    offset: int  # bytes from the start of the file; -1: the file as a whole
    text: str  # what is wrong, without any of the unreadable bytes


class Unreadable(msgspec.Struct, frozen=True):
    """A terminated line that is no record; never shown as text."""

    offset: int
    length: int  # bytes, line feed included
    text: str


class Reader(Protocol):
    """The calls by which journals are read; homi.store.disk.Disk has them."""

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        """As os.open."""
        ...

    def pread(self, fd: int, n: int, offset: int) -> bytes:
        """As os.pread."""
        ...

    def close(self, fd: int) -> None:
        """As os.close."""
        ...


class OsReader:
    """Reads by the system's own calls, never through a symbolic link."""

    pread = staticmethod(os.pread)
    close = staticmethod(os.close)

    @staticmethod
    def open(path: str, flags: int, mode: int = 0o600) -> int:
        """Open path itself; OSError (ELOOP) where it is a symbolic link."""
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def chunks(path: str, reader: Reader | None = None) -> Iterator[bytes]:
    """The bytes of path from its start; nothing where there is no such file."""
    reader = reader or OsReader()
    try:
        fd = reader.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        offset = 0
        while data := reader.pread(fd, CHUNK, offset):
            yield data
            offset += len(data)
    finally:
        reader.close(fd)


def split(data: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Every terminated line that is not blank: (its offset, it without line feed)."""
    offset, tail = 0, b""
    for chunk in data:
        if b"\n" not in chunk:
            # Joining once per line feed keeps a line longer than many chunks cheap
            # enough; a line is at most a few chunks long.
            tail += chunk
            continue
        parts = (tail + chunk).split(b"\n")
        tail = parts.pop()
        for line in parts:
            if line:
                yield offset, line
            offset += len(line) + 1


def read_line(path: str, offset: int, length: int, reader: Reader) -> bytes:
    """length bytes of path at offset, fewer at its end; OSError if unreadable."""
    fd = reader.open(path, os.O_RDONLY)
    try:
        data = reader.pread(fd, length, offset)
        while len(data) < length and (
            more := reader.pread(fd, length - len(data), offset + len(data))
        ):
            data += more
        return data
    finally:
        reader.close(fd)

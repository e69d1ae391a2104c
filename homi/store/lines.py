"""Lines of a journal as they stand on disk, and what is wrong with some of them.

Owns the split on byte 0x0A and the rule that an unterminated tail is no line.
Knows nothing of what a line says.  homi-mailbox(5) is the format.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from homi.store.disk import READ, Disk, read_all

FIRST = 8192  # bytes read at first of a line whose length is not known
CHUNK = 1 << 20  # bytes a read: large enough that the read is not what it costs


class Finding(msgspec.Struct, frozen=True):
    """Something on disk that could not be read; it was left where it is."""

    path: str
    offset: int  # bytes from the start of the file; -1: the file as a whole
    text: str  # what is wrong, without any of the unreadable bytes

    @property
    def shown(self) -> str:
        """The same as a line for a person."""
        place = "" if self.offset < 0 else f", byte {self.offset}"
        return f"{self.path}{place}: {self.text}"


class Unreadable(msgspec.Struct, frozen=True):
    """A terminated line that is no record; never shown as text."""

    offset: int
    length: int  # bytes, line feed included
    text: str


def chunks(path: str, disk: Disk, offset: int = 0) -> Iterator[bytes]:
    """The bytes of path from offset on; nothing where there is no such file."""
    try:
        fd = disk.open(path, READ)
    except FileNotFoundError:
        return
    try:
        while data := disk.pread(fd, CHUNK, offset):
            yield data
            offset += len(data)
    finally:
        disk.close(fd)


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


def holding(data: Iterable[bytes], wanted: bytes) -> Iterator[tuple[int, bytes]]:
    """As split(), but only the lines in which wanted stands."""
    offset, rest = 0, b""
    for chunk in data:
        # Where it stands nowhere in a chunk no line of it is looked at: that is a
        # hundred times faster than to read them.
        block, feed, rest = (rest + chunk).rpartition(b"\n")
        if wanted in block:
            for at, line in split([block + feed]):
                if wanted in line:
                    yield offset + at, line
        offset += len(block) + len(feed)


def line_at(read: Callable[[int], bytes]) -> bytes:
    """The line that read(so many bytes) begins with, line feed included; without one
    where it is torn."""
    size = FIRST
    while True:
        data = read(size)
        end = data.find(b"\n") + 1
        if end or len(data) < size:
            return data[:end] if end else data
        size *= 4


def read_line(disk: Disk, path: str, offset: int, length: int) -> bytes:
    """length bytes of path at offset, fewer at its end; OSError if unreadable."""
    fd = disk.open(path, READ)
    try:
        return read_all(disk, fd, length, offset)
    finally:
        disk.close(fd)

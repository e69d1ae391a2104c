"""The redo ring: one file, two halves, the commit point of all journals.

Owns the bytes of headers and records and which of them count.  Knows nothing of
journals but their names.  homi-mailbox(5) is the format.

A batch starts on a page of its own and no synced page is written again before its
half is freed, so a torn write can only hurt what was not yet promised.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from homi.errors import VersionMismatch
from homi.store.disk import WRITE, Disk, read_all, write_all
from homi.store.lines import Finding

PAGE = 4096
VERSION = 1
# 0xFF and 0x01 cannot stand in JSON text, so no message can look like a record.
MAGIC = b"\xffR\x01h"
_HEADER_MAGIC = b"\xffhomi\x01rg"
_HEADER = struct.Struct("<8sIQQ")  # magic, version, bytes of a half, generation
_RECORD = struct.Struct("<4sQQHI")  # magic, generation, sequence, name, line lengths
_CRC = struct.Struct("<I")
FIXED = _RECORD.size + _CRC.size
NAME_MAX = 1024
_ZEROS = bytes(PAGE)
_FILL = 1 << 20  # bytes a write when the file is made

pack_record = _RECORD.pack
pack_crc = _CRC.pack
crc32 = zlib.crc32


class Redo(NamedTuple):
    """A record that stands in the ring: a line and the journal it belongs to."""

    journal: str
    seq: int
    line: bytes
    generation: int


class Scan(NamedTuple):
    """What a ring holds at start."""

    records: list[Redo]
    top: int  # the highest generation that stands anywhere in it
    findings: list[Finding]


class Ring:
    """The open ring and where its next batch goes.  One caller at a time."""

    def __init__(self, disk: Disk, path: str, size: int) -> None:
        """Open the ring at path, made whole with size bytes if it is not there."""
        self._disk = disk
        self._path = path
        if not disk.exists(path):
            _create(disk, path, size)
        self._fd = disk.open(path, os.O_RDWR | os.O_NOFOLLOW)
        self.size = disk.size(self._fd)
        self.half_size = self._agreed_half()
        self.largest = self.half_size // 2  # bytes a record may have
        self.half = 0
        self.generations = [0, 0]
        self.free = [True, True]
        self.ends = [PAGE, PAGE]  # behind the last *synced* batch, in each half
        self._written = 0

    # ---- a batch ----

    @property
    def room(self) -> int:
        """Bytes of records that fit behind the last batch."""
        return self.half_size - self.ends[self.half]

    @property
    def owed(self) -> int:
        """Bytes of records whose journals no checkpoint has synced yet."""
        (one, two), ends = self.free, self.ends  # asked for every mail
        return (0 if one else ends[0] - PAGE) + (0 if two else ends[1] - PAGE)

    def write(self, parts: list[bytes], length: int) -> None:
        """Write a batch of records behind the last one; it counts after sync()."""
        rest = -length % PAGE
        if rest:
            # Whole pages: a partial one would have to be read from the disk first.
            parts.append(_ZEROS[:rest])
        self._written = length + rest
        self.free[self.half] = False
        at = self.half * self.half_size + self.ends[self.half]
        write_all(self._disk, self._fd, b"".join(parts), at)

    def sync(self) -> None:
        """Make the batch durable; from here on its records are to be redone."""
        self._disk.sync(self._fd)
        self.ends[self.half] += self._written
        self._written = 0

    # ---- halves ----

    def swap(self) -> int:
        """Go on in the other half, which must be free; the half left."""
        old = self.half
        self.half = 1 - old
        self.free[self.half] = False
        return old

    def put_header(self, half: int, generation: int) -> None:
        """Write the header of an empty half; it counts after sync_header()."""
        # The old records are dead from here on: never to be read back again.
        self.ends[half] = PAGE
        self.generations[half] = generation
        head = _HEADER.pack(_HEADER_MAGIC, VERSION, self.half_size, generation)
        page = (head + pack_crc(crc32(head))).ljust(PAGE, b"\0")
        write_all(self._disk, self._fd, page, half * self.half_size)

    def sync_header(self) -> None:
        """Make what put_header() wrote durable."""
        self._disk.sync(self._fd)

    def renew(self, above: int = 0) -> None:
        """Write new generations over both halves, not yet synced."""
        top = max(above, *self.generations)
        self._written = 0
        for half in (0, 1):
            self.put_header(half, top + 1 + half)

    def renewed(self) -> None:
        """Sync what renew() wrote: the ring is empty and open for records."""
        self._disk.sync(self._fd)
        self.half = 0
        self.free = [True, True]

    def close(self) -> None:
        """Give the file back."""
        self._disk.close(self._fd)

    # ---- reading ----

    def standing(self) -> list[Redo]:
        """The records of both halves up to the last synced batch of each."""
        found: list[Redo] = []
        for half in (0, 1):
            data = self._read(half, self.ends[half])
            found += [
                entry
                for entry in _records(data, PAGE)
                if isinstance(entry, Redo)
                and entry.generation == self.generations[half]
            ]
        return found

    def scan(self) -> Scan:
        """Everything at start: records that count, the top generation, damage."""
        scan = Scan([], 0, [])
        top = 0
        for half in (0, 1):
            data = self._read(half, self.half_size)
            base = half * self.half_size
            generation = self._generation(data[:PAGE], base, scan.findings)
            top = max(top, generation or 0)
            for entry in _records(data, PAGE):
                if isinstance(entry, Redo):
                    top = max(top, entry.generation)
                    if entry.generation == generation:
                        scan.records.append(entry)
                elif entry[1] == generation:
                    text = "a damaged record; it does not count"
                    scan.findings.append(Finding(self._path, base + entry[0], text))
        return Scan(scan.records, top, scan.findings)

    def _generation(
        self, page: bytes, base: int, findings: list[Finding]
    ) -> int | None:
        """The generation a header page names; None where its records are dead."""
        head = page[: _HEADER.size]
        if not any(page):
            return None
        if page[_HEADER.size : _HEADER.size + 4] != pack_crc(crc32(head)):
            text = "a damaged header; the records behind it do not count"
            findings.append(Finding(self._path, base, text))
            return None
        generation: int = _HEADER.unpack(head)[3]
        return generation

    def _agreed_half(self) -> int:
        """Bytes of a half: what a sound header says, else half of the file."""
        for guess in (0, self.size // 2):
            page = read_all(self._disk, self._fd, PAGE, guess)
            head = page[: _HEADER.size]
            if page[_HEADER.size : _HEADER.size + 4] != pack_crc(crc32(head)):
                continue
            magic, version, half_size, _ = _HEADER.unpack(head)
            if magic == _HEADER_MAGIC and version != VERSION:
                raise VersionMismatch(
                    f"{self._path} has version {version}, this homi knows {VERSION}",
                    hint="start and stop the homi that wrote it: that empties it",
                )
            if magic == _HEADER_MAGIC:
                return int(half_size)
        return self.size // 2 // PAGE * PAGE

    def _read(self, half: int, n: int) -> bytes:
        """The first n bytes of a half."""
        return read_all(self._disk, self._fd, n, half * self.half_size)


def frame(name: bytes, seq: int, line: bytes, generation: int) -> bytes:
    """A record as it stands in the ring."""
    head = pack_record(MAGIC, generation, seq, len(name), len(line)) + name
    return head + line + pack_crc(crc32(line, crc32(head)))


def resize(ring: Ring, disk: Disk, path: str, size: int) -> Ring:
    """The empty ring with another size; the old one stays until the new stands."""
    if ring.size == size:
        return ring
    generation = max(ring.generations)
    ring.close()
    _create(disk, path, size)
    fresh = Ring(disk, path, size)
    fresh.renew(generation)
    fresh.renewed()
    return fresh


def _create(disk: Disk, path: str, size: int) -> None:
    """A file of zeros under a temporary name, synced, then named: never partial."""
    new = f"{path}.new"
    if disk.exists(new):
        disk.unlink(new)
    fd = disk.open(new, WRITE)
    try:
        block = bytes(_FILL)
        for at in range(0, size, _FILL):
            write_all(disk, fd, block[: size - at], at)
        disk.sync(fd)
    finally:
        disk.close(fd)
    disk.rename(new, path)
    disk.sync_dir(os.path.dirname(path))


def _records(data: bytes, at: int) -> Iterator[Redo | tuple[int, int]]:
    """Record after record; behind a bad one on from the next page.

    A record that looks like one but is damaged comes as (offset, generation).
    """
    size = len(data)
    while at + FIXED <= size:
        if data[at : at + 4] != MAGIC:
            at = (at // PAGE + 1) * PAGE
            continue
        _, generation, seq, name_len, line_len = _RECORD.unpack_from(data, at)
        name_at = at + _RECORD.size
        line_at = name_at + name_len
        crc_at = line_at + line_len
        end = crc_at + _CRC.size
        if (
            name_len > NAME_MAX
            or end > size
            or data[crc_at:end] != pack_crc(crc32(memoryview(data)[at:crc_at]))
        ):
            yield at, generation
            at = (at // PAGE + 1) * PAGE
            continue
        name = data[name_at:line_at].decode("utf-8", "replace")
        yield Redo(name, seq, data[line_at:crc_at], generation)
        at = end

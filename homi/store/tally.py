"""A file of counted things: a line each, appended as they happen.

Owns the bytes; knows nothing of what is counted.  A line is in the page cache before
append() returns, so that the death of the process loses none; only a power cut may
take the last ones, which count then as never sent.  homi-mailbox(5).
"""

import contextlib
import logging
import os
from collections.abc import Iterable

from homi.errors import StorageFailed
from homi.store.disk import WRITE, Disk, write_all
from homi.store.lines import Finding, chunks, split
from homi.store.quarantine import Quarantine
from homi.store.whole import put_aside, remedy, write_whole

log = logging.getLogger("homi.store")


class Tally:
    """One such file, for one writer."""

    def __init__(self, path: str, disk: Disk) -> None:
        """Neither read nor written yet."""
        self.path = path
        self.lines = 0  # in the file
        self._disk = disk
        self._fd = -1
        self._end = 0
        self._lead = b""  # a stump in front must not spoil the next line

    def read(self) -> list[tuple[int, bytes]]:
        """Every terminated line with its offset; empty where there is no file.  74
        where the disk has one and does not give it."""
        try:
            found = list(split(chunks(self.path, self._disk)))
        except OSError as error:
            text = f"cannot read {self.path}: {error.strerror}"
            raise StorageFailed(text, hint=remedy(self.path, error)) from error
        self.lines = len(found)
        return found

    def clear(self) -> list[Finding]:
        """Move what stands in the place of the file and is none aside; what that was.
        For its writer, in front of read()."""
        try:
            put = put_aside(self._disk, self.path)
        except OSError as error:
            text = f"cannot move {self.path} aside: {error.strerror}"
            raise StorageFailed(text) from error
        text = f"no file; moved aside as {put}"
        return [Finding(self.path, -1, text)] if put else []

    def append(self, line: bytes, *, durable: bool = False) -> bool:
        """Put line, without line feed, behind the last; False: the disk took it not.

        durable: it outlives the power, too.
        """
        try:
            if self._fd < 0:
                self._open()
            data = self._lead + line + b"\n"
            self._lead = b"\n"
            write_all(self._disk, self._fd, data, self._end)
            self._lead = b""
            self._end += len(data)
            self.lines += 1
            if durable:
                self._disk.sync(self._fd)
                self._disk.sync_dir(os.path.dirname(self.path))
        except OSError as error:
            log.warning("%s: %s: counted in memory only", self.path, error.strerror)
            return False
        return True

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Let the file hold these lines and no other; where that fails it stays."""
        kept = list(lines)
        self.close()
        try:
            write_whole(self._disk, self.path, b"".join(line + b"\n" for line in kept))
        except OSError as error:
            log.warning("%s: %s: not written anew", self.path, error.strerror)
        else:
            self.lines = len(kept)

    def set_aside(self, offset: int) -> Finding:
        """Keep a copy of a file with an unreadable line there before it is written
        anew."""
        data = b"".join(chunks(self.path, self._disk))
        keeper = Quarantine(os.path.dirname(self.path), self._disk)
        kept = "nowhere, the disk takes nothing"
        with contextlib.suppress(OSError):
            kept = keeper.keep(os.path.basename(self.path), data)
        return Finding(self.path, offset, f"unreadable; a copy is {kept}")

    def close(self) -> None:
        """Give the file back; the next append opens it again."""
        if self._fd >= 0:
            self._disk.close(self._fd)
        self._fd = -1

    def _open(self) -> None:
        """Go on behind what stands there."""
        self._fd = self._disk.open(self.path, WRITE)
        self._end = self._disk.size(self._fd)
        last = self._disk.pread(self._fd, 1, self._end - 1) if self._end else b"\n"
        self._lead = b"" if last == b"\n" else b"\n"

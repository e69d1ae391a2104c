"""Where refused and unreadable bytes are kept, with the reason.

Owns quarantine/: one file of refusals and one file for each piece that was cut
out of a journal or set aside.  Deletes nothing, ever.  homi-mailbox(5).
"""

import base64
import hashlib
import logging
import os
import re
import threading
from collections.abc import Iterator
from typing import Any

import msgspec

from homi.clock import Clock, SystemClock, rfc3339
from homi.envelope import VERSION
from homi.store.disk import READ, WRITE, Disk, write_all
from homi.store.lines import CHUNK, split
from homi.store.refusals import FOLDER, REFUSED, id_of, id_of_file
from homi.store.whole import write_whole

log = logging.getLogger(__name__)

# Bytes of free disk below which only the fact of a refusal is kept: whoever sends
# rubbish must not be able to take the room that accepted mail still needs.
ROOM = 32 << 20
_OUTSIDE = re.compile(r"[^A-Za-z0-9._-]+")


class Quarantine:
    """The folder quarantine/ of one state root; usable from any thread."""

    def __init__(self, root: str, disk: Disk, clock: Clock | None = None) -> None:
        """Touches the disk with the first thing kept."""
        self._root = root
        self._folder = os.path.join(root, FOLDER)
        self._disk = disk
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()

    def refuse(self, reason: str, data: bytes, about: dict[str, Any]) -> bool:
        """Add a line on what was refused and why; whether the disk took it.

        Never raises for a disk that is full or broken: the refusal itself stands.
        """
        line: dict[str, Any] = {key: _sound(value) for key, value in about.items()}
        line |= {
            "v": VERSION,
            "at": rfc3339(self._clock.wall()),
            "reason": reason,
            "size": len(data),
        }
        try:
            if self._disk.free(self._root) < ROOM:
                line["sha256"] = hashlib.sha256(data).hexdigest()
            else:
                line |= _shown(data)
            with self._lock:
                self._append(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            log.error("refused (%s), and not kept: %s", reason, error.strerror)
            return False
        return True

    def keep(self, label: str, data: bytes) -> str:
        """Keep data durably in a file of its own; its path.  OSError if it cannot.

        The name holds a hash of data, so that a repeated start keeps it once.
        """
        digest = hashlib.sha256(data).hexdigest()[:16]
        name = _OUTSIDE.sub("-", label).strip("-.")[:100] or "piece"
        path = os.path.join(self._folder, f"{name}.{digest}")
        with self._lock:
            self._disk.mkdir(self._folder)
            self._disk.sync_dir(self._root)
            write_whole(self._disk, path, data)
        return path

    def remove(self, ids: frozenset[str]) -> None:
        """Take the entries of these ids away, durably; OSError if it cannot.

        Whoever refuses something meanwhile waits for the end of it only.
        """
        disk, folder = self._disk, self._folder
        if not disk.exists(folder):
            return
        for name in disk.listdir(folder):
            if name != REFUSED and id_of_file(name) in ids:
                disk.unlink(os.path.join(folder, name))
        path = os.path.join(folder, REFUSED)
        if disk.exists(path):
            self._rewrite(path, ids)
        disk.sync_dir(folder)

    def _rewrite(self, path: str, ids: frozenset[str]) -> None:
        """Let another file without these lines take the place of refused.jsonl."""
        disk, hidden = self._disk, os.path.join(self._folder, f".{REFUSED}.tmp")
        source = disk.open(path, READ)
        target = disk.open(hidden, WRITE | os.O_TRUNC)
        try:
            read, written = self._copy(source, target, (0, 0), ids)
            with self._lock:
                read, written = self._copy(source, target, (read, written), ids)
                stump = disk.pread(source, max(0, disk.size(source) - read), read)
                write_all(disk, target, stump, written)
                disk.sync(target)
                disk.rename(hidden, path)
        finally:
            disk.close(source)
            disk.close(target)

    def _copy(
        self, source: int, target: int, at: tuple[int, int], ids: frozenset[str]
    ) -> tuple[int, int]:
        """Copy whole lines but those of ids; how far both files are then."""
        start, written = at
        read = start
        for offset, line in split(self._chunks(source, start)):
            read = start + offset + len(line) + 1
            if id_of(line) not in ids:
                write_all(self._disk, target, line + b"\n", written)
                written += len(line) + 1
        return read, written

    def _chunks(self, fd: int, offset: int) -> Iterator[bytes]:
        """The bytes of a file from offset on."""
        while data := self._disk.pread(fd, CHUNK, offset):
            yield data
            offset += len(data)

    def _append(self, line: bytes) -> None:
        """Put line behind the last one; a stump in front must not spoil it."""
        disk = self._disk
        disk.mkdir(self._folder)
        fd = disk.open(os.path.join(self._folder, REFUSED), WRITE)
        try:
            end = disk.size(fd)
            if end and disk.pread(fd, 1, end - 1) != b"\n":
                line = b"\n" + line
            write_all(disk, fd, line, end)
        finally:
            disk.close(fd)


def _sound(value: object) -> object:
    """value as JSON can hold it: half characters become escapes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def _shown(data: bytes) -> dict[str, str]:
    """data as JSON can hold it: as text where it is UTF-8, else in base64."""
    try:
        return {"data": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}

"""Where the lines of an old id stand, asked only when such an id comes again.

Owns the way back from a hint to lines that were read: by the index, and through the
files themselves where that does not know.  homi-mailbox(5) states the rule.
"""

import os

from homi.address import Name
from homi.envelope import MessageId, Rung, decode_envelope, decode_msg, origin
from homi.errors import StorageFailed
from homi.store.archive import inbox_at, place, segments
from homi.store.disk import READ, Disk, read_all
from homi.store.index import Index
from homi.store.lines import chunks, holding, line_at
from homi.store.places import folder_of


class Reminder:
    """The lines of old mail by origin and id.  One caller at a time."""

    def __init__(self, root: str, disk: Disk) -> None:
        """Opens nothing before it is asked."""
        self._root = root
        self._disk = disk

    def places(self, name: str, source: str, message: str) -> list[int]:
        """Where the lines of that origin and id stand; each was read there.

        OldIds said that there is a line of that id: where the index shows none, the
        files are searched.  That takes time, and no mail is stored twice.
        """
        folder = os.path.join(self._root, folder_of(Name(name)))
        with Index.open(self._root, self._disk) as index:
            hints = [] if index.in_memory else index.places(Name(name), message)
        ids = {where: self._ident(folder, where) for where in hints}
        if not hints or any(one is None or one[1] != message for one in ids.values()):
            return self._search(folder, source, message)
        return [where for where, one in ids.items() if one == (source, message)]

    def _ident(self, folder: str, where: int) -> tuple[str, str] | None:
        """Origin and id of the line at that place; None where it is no mail."""
        try:
            return _ident(closed_line(self._disk, folder, where))
        except OSError:
            return None

    def _search(self, folder: str, source: str, message: str) -> list[int]:
        """The places by the files alone, every one of them read."""
        wanted, found = message.encode("utf-8", "replace"), list[int]()
        for last in (*(one.last for one in segments(self._disk, folder)), 0):
            path, _ = inbox_at(folder, place(last, 0))
            found += [
                place(last, offset)
                for offset, line in holding(chunks(path, self._disk), wanted)
                if _ident(line) == (source, message)
            ]
        return found


class Finished:
    """Seq and rung of what is finished and no longer in memory.  For one thread."""

    def __init__(self, root: str, disk: Disk) -> None:
        """Opens nothing before it is asked."""
        self._root = root
        self._disk = disk
        self._index: Index | None = None

    def of(self, name: Name, message: MessageId) -> tuple[int, Rung] | None:
        """Those of that message, whose line was read; None where it is not known."""
        try:
            if self._index is None:
                self._index = Index.open(self._root, self._disk)
            for entry in self._index.find(message, [name]):
                if entry.id == message and not entry.pending:
                    self._index.line(entry)
                    return entry.seq, entry.rung
        except StorageFailed:
            return None
        return None

    def close(self) -> None:
        """Give the index back; it is opened again when something is asked."""
        if self._index is not None:
            self._index.close()
        self._index = None


def closed_line(disk: Disk, folder: str, where: int) -> bytes:
    """The line at a place, line feed included; without one where it is torn."""
    path, offset = inbox_at(folder, where)
    fd = disk.open(path, READ)
    try:
        return line_at(lambda size: read_all(disk, fd, size, offset))
    finally:
        disk.close(fd)


def _ident(line: bytes) -> tuple[str, str] | None:
    """Origin and id of an inbox line; None where it is none."""
    try:
        envelope = decode_envelope(line)
        return origin(envelope.via), decode_msg(envelope.msg).id
    except (ValueError, RecursionError):
        return None

"""Append-only files of numbered lines, many of them, few held open.

Owns the bytes of a journal, its end, its last sequence, and the promise in
append().  Knows nothing of mail.  homi-mailbox(5) is the format.
"""

import errno
import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from homi.config import JOURNALS_OPEN
from homi.store.archive import newest
from homi.store.disk import READ, WRITE, Disk, read_all, write_all
from homi.store.fault import Hook
from homi.store.places import (
    LEDGER,
    folder_of,
    inbox_of,
    ledger_of,
    place_of,
    places,
)
from homi.store.reading import SEQ_MAX

WINDOW = 1 << 20  # bytes read backwards at a time to find what a ring names
GLANCE = 1 << 14  # to find the last sequence: a start looks at thousands of journals

# What stands there is no file of ours, and stays so until a person mends it.
UNUSABLE = frozenset(
    {
        errno.EISDIR,
        errno.ENOTDIR,
        errno.ELOOP,
        errno.EINVAL,
        errno.ENXIO,
        errno.EACCES,
        errno.EPERM,
    }
)


class _Inbox(msgspec.Struct, gc=False):
    """All a journal wants to know of an inbox line."""

    seq: int


class _Ledger(msgspec.Struct, gc=False):
    """All a journal wants to know of a ledger line."""

    n: int


_decode_inbox = msgspec.json.Decoder(_Inbox).decode
_decode_ledger = msgspec.json.Decoder(_Ledger).decode


class Line(NamedTuple):
    """Where a terminated line stands; seq is 0 where it cannot be read."""

    start: int
    end: int  # behind its line feed
    seq: int


class Journal:
    """One journal as the committer knows it.  Changed by Journals only."""

    __slots__ = ("broken", "end", "fd", "last", "lead", "name", "new", "path", "tag")

    def __init__(self, root: str, name: str) -> None:
        """name: relative to the state root, as the ring's records carry it."""
        self.name = name
        self.tag = name.encode()
        self.path = os.path.join(root, name)
        self.fd = -1
        self.end = 0
        self.last = 0  # the last sequence given
        self.lead = True  # the next line brings a line feed of its own
        self.new = False  # its directories may not know it yet
        self.broken = False  # owed, doubted or unusable: nothing goes in now

    @property
    def folder(self) -> str:
        """The folder it is in."""
        return os.path.dirname(self.path)

    @property
    def is_ledger(self) -> bool:
        """Whether its lines are numbered by n; else by seq."""
        return self.name.endswith(LEDGER)


class Journals:
    """Every journal of a state root.  One caller at a time: the committer."""

    def __init__(
        self, disk: Disk, root: str, hook: Hook | None = None, limit: int = 0
    ) -> None:
        """limit: how many are held open; 0 is the daemon's own bound."""
        self.disk = disk
        self.root = root
        self._hook = hook
        self._limit = limit or JOURNALS_OPEN
        self._all: dict[str, Journal] = {}
        self.barred: dict[str, OSError] = {}  # by name: why it cannot be opened
        self._open: OrderedDict[Journal, None] = OrderedDict()

    def get(self, name: str) -> Journal:
        """The journal of that name; touches no disk."""
        journal = self._all.get(name)
        if journal is None:
            journal = self._all[name] = Journal(self.root, name)
        return journal

    def at(self, point: str) -> None:
        """A place where a test may have the process killed."""
        if self._hook is not None:
            self._hook(point)

    def append(self, journal: Journal, data: bytes) -> int:
        """Write all of it behind the end; the offset of its first byte.

        A short write is finished, never given up.  After an OSError what was
        written stands at the end, and the next line leads with a line feed.
        """
        fd = self.fd(journal)
        if (size := self.disk.size(fd)) != journal.end:
            if size < journal.end:
                # Lines we answered for are gone: the ring may still hold them.
                raise OSError(errno.EIO, "another hand has cut it")
            journal.end, journal.lead = size, True
        if journal.lead and journal.end:
            # A stump in front, of a crash or a failed write, must not spoil this line.
            data = b"\n" + data
            first = journal.end + 1
        else:
            first = journal.end
        journal.lead = False
        if self._hook is not None:
            half = len(data) // 2
            self._write(journal, fd, data[:half])
            self._hook("mid-lines")
            data = data[half:]
        self._write(journal, fd, data)
        return first

    def _write(self, journal: Journal, fd: int, data: bytes) -> None:
        """Write data at the end, which moves with every byte taken."""
        pwrite = self.disk.pwrite
        try:
            done = pwrite(fd, data, journal.end)
            journal.end += done
            while done < len(data):
                taken = pwrite(fd, data[done:], journal.end)
                done += taken
                journal.end += taken
        except OSError:
            journal.lead = True
            raise

    def overwrite(self, journal: Journal, data: bytes, at: int) -> None:
        """Write data over what stands at that offset."""
        write_all(self.disk, self.fd(journal), data, at)

    def cut(self, journal: Journal, at: int) -> None:
        """Let the journal end there; counts after sync()."""
        self.disk.truncate(self.fd(journal), at)
        journal.end = at

    def sync(self, journal: Journal) -> None:
        """What was appended is durable; of a new one its directories, too."""
        self.disk.sync(self.fd(journal))
        self.sync_dirs({journal} if journal.new else set())

    def sync_dirs(self, created: set[Journal]) -> None:
        """The names of these journals are durable, up to the root."""
        if not created:
            return
        folders = sorted({journal.folder for journal in created})
        for folder in folders:
            self.disk.sync_dir(folder)
        for top in sorted({os.path.dirname(folder) for folder in folders}):
            self.disk.sync_dir(top)
        self.disk.sync_dir(self.root)

    def read(self, journal: Journal, at: int, n: int) -> bytes:
        """n bytes from offset at, fewer where it ends before."""
        return read_all(self.disk, self.fd(journal), n, at)

    def tail(self, journal: Journal, below: int, least: int = 0) -> tuple[int, bytes]:
        """The end of the journal and where it starts: at a line whose sequence is
        under `below`, at least so many bytes long, or at the very beginning."""
        fd = self.fd(journal)
        journal.end = self.disk.size(fd)
        return self._tail(journal, fd, below, WINDOW + least)

    def _tail(
        self, journal: Journal, fd: int, below: int, window: int
    ) -> tuple[int, bytes]:
        """The end of an open file whose lines are numbered as journal's are."""
        size = self.disk.size(fd)
        while True:
            start = max(0, size - window)
            data = read_all(self.disk, fd, size - start, start)
            if start == 0:
                return 0, data
            skip = data.find(b"\n") + 1
            first = next(self._readable(journal, data, skip), None)
            if skip and first is not None and first.seq < below:
                return start + skip, data[skip:]
            window *= 2

    def load(self, name: str) -> Journal:
        """The journal as it stands on disk, its next sequence above every one in it
        and in its newest archived segment."""
        journal = self.get(name)
        fd = self.fd(journal)
        journal.end = self.disk.size(fd)
        _, data = self._tail(journal, fd, SEQ_MAX + 1, GLANCE)
        # A stump that lacks nothing but its line feed is a line as soon as the next
        # one brings its own, and then has its number.
        found = self._readable(journal, data + b"\n", 0)
        last = max((line.seq for line in found), default=0)
        journal.last = max(last, self._archived(journal))
        return journal

    def shut(self, name: str, why: OSError) -> None:
        """Let nothing into the mailbox of that journal before the next start."""
        place = place_of(name)
        for one in (inbox_of(place), ledger_of(place)):
            self.get(one).broken = True
            self.barred[one] = why

    def usable(self, journal: Journal) -> bool:
        """Whether a line may go in; its file is opened, and made, to know it."""
        if journal.broken:
            return False
        try:
            self.fd(journal)
        except OSError as error:
            self.barred[journal.name] = error
            return False
        self.barred.pop(journal.name, None)
        return True

    def names(self) -> list[str]:
        """The journals that stand on disk, in order; of a mailbox whose every line is
        archived those that will go on from there."""
        disk, root = self.disk, self.root
        return [
            name
            for place in places(disk, root)
            for name in (inbox_of(place), ledger_of(place))
            if disk.exists(os.path.join(root, name))
            or newest(
                disk, os.path.join(root, folder_of(place)), os.path.basename(name)
            )
            is not None
        ]

    def loaded(self) -> list[Journal]:
        """Every journal known so far."""
        return list(self._all.values())

    def close(self) -> None:
        """Close all files."""
        for journal in self._open:
            self.disk.close(journal.fd)
            journal.fd = -1
        self._open.clear()

    def forget(self, journal: Journal) -> None:
        """Believe nothing of the file: the next call opens what stands at its path."""
        if journal.fd >= 0:
            del self._open[journal]
            self.disk.close(journal.fd)
        journal.fd = -1
        journal.end = 0
        journal.lead = True

    def fd(self, journal: Journal) -> int:
        """The open file, made with its folders if it is missing."""
        if journal.fd >= 0:
            self._open.move_to_end(journal)
            return journal.fd
        while len(self._open) >= self._limit:
            # Linux reports a failed write-back to whoever opens the file next and
            # syncs it, so a dirty journal may be closed before its checkpoint.
            oldest, _ = self._open.popitem(last=False)
            self.disk.close(oldest.fd)
            oldest.fd = -1
        try:
            fd = self.disk.open(journal.path, os.O_RDWR | os.O_NOFOLLOW)
        except FileNotFoundError:
            self.disk.mkdir(os.path.dirname(journal.folder))
            self.disk.mkdir(journal.folder)
            fd = self.disk.open(journal.path, WRITE)
            journal.new = True
        journal.fd = fd
        self._open[journal] = None
        size = self.disk.size(fd)
        if size != journal.end:
            # Somebody else wrote here, or it is the first look at it.
            journal.end = size
            journal.lead = True
        return fd

    def _readable(self, journal: Journal, data: bytes, at: int) -> Iterator[Line]:
        """The readable lines in data."""
        return (line for line in lines(journal, data, at) if line.seq)

    def _archived(self, journal: Journal) -> int:
        """The last sequence of the newest archived segment, 0 without one."""
        found = newest(self.disk, journal.folder, os.path.basename(journal.name))
        if found is None:
            return 0
        number, path = found
        fd = self.disk.open(path, READ)
        try:
            _, data = self._tail(journal, fd, SEQ_MAX + 1, GLANCE)
        finally:
            self.disk.close(fd)
        last = max((line.seq for line in self._readable(journal, data, 0)), default=0)
        return last if journal.is_ledger else max(number, last)


def lines(journal: Journal, data: bytes, at: int = 0) -> Iterator[Line]:
    """Every terminated line in data that is not blank; an unfinished tail is none."""
    while (end := data.find(b"\n", at)) >= 0:
        if at < end:
            yield Line(at, end + 1, _sequence(journal, data[at:end]))
        at = end + 1


def _sequence(journal: Journal, line: bytes) -> int:
    """The sequence a line carries, 0 where it is no line of ours."""
    try:
        seq = _decode_ledger(line).n if journal.is_ledger else _decode_inbox(line).seq
    except (ValueError, RecursionError):
        return 0
    return seq if 0 < seq <= SEQ_MAX else 0

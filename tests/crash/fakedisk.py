"""A disk as unkind as a kernel may be, behind the calls of homi.store.disk.Disk.

 * Every write goes to a cache.  A page keeps all versions written since its last
   sync and a power cut keeps any one of them; a page never synced may be NULs.
   Sizes likewise.
 * A failed sync leaves any version of each dirty page, marks it clean, may drop it
   from the cache, and tells only the caller; the next sync succeeds doing nothing.
 * Unsynced mkdir, create, rename and unlink survive or not, each on its own.
 * A process death keeps the cache.

Assumed: a page is old or new as a whole where its bytes did not change; a sync that
succeeded over dirty pages is true; sizes and names are not forgotten by a failed one.
"""

import os
import random
from collections.abc import Callable

JOURNAL_PAGE = 64  # bytes: small, so that every line lies over several
RING_PAGE = 512  # a sector: a record may be torn in the middle

DIRECTORY = None  # what a name stands for that is no file
EIO = 5
ENOSPC = 28


class Death(BaseException):
    """The process is gone; nothing of it may act any more."""


class File:
    """One inode: what the cache shows and what the platter may hold."""

    __slots__ = ("disk", "log", "mem", "page", "sizes", "stale")

    def __init__(self, page: int) -> None:
        self.page = page
        self.mem = bytearray()
        self.disk = b""  # what a sync made sure of; zeros behind its end
        self.log: list[tuple[int, bytes]] = []  # writes since then
        self.sizes = [0]  # every size since then
        self.stale = False  # the cache differs from the disk where nothing is dirty

    def write(self, data: bytes, at: int) -> None:
        """Into the cache."""
        mem = self.mem
        if at > len(mem):
            mem += bytes(at - len(mem))
        mem[at : at + len(data)] = data
        self.log.append((at, bytes(data)))
        if len(mem) != self.sizes[-1]:
            self.sizes.append(len(mem))

    def truncate(self, n: int) -> None:
        """Cut or lengthen, in the cache."""
        mem = self.mem
        if n < len(mem):
            self.log.append((n, bytes(len(mem) - n)))
            del mem[n:]
        else:
            mem += bytes(n - len(mem))
        if n != self.sizes[-1]:
            self.sizes.append(n)

    def sync(self) -> None:
        """A sync that succeeded: dirty pages are on the platter, others as before."""
        if self.stale:
            self._settle(lambda versions: versions[-1])
        else:
            self.disk = bytes(self.mem)
        self.log.clear()
        self.sizes = self.sizes[-1:]

    def fail_sync(self, rng: random.Random) -> None:
        """Any version of each dirty page; all are clean now, and some dropped."""
        kept = self._settle(rng.choice)
        for page, version in kept.items():
            if rng.random() < 0.25:
                at = page * self.page
                room = max(0, len(self.mem) - at)
                self.mem[at : at + self.page] = version[:room]
        self.stale = True
        self.log.clear()

    def cut(self, rng: random.Random) -> None:
        """The power fails: the cache is what the platter holds."""
        if self.log:
            self._settle(rng.choice)
            self.log.clear()
        size = rng.choice(self.sizes)
        # What lies behind the size does not come back.
        self.disk = self.disk[:size]
        self.mem = bytearray(self.disk.ljust(size, b"\0"))
        self.sizes = [size]
        self.stale = False

    def is_clean(self) -> bool:
        """Whether cache and platter agree."""
        return not self.log and len(self.sizes) == 1 and not self.stale

    def _settle(self, pick: Callable[[list[bytes]], bytes]) -> dict[int, bytes]:
        """Let the platter hold one version of each dirty page; which one."""
        size, page = self.page, lambda at: at // self.page
        end = max([at + len(data) for at, data in self.log], default=0)
        whole = -(-max(end, len(self.disk)) // size) * size
        buffer = bytearray(self.disk.ljust(whole, b"\0"))
        versions: dict[int, list[bytes]] = {}
        for at, data in self.log:
            touched = range(page(at), page(at + max(len(data), 1) - 1) + 1)
            for one in touched:
                if one not in versions:
                    versions[one] = [bytes(buffer[one * size : (one + 1) * size])]
            buffer[at : at + len(data)] = data
            for one in touched:
                versions[one].append(bytes(buffer[one * size : (one + 1) * size]))
        kept = {one: pick(found) for one, found in versions.items()}
        for one, version in kept.items():
            buffer[one * size : (one + 1) * size] = version
        self.disk = bytes(buffer)
        return kept


class Platter:
    """What outlives a process: files and names, in the cache and on the disk."""

    def __init__(self, root: str) -> None:
        self.names: dict[str, File | None] = {root: DIRECTORY}
        self._durable = dict(self.names)
        self._pending: list[tuple[str, str, str | File | None]] = []

    def make(self, path: str, what: File | None) -> None:
        """A new name, not yet durable."""
        self.names[path] = what
        self._pending.append(("make", path, what))

    def rename(self, a: str, b: str) -> None:
        """In place of what had the name b."""
        self.names[b] = self.names.pop(a)
        self._pending.append(("rename", a, b))

    def unlink(self, path: str) -> None:
        """Not yet durable."""
        del self.names[path]
        self._pending.append(("unlink", path, None))

    def sync_dir(self, path: str) -> None:
        """The names right under path are durable."""
        rest = []
        for change in self._pending:
            if os.path.dirname(change[1]) == path:
                self._apply(change)
            else:
                rest.append(change)
        self._pending = rest

    def cut(self, rng: random.Random) -> None:
        """Each unsynced change of a name survives or not; then files lose theirs."""
        for change in self._pending:
            if rng.random() < 0.5:
                self._apply(change)
        self._pending.clear()
        for path in sorted(self._durable):
            parent = os.path.dirname(path)
            if parent not in self._durable and path != min(self._durable, key=len):
                del self._durable[path]
        self.names = dict(self._durable)
        for what in self.names.values():
            if what is not None:
                what.cut(rng)

    def lose(self, path: str) -> None:
        """Take the file away for good, and no other name."""
        self.names.pop(path, None)
        self._durable.pop(path, None)
        self._pending = [change for change in self._pending if path not in change[1:]]

    def _apply(self, change: tuple[str, str, str | File | None]) -> None:
        kind, path, other = change
        if kind == "make":
            assert not isinstance(other, str)
            self._durable[path] = other
        elif kind == "rename" and path in self._durable:
            assert isinstance(other, str)
            self._durable[other] = self._durable.pop(path)
        elif kind == "unlink":
            self._durable.pop(path, None)


class Faults:
    """What may befall a disk call; powercut.World decides.  This one is kind."""

    def step(self, call: str, path: str) -> None:
        """Before each call: the other thread may run, or Death comes."""

    def fails(self, call: str, path: str) -> bool:
        """Whether this sync or write fails with an OSError."""
        return False

    def taken(self, n: int) -> tuple[int, bool]:
        """How many of n bytes a write takes, and whether Death follows."""
        return n, False

    def cutting(self, path: str, file: File, n: int) -> None:
        """file is about to be cut to n bytes."""


class FakeDisk:
    """The calls of one process.  After its death every call raises Death."""

    def __init__(self, platter: Platter, faults: Faults, rng: random.Random) -> None:
        self._platter = platter
        self._faults = faults
        self._rng = rng
        self._files: dict[int, tuple[File, str]] = {}
        self._next = 3
        self.dead = False

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        self._step("open", path)
        names = self._platter.names
        if path not in names:
            if (
                not flags & os.O_CREAT
                or names.get(os.path.dirname(path), 0) != DIRECTORY
            ):
                raise FileNotFoundError(2, "No such file or directory", path)
            page = RING_PAGE if "/ring" in path else JOURNAL_PAGE
            self._platter.make(path, File(page))
        elif flags & os.O_CREAT and flags & os.O_EXCL:
            raise FileExistsError(17, "File exists", path)
        file = names[path]
        if file is None:
            raise IsADirectoryError(21, "Is a directory", path)
        if flags & os.O_TRUNC and file.mem:
            file.truncate(0)
        self._next += 1
        self._files[self._next] = (file, path)
        return self._next

    def close(self, fd: int) -> None:
        self._files.pop(fd, None)

    def pwrite(self, fd: int, data: bytes, offset: int, /) -> int:
        file, path = self._files[fd]
        self._step("pwrite", path)
        if self._faults.fails("pwrite", path):
            raise OSError(ENOSPC, "No space left on device", path)
        n, dies = self._faults.taken(len(data))
        if n:
            file.write(data[:n], offset)
        if dies:
            self.dead = True
            raise Death
        return n

    def pread(self, fd: int, n: int, offset: int, /) -> bytes:
        if self.dead:
            raise Death
        return bytes(self._files[fd][0].mem[offset : offset + n])

    def size(self, fd: int) -> int:
        return len(self._files[fd][0].mem)

    def truncate(self, fd: int, n: int) -> None:
        file, path = self._files[fd]
        self._step("truncate", path)
        self._faults.cutting(path, file, n)
        file.truncate(n)

    def sync(self, fd: int) -> None:
        file, path = self._files[fd]
        self._step("sync", path)
        if self._faults.fails("sync", path):
            file.fail_sync(self._rng)
            raise OSError(EIO, "Input/output error", path)
        file.sync()

    def sync_dir(self, path: str) -> None:
        self._step("sync_dir", path)
        if path not in self._platter.names:
            raise FileNotFoundError(2, "No such file or directory", path)
        if self._platter.names[path] is not DIRECTORY:
            raise NotADirectoryError(20, "Not a directory", path)
        if self._faults.fails("sync_dir", path):
            raise OSError(EIO, "Input/output error", path)
        self._platter.sync_dir(path)

    def mkdir(self, path: str) -> None:
        if path in self._platter.names:
            return
        self._step("mkdir", path)
        self._platter.make(path, DIRECTORY)

    def rename(self, a: str, b: str) -> None:
        self._step("rename", b)
        self._platter.rename(a, b)

    def unlink(self, path: str) -> None:
        self._step("unlink", path)
        if path not in self._platter.names:
            raise FileNotFoundError(2, "No such file or directory", path)
        self._platter.unlink(path)

    def listdir(self, path: str) -> list[str]:
        return [
            os.path.basename(name)
            for name in self._platter.names
            if os.path.dirname(name) == path and name != path
        ]

    def exists(self, path: str) -> bool:
        return path in self._platter.names

    def free(self, path: str) -> int:
        return 1 << 40

    def _step(self, call: str, path: str) -> None:
        if self.dead:
            raise Death
        self._faults.step(call, path)
        if self.dead:
            raise Death

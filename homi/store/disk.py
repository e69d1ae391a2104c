"""The only calls by which the store reads or changes the disk.

Owns the list of them, so that a fake disk can stand in and lose power at will.
Knows nothing of what is in a file.
"""

import contextlib
import errno
import fcntl
import os
import stat
import sys
from typing import Protocol

# Read and write, made when missing, never through a link: what a journal opens with.
WRITE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
READ = os.O_RDONLY | os.O_NOFOLLOW


class Disk(Protocol):
    """A file system.  Every failure is an OSError; paths are absolute."""

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        """A file descriptor no child inherits."""
        ...

    def close(self, fd: int) -> None:
        """Give fd back; says nothing of what is durable."""
        ...

    def pwrite(self, fd: int, data: bytes, offset: int, /) -> int:
        """How many bytes were taken; may be fewer than were given."""
        ...

    def pread(self, fd: int, n: int, offset: int, /) -> bytes:
        """Up to n bytes; empty at the end of the file."""
        ...

    def size(self, fd: int) -> int:
        """The length of the file."""
        ...

    def truncate(self, fd: int, n: int) -> None:
        """Cut the file to n bytes."""
        ...

    def sync(self, fd: int) -> None:
        """The content and size of fd are durable when this returns."""
        ...

    def sync_dir(self, path: str) -> None:
        """The names in the folder are durable when this returns."""
        ...

    def mkdir(self, path: str) -> None:
        """Make the folder, 0700; one that is there already is fine."""
        ...

    def rename(self, a: str, b: str) -> None:
        """Give a the name b, in place of what had it."""
        ...

    def unlink(self, path: str) -> None:
        """Take the name away."""
        ...

    def listdir(self, path: str) -> list[str]:
        """The names in the folder, in no order."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of that name."""
        ...

    def free(self, path: str) -> int:
        """Bytes a user may still write to that file system."""
        ...


def _full_sync(fd: int) -> None:
    """macOS: a plain fsync stops at the drive's cache; F_FULLFSYNC does not."""
    fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined,unused-ignore]


class RealDisk:
    """The machine's own; the hot calls are the system's, without a wrapper."""

    close = staticmethod(os.close)
    pwrite = staticmethod(os.pwrite)
    pread = staticmethod(os.pread)
    truncate = staticmethod(os.ftruncate)
    rename = staticmethod(os.replace)
    unlink = staticmethod(os.unlink)
    listdir = staticmethod(os.listdir)
    exists = staticmethod(os.path.lexists)
    sync = staticmethod(_full_sync if sys.platform == "darwin" else os.fdatasync)

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        """os.open, but private unless told otherwise (its own default is 0777); of a
        regular file in a real folder, and of nothing else."""
        if os.path.islink(os.path.dirname(path)):
            raise OSError(errno.ELOOP, "its folder is a symbolic link", path)
        # The other end of a pipe is not waited for.
        fd = os.open(path, flags | os.O_NONBLOCK, mode)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "not a regular file", path)
        return fd

    def size(self, fd: int) -> int:
        """The length of the file; the offset a descriptor has is nobody's concern."""
        return os.lseek(fd, 0, os.SEEK_END)

    def sync_dir(self, path: str) -> None:
        """fsync of the folder itself, not of one it links to."""
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def mkdir(self, path: str) -> None:
        """mkdir with mode 0700."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)

    def free(self, path: str) -> int:
        """What statvfs calls available to an unprivileged user."""
        found = os.statvfs(path)
        return found.f_bavail * found.f_frsize


def write_all(disk: Disk, fd: int, data: bytes, offset: int) -> None:
    """Write all of data at offset; a short write is finished, never given up."""
    done = disk.pwrite(fd, data, offset)
    while done < len(data):
        done += disk.pwrite(fd, data[done:], offset + done)


def read_all(disk: Disk, fd: int, n: int, offset: int) -> bytes:
    """n bytes from offset, fewer only where the file ends before."""
    data = disk.pread(fd, n, offset)
    if len(data) == n or not data:
        return data
    parts = [data]
    got = len(data)
    while got < n and (data := disk.pread(fd, n - got, offset + got)):
        parts.append(data)
        got += len(data)
    return b"".join(parts)

"""One daemon per state root: a lock the kernel gives back, whatever happens.

Owns homi.lock.  The pid inside is for people; only the lock itself is proof.
"""

import contextlib
import fcntl
import os

from homi.errors import CannotCreate
from homi.inheritance import Inherited
from homi.store.whole import remedy

LOCK = "homi.lock"


class Lock:
    """The lock of a root, held from construction to release()."""

    def __init__(self, root: str, inherited: Inherited | None = None) -> None:
        """Take it, as far as it was not inherited; 73 with the holder's pid when
        another process has it."""
        self._path = path = os.path.join(root, LOCK)
        fd = inherited.lock(path) if inherited is not None else None
        self._fd = _taken(path, root) if fd is None else fd
        # A full disk must not keep the daemon from draining.
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)

    def stands(self) -> bool:
        """Whether the root has it still, and was neither moved nor replaced."""
        try:
            there = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._fd))

    def release(self) -> None:
        """Let others have it.  The file stays: another may be waiting on it."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._fd, 0)
        os.close(self._fd)

    def leave(self) -> int:
        """The descriptor that holds it, for whoever goes on with it."""
        return self._fd


def is_held(root: str) -> bool:
    """Whether a process has root, by the lock alone.  Of a root that somebody may take
    at this moment it is not to be asked: it would be refused."""
    try:
        fd = os.open(os.path.join(root, LOCK), os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def _taken(path: str, root: str) -> int:
    """The lock at path, newly taken."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        fd = os.open(path, flags, 0o600)
    except OSError as error:
        raise CannotCreate(
            f"cannot open {path}: {error.strerror}", hint=remedy(path, error)
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        os.close(fd)
        raise CannotCreate(
            f"a daemon with pid {holder or 'unknown'} has {root}",
            hint="homi status shows it, homi stop ends it",
        ) from error
    return fd

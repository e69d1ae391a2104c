"""A file that belongs to another program: read, and put back whole or not at all.

Owns how such a file is replaced: through its link, with its mode and owner, and not
over a change of somebody else.  Knows nothing of what it says.  homi-overview(7).
"""

import contextlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

from homi.errors import BadConfig, NotReached
from homi.store.disk import RealDisk

MODE = 0o600  # of a file that was not there


class Seen(NamedTuple):
    """A file as it was when it was read."""

    target: Path
    before: os.stat_result | None  # None: nothing was there
    data: bytes


def look(target: Path, size_max: int) -> Seen:
    """The file at target, which is no link; BadConfig (78) where it is no plain file
    or over size_max bytes."""
    found = _found(target)
    if found is None:
        return Seen(target, None, b"")
    if not stat.S_ISREG(found.st_mode):
        raise BadConfig(f"{target} is no file")
    if found.st_size > size_max:
        raise BadConfig(f"{target} has {found.st_size} bytes, over {size_max}")
    fd = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        return Seen(target, os.fstat(fd), file.read())


def replace(seen: Seen, data: bytes, mode: int = MODE) -> None:
    """Let the file hold data, durably; after an OSError it is the old one, whole.

    NotReached (75) where it is not what was seen any more; it stays as it is then."""
    target = seen.target
    hidden = target.with_name(f".{target.name}.homi")
    with contextlib.suppress(FileNotFoundError):
        hidden.unlink()  # of a homi that died here
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(hidden, flags, MODE)
    try:
        with open(fd, "wb") as out:
            _keep(fd, seen.before, mode)
            out.write(data)
            out.flush()
            os.fsync(fd)
        _unchanged(seen)
        os.replace(hidden, target)
    except BaseException:
        with contextlib.suppress(OSError):
            hidden.unlink()
        raise
    RealDisk().sync_dir(os.fspath(target.parent))


def remove(seen: Seen) -> None:
    """Take the file away, durably; NotReached (75) where it is not what was seen."""
    _unchanged(seen)
    seen.target.unlink()
    RealDisk().sync_dir(os.fspath(seen.target.parent))


def _unchanged(seen: Seen) -> None:
    """NotReached (75) where somebody else was at the file since it was read."""
    if _print(seen.before) != _print(_found(seen.target)):
        raise NotReached(f"{seen.target} was changed meanwhile", hint="try it again")


def _found(target: Path) -> os.stat_result | None:
    """What lstat says; None where nothing is."""
    try:
        return os.lstat(target)
    except FileNotFoundError:
        return None


def _keep(fd: int, before: os.stat_result | None, mode: int) -> None:
    """Give fd the mode and the owner of the file it comes in place of."""
    if before is None:
        os.fchmod(fd, mode)
        return
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        os.fchown(fd, before.st_uid, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode))


def _print(found: os.stat_result | None) -> tuple[int, ...]:
    """What tells whether a file is still the one that was read."""
    if found is None:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns

"""Where a client's file really is, and whether it can be written.

Owns what is said of links that lead nowhere, of what is read-only and of a client
that is not there, and that one homi at a time is at work.  homi-setup(1).
"""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from homi import foreign
from homi.errors import BadConfig, CannotCreate, HomiError, NotReached, StorageFailed
from homi.foreign import Seen

PATIENCE = 5.0  # s for what holds a client's files for some ms
PAUSE = 0.05  # s between two looks

SIZE_MAX = 64 << 20  # bytes; a client's own state has grown to some MB
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def client_folder(path: Path, client: str) -> Path:
    """path as an absolute one; BadConfig (78) where that client has no folder there."""
    path = Path(os.path.expanduser(path)).absolute()
    _leads_somewhere(path)
    if path.exists() and not path.is_dir():
        raise BadConfig(f"{path} is no folder", hint="name one with --config-dir")
    if not path.is_dir():
        raise BadConfig(
            f"{path} is not there: {client} has not run here",
            hint=f"start {client} once, or name its folder with --config-dir",
        )
    return path


def seen(path: Path, below: Path) -> Seen:
    """The file that path leads to, which is to be written; CannotCreate (73) where it
    cannot be: a link that leads nowhere, on the way from below too."""
    for part in (*reversed(path.parents), path):
        if part.is_relative_to(below) or part == path:
            _leads_somewhere(part)
    found = foreign.look(Path(os.path.realpath(path)), SIZE_MAX)
    if found.before is not None and not found.before.st_mode & 0o200:
        raise CannotCreate(f"{path} is read-only", hint=f"chmod u+w {path}")
    return found


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """What the system refuses, as one line: the disk's own failures are StorageFailed
    (74), all else is CannotCreate (73)."""
    try:
        yield
    except OSError as error:
        kind: type[HomiError] = StorageFailed if error.errno in _DISK else CannotCreate
        where = error.filename or folder
        raise kind(f"{where}: {error.strerror or error}") from error


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let no other homi change a client's files meanwhile; NotReached (75) where one
    is at it for too long.  The kernel ends it for a homi that dies."""
    until = time.monotonic() + PATIENCE
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        while not _locked(fd):
            if time.monotonic() > until:
                raise NotReached(
                    f"another homi setup is at work in {folder}", hint="try it again"
                )
            time.sleep(PAUSE)
        yield
    finally:
        os.close(fd)


def missing(folder: Path) -> list[Path]:
    """folder and those above it that are not there, outermost first."""
    found = [one for one in (folder, *folder.parents) if not one.exists()]
    return found[::-1]


def _leads_somewhere(path: Path) -> None:
    """CannotCreate (73) for a link to what is not there."""
    if path.is_symlink() and not path.exists():
        raise CannotCreate(
            f"{path} is a link to {os.readlink(path)}, which is not there",
            hint="make what it leads to, or remove the link",
        )


def _locked(fd: int) -> bool:
    """Whether the folder is this process's now."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

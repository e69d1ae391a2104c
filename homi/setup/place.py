"""Where a client's file really is, and whether it can be written.

Owns what is said of links that lead nowhere, of what is read-only and of a client
that is not there.  homi-setup(1).
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from homi import foreign
from homi.errors import BadConfig, CannotCreate, HomiError, StorageFailed
from homi.foreign import Seen

SIZE_MAX = 64 << 20  # bytes; a client's own state has grown to some MB
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def client_folder(path: Path, client: str) -> Path:
    """path as an absolute one; BadConfig (78) where that client has no folder there."""
    path = path.expanduser().absolute()
    _leads_somewhere(path)
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

"""Small files that are written whole: temporary name, sync, rename, sync the folder.

Owns the order of these steps, and what becomes of a folder or a pipe that stands in
the place of such a file; knows nothing of what a file says.  homi-mailbox(5) lists
the files.
"""

import errno
import itertools
import logging
import os
import stat
from collections.abc import Iterable

from homi.shell import quoted
from homi.store.disk import READ, WRITE, Disk, RealDisk, read_all, write_all

log = logging.getLogger("homi.store")

ASIDE = ".aside"


def write_whole(disk: Disk, path: str, data: bytes) -> None:
    """Let path hold data, durably; after a failure (OSError) old or new, but whole."""
    write_pieces(disk, path, (data,))


def write_pieces(disk: Disk, path: str, pieces: Iterable[bytes]) -> None:
    """The same of what is never in memory whole; what pieces raise changes nothing.

    A crash in between leaves a hidden temporary file and nothing else.  What stands
    in the way and is no file is moved aside.
    """
    folder, name = os.path.split(path)
    hidden = os.path.join(folder, f".{name}.tmp")
    for each in (hidden, path):
        if put := put_aside(disk, each):
            log.warning("%s was no file: it is %s now", each, put)
    fd = disk.open(hidden, WRITE | os.O_TRUNC)
    try:
        at = 0
        for piece in pieces:
            write_all(disk, fd, piece, at)
            at += len(piece)
        disk.sync(fd)
    finally:
        disk.close(fd)
    disk.rename(hidden, path)
    disk.sync_dir(folder)


def read_whole(disk: Disk, path: str) -> bytes | None:
    """The bytes of path; None where there is no such file."""
    try:
        fd = disk.open(path, READ)
    except FileNotFoundError:
        return None
    try:
        return read_all(disk, fd, disk.size(fd), 0)
    finally:
        disk.close(fd)


def read_plain(path: str | os.PathLike[str]) -> bytes:
    """The bytes of path for who only reads; OSError where there is no such file, or
    it is none: a pipe is not waited for."""
    data = read_whole(RealDisk(), os.fspath(path))
    if data is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return data


def put_aside(disk: Disk, path: str) -> str:
    """Where what stands at path is from now on, if that is a folder, a pipe or a link
    to nothing; empty, and nothing is moved, where it is not.  OSError: it stays."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return ""
    if stat.S_ISREG(mode) or (stat.S_ISLNK(mode) and os.path.exists(path)):
        return ""  # what a link leads to may be the file itself, on another disk
    names = (f"{path}{ASIDE}{number or ''}" for number in itertools.count())
    put = next(name for name in names if not disk.exists(name))
    disk.rename(path, put)
    disk.sync_dir(os.path.dirname(path))
    return put


def aside_by_hand(
    path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None
) -> str:
    """The command that moves path aside: beside itself, or into folder."""
    parent, name = os.path.split(os.fspath(path))
    there = os.path.join(parent if folder is None else folder, name + ASIDE)
    return f"mv {quoted(path)} {quoted(there)}"


def remedy(path: str, error: OSError) -> str:
    """What a person types so that path can be used; empty where nobody can say it."""
    if error.errno in (errno.EACCES, errno.EPERM):
        barred = _barred(path)
        return f"chmod u+rwX {quoted(barred)}" if barred else ""
    if os.path.islink(path) and os.path.exists(path):
        return f"put what {path} leads to in its place"
    if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EINVAL):
        return aside_by_hand(path)
    return ""


def _barred(path: str) -> str:
    """What keeps us from path, if it is ours: that, or the folder where the way ends;
    empty where it is another user's."""
    while True:
        try:
            owner = os.lstat(path).st_uid
        except (PermissionError, FileNotFoundError):
            above = os.path.dirname(path)
            if above in ("", path):
                return ""
            path = above
        except OSError:
            return ""
        else:
            return path if os.geteuid() in (0, owner) else ""

"""Small files that are written whole: temporary name, sync, rename, sync the folder.

Owns the order of these steps; knows nothing of what a file says.
homi-mailbox(5) lists the files.
"""

import os

from homi.store.disk import READ, WRITE, Disk, read_all, write_all


def write_whole(disk: Disk, path: str, data: bytes) -> None:
    """Let path hold data, durably; after a failure (OSError) old or new, but whole.

    A crash in between leaves a hidden temporary file and nothing else.
    """
    folder, name = os.path.split(path)
    hidden = os.path.join(folder, f".{name}.tmp")
    fd = disk.open(hidden, WRITE | os.O_TRUNC)
    try:
        write_all(disk, fd, data, 0)
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

"""A new file as the result of a verb: whole, or not there at all.

Owns that nothing is overwritten, and that the name comes last.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from homi.cli import output
from homi.errors import CannotCreate, StorageFailed

TOGETHER = 1 << 20  # bytes written at once
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write(path: Path | None, parts: Iterable[bytes]) -> None:
    """Write all parts to a new file, or to standard output where path is None.

    CannotCreate (73) where anything has that name, StorageFailed (74).
    """
    if path is None:
        for data in _joined(parts):
            output.raw(data)
    else:
        _to_file(path, parts)


def _to_file(path: Path, parts: Iterable[bytes]) -> None:
    """Write to a new file, which has its name once it is whole."""
    if _stands(path):
        raise CannotCreate(f"{path} is there already", hint="homi overwrites nothing")
    hidden = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fd = os.open(hidden, _CREATE, 0o600)
    except OSError as error:
        raise CannotCreate(f"cannot create {path}: {error.strerror}") from error
    try:
        with open(fd, "wb", TOGETHER) as file:
            for data in parts:
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.link(hidden, path)
    except FileExistsError as error:
        raise CannotCreate(
            f"{path} is there already", hint="homi overwrites nothing"
        ) from error
    except OSError as error:
        raise StorageFailed(f"cannot write {path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(hidden)


def _stands(path: Path) -> bool:
    """Whether anything has that name; CannotCreate (73) where nothing could."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CannotCreate(f"cannot create {path}: {error.strerror}") from error
    return True


def _joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The parts in pieces large enough to be written quickly."""
    some: list[bytes] = []
    size = 0
    for data in parts:
        some.append(data)
        size += len(data)
        if size >= TOGETHER:
            yield b"".join(some)
            some, size = [], 0
    if some:
        yield b"".join(some)

"""Bulk data under its SHA-256: whole, or not there.

Owns blobs/, and how a part of one that came so far becomes it; knows nothing of who
sends it.  homi-mailbox(5) is the format.
"""

import errno
import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from typing import Self

from homi.errors import BadMessage, HomiError, NoInput, NotReached, StorageFailed, Usage
from homi.store.disk import READ, WRITE, Disk, write_all

FOLDER = "blobs"
MOST = 1 << 30  # bytes of one
PIECE = 256 << 10  # bytes read or written at a time
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)


def digest(text: str) -> str:
    """text, which must be the SHA-256 of a blob; 64 else."""
    if _DIGEST.fullmatch(text) is None:
        raise Usage("a blob is named by its SHA-256: 64 hex digits")
    return text


class Blobs:
    """The blobs of one state root."""

    def __init__(self, root: str, disk: Disk) -> None:
        """Touches nothing before something is asked."""
        self.root = root
        self._folder = os.path.join(root, FOLDER)
        self._disk = disk

    def size(self, name: str) -> int | None:
        """How long the blob is; None where there is none."""
        try:
            fd, size = self.open(name)
        except NoInput:
            return None
        self._disk.close(fd)
        return size

    def renew(self, name: str) -> int | None:
        """As size(); what is told to be here begins to age anew, so that nobody
        removes it before the mail that names it comes."""
        try:
            fd, size = self.open(name)
        except NoInput:
            return None
        try:
            os.utime(fd)
        except OSError:
            return None  # of who cannot be told so it is sent again
        finally:
            self._disk.close(fd)
        return size

    def open(self, name: str) -> tuple[int, int]:
        """A descriptor to read it by, and its length; 66 where there is none, or what
        is there is no file of its own."""
        try:
            fd = self._disk.open(self._path(name), READ)
        except OSError as error:
            raise NoInput(f"no blob {name[:12]} here: {error.strerror}") from error
        return fd, self._disk.size(fd)

    def keep(self, pieces: Iterable[bytes]) -> tuple[str, int]:
        """Let what these pieces make be a blob, durably; its name and length.
        OSError: the disk refuses, and nothing is kept."""
        self._disk.mkdir(self._folder)
        self._disk.sync_dir(self.root)
        hidden = os.path.join(self._folder, f".{secrets.token_hex(8)}.new")
        fd = self._disk.open(hidden, WRITE)
        hashed, size = hashlib.sha256(), 0
        try:
            for piece in pieces:
                write_all(self._disk, fd, piece, size)
                hashed.update(piece)
                size += len(piece)
            self._disk.sync(fd)
            name = hashed.hexdigest()
            self._disk.rename(hidden, self._path(name))
        except BaseException:
            self._disk.unlink(hidden)
            raise
        finally:
            self._disk.close(fd)
        self._disk.sync_dir(self._folder)
        return name, size

    def read(self, name: str) -> Iterator[bytes]:
        """A blob, a piece at a time; 66 where there is none."""
        fd, size = self.open(name)
        try:
            for at in range(0, size, PIECE):
                yield self._disk.pread(fd, min(PIECE, size - at), at)
        finally:
            self._disk.close(fd)

    def tail(self, name: str, length: int) -> bytes:
        """The last bytes of a blob; 66 where there is none."""
        fd, size = self.open(name)
        try:
            return self._disk.pread(fd, length, max(0, size - length))
        finally:
            self._disk.close(fd)

    def remove(self, name: str) -> None:
        """Let there be no such blob; nothing happens where there is none."""
        if self.size(name) is not None:
            self._disk.unlink(self._path(name))

    def part(self, name: str) -> "Part":
        """What came of it so far, to be gone on with; 75 while another has it."""
        try:
            self._disk.mkdir(self._folder)
            self._disk.sync_dir(self.root)
            return Part(self._disk, self._path(name), self._hidden(name))
        except OSError as error:
            raise failed(error) from error

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, digest(name))

    def _hidden(self, name: str) -> str:
        return os.path.join(self._folder, f".{digest(name)}.part")


class Part:
    """A blob on its way in, for one process at a time.  OSError: the disk refuses."""

    def __init__(self, disk: Disk, path: str, hidden: str) -> None:
        """Open, or make, the part; what it holds is hashed."""
        self._disk = disk
        self._path = path
        self._hidden = hidden
        self._hash = hashlib.sha256()
        self.at = 0  # bytes that are here
        self._fd = self._locked()
        try:
            os.utime(self._fd)  # or it may be removed as old before a byte comes
            while data := disk.pread(self._fd, PIECE, self.at):
                self._add(data)
        except OSError:
            disk.close(self._fd)
            raise

    def _locked(self) -> int:
        """The part, opened for this process alone."""
        while True:
            fd = self._disk.open(self._hidden, WRITE)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(fd).st_ino == os.stat(self._hidden).st_ino:
                    return fd
            except BlockingIOError as error:
                self._disk.close(fd)
                raise NotReached("it is on its way already", reason="busy") from error
            except FileNotFoundError:
                pass
            # Another finished it between the two steps: what was opened is the blob
            # by now, and nobody may write to that.
            self._disk.close(fd)

    def write(self, data: bytes) -> None:
        """The next bytes of it."""
        write_all(self._disk, self._fd, data, self.at)
        self._add(data)

    def finish(self) -> None:
        """Let it be the blob, durably; 65, and nothing is kept, where it is another."""
        name = os.path.basename(self._path)
        if self._hash.hexdigest() != name:
            self.drop()
            raise BadMessage(f"what came is not the blob {name[:12]}")
        self._disk.sync(self._fd)
        self._disk.rename(self._hidden, self._path)
        self._disk.sync_dir(os.path.dirname(self._path))

    def drop(self) -> None:
        """Keep nothing of it."""
        self._disk.truncate(self._fd, 0)
        self._disk.unlink(self._hidden)

    def _add(self, data: bytes) -> None:
        self._hash.update(data)
        self.at += len(data)

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Another may go on with it."""
        self._disk.close(self._fd)


def failed(error: OSError) -> HomiError:
    """What a refusal of the disk means to who waits for a blob."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    kind = NotReached if full else StorageFailed
    return kind(f"the disk: {error.strerror}", reason="disk")

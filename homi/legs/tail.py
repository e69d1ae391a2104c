"""One conversation's transcript, wherever its file is, from where it was read to.

Owns finding the file by its conversation's id and following it: over renames, a
new inode, a file that is not there yet.  Draws no conclusions.
"""

import mmap
import os
import stat
from collections.abc import Iterator

from homi.ids import is_id
from homi.legs.transcript import LINE_MAX, Fact, Parser

CHUNK = 1 << 20  # bytes a read: some ms of parsing, then the loop gets its turn

_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def find(projects: str, conversation: str) -> str | None:
    """The transcript of conversation under projects, None where there is none.

    Its folder cannot be computed: it does not always follow the session's own.  Of
    several the one written last.
    """
    if not is_id(conversation.lower()):
        return None  # an id comes out of a file of others and makes a path here
    found: list[tuple[int, str]] = []
    try:
        folders = os.scandir(projects)
    except OSError:
        return None
    with folders:
        for folder in folders:
            path = f"{folder.path}/{conversation}.jsonl"
            if (state := _stat(path)) is not None:
                found.append((state.st_mtime_ns, path))
    return max(found)[1] if found else None


def lines_with(path: str, needle: bytes) -> Iterator[tuple[int, bytes]]:
    """Every whole line with needle in it, and the offset of each, in file order."""
    try:
        fd = os.open(path, _OPEN)
    except OSError:
        return
    try:
        if os.fstat(fd).st_size == 0:
            return
        with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as data:
            at = data.find(needle)
            while at >= 0:
                start = data.rfind(b"\n", 0, at) + 1
                end = data.find(b"\n", at)
                if end < 0:
                    return
                if end - start <= LINE_MAX:
                    yield start, data[start:end]
                at = data.find(needle, end)
    except (OSError, ValueError):
        return
    finally:
        os.close(fd)


def facts_between(path: str, start: int, end: int) -> Iterator[Fact]:
    """The facts of the whole lines from start to end; start begins a line."""
    parser = Parser()
    while start < end:
        data = _read(path, start, min(CHUNK, end - start))
        if not data:
            return
        start += len(data)
        yield from parser.feed(data)


class Tail:
    """Reads on where it stopped.  Holds no descriptor between two reads."""

    def __init__(self, projects: str, conversation: str) -> None:
        """Begin at the end of what is there now; at the start of a later file."""
        self.projects = projects
        self.conversation = conversation
        self.path = find(projects, conversation)
        self._inode: tuple[int, int] | None = None
        self._offset = 0
        self._parser = Parser()
        state = None if self.path is None else _stat(self.path)
        if self.path is not None and state is not None:
            self._inode = (state.st_dev, state.st_ino)
            self._offset = state.st_size
            last = _read(self.path, state.st_size - 1, 1) if state.st_size else b"\n"
            self._parser = Parser(midline=last != b"\n")

    @property
    def read_to(self) -> int:
        """The offset up to which every whole line was read."""
        return self._offset - self._parser.waiting

    def read(self) -> tuple[list[Fact], bool]:
        """The facts of the next lines, and whether there is more to read at once."""
        state = self._look()
        if state is None or self.path is None or state.st_size == self._offset:
            return [], False
        data = _read(self.path, self._offset, CHUNK)
        self._offset += len(data)
        return self._parser.feed(data), bool(data) and self._offset < state.st_size

    def _look(self) -> os.stat_result | None:
        """The file as it is now, found again where it was moved or replaced."""
        state = None if self.path is None else _stat(self.path)
        if state is None or (state.st_dev, state.st_ino) != self._inode:
            self.path = find(self.projects, self.conversation)
            state = None if self.path is None else _stat(self.path)
        if state is None:
            self._inode = None  # numbers are used again: what comes is another file
            return None
        inode = (state.st_dev, state.st_ino)
        # The client never truncates and never replaces; whoever does makes another
        # file of it, and reading by id makes a second reading harmless.
        if inode != self._inode or state.st_size < self._offset:
            self._inode = inode
            self._offset = 0
            self._parser = Parser()
        return state


def _stat(path: str) -> os.stat_result | None:
    """The state of a regular file, None for anything else."""
    try:
        state = os.lstat(path)
    except (OSError, ValueError):
        return None
    return state if stat.S_ISREG(state.st_mode) else None


def _read(path: str, offset: int, size: int) -> bytes:
    """At most size bytes from offset; none when the file cannot be read."""
    try:
        fd = os.open(path, _OPEN)
    except OSError:
        return b""
    try:
        return os.pread(fd, size, offset)
    except OSError:
        return b""
    finally:
        os.close(fd)

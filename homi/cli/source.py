"""The lines of a file, as they come: what `send --lines` reads.

Owns the bound on a line and the numbers of lines; each is judged by itself, so that
one that is no text spoils no other.  Standard library only.  homi-send(1).
"""

import os
import sys

from homi.cli.submission import MAX_TEXT_BYTES, Plan, decoded
from homi.errors import BadMessage, HomiError, NoInput

CHUNK = 1 << 16  # bytes a read


class Line:
    """One message on its way: its place in the file, its text, what became of it."""

    __slots__ = ("error", "id", "number", "report", "text")

    def __init__(self, number: int, text: str = "") -> None:
        """Nothing became of it yet; number counts from 1, empty lines too."""
        self.number = number
        self.text = text
        self.id = ""
        self.error: HomiError | None = None
        self.report: dict[str, object] | None = None

    @property
    def settled(self) -> bool:
        """Whether it is known what became of it."""
        return self.report is not None or self.error is not None


class Source:
    """A file or standard input, read no further than it is asked for."""

    def __init__(self, plan: Plan) -> None:
        """Open it; NoInput (66) where that cannot be."""
        self.fd = 0
        self.ended = False
        self.failure: NoInput | None = None  # why it ended before its end
        self._lines: list[Line] = []  # the next one last
        self._parts: list[bytes] = []  # of a line that has no end yet
        self._size = 0
        self._number = 0
        self._named = plan.file if plan.file not in ("", "-") else ""
        try:
            if self._named:
                self.fd = os.open(self._named, os.O_RDONLY | os.O_CLOEXEC)
            os.fstat(self.fd)  # of a standard input that is closed
        except OSError as error:
            raise self._unreadable(error) from None
        if not self._named and os.isatty(0) and sys.stderr is not None:
            print("homi: type the lines; Ctrl-D ends it", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Close the file; standard input stays."""
        if self.fd:
            os.close(self.fd)

    def next(self) -> Line | None:
        """The next line that was read already; an empty one is counted and left out."""
        return self._lines.pop() if self._lines else None

    @property
    def empty(self) -> bool:
        """Whether nothing is left to give before the next read."""
        return not self._lines

    def read(self) -> None:
        """Read once, which may wait; where it cannot be read it ends with a failure."""
        try:
            data = os.read(self.fd, CHUNK)
        except OSError as error:
            self.failure = self._unreadable(error)
            self.ended = True
            return
        found: list[Line] = []
        if not data:
            self.ended = True
            if self._size:
                self._end(found)
        first, *more = data.split(b"\n")
        self._gather(first)
        for part in more:
            self._end(found)
            self._gather(part)
        self._lines = found[::-1] + self._lines

    def _gather(self, part: bytes) -> None:
        """Keep a part of a line; of one that is too long only its size."""
        self._size += len(part)
        if self._size <= MAX_TEXT_BYTES:
            self._parts.append(part)

    def _end(self, found: list[Line]) -> None:
        """A line is whole: judge it, unless it is empty."""
        data, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        self._number += 1
        if not size:
            return
        line = Line(self._number)
        try:
            if size > MAX_TEXT_BYTES:
                raise BadMessage(
                    f"the text has {size} bytes, the limit is {MAX_TEXT_BYTES}",
                    reason="too-large",
                )
            line.text = decoded(data)
        except BadMessage as error:
            line.error = error
        found.append(line)

    def _unreadable(self, error: OSError) -> NoInput:
        """What cannot be read, and why."""
        return NoInput(
            f"cannot read {self._named or 'standard input'}: {error.strerror}"
        )

"""Lines out of a stream of bytes that another program may have begun with noise.

Owns the bound on a line, and what is passed over before the first frame: what an
rc file or a login shell prints.  homi-protocol(7) is the format.
"""

from collections.abc import Callable

from homi.amount import amount
from homi.config import LINE_MAX_ALONE
from homi.links import frames

FIRST = ("hello", "bye")  # a bye says why there is no hello
NOISE_MAX = 64 << 10  # bytes before the first frame: no rc file is that long
KEPT = 200  # bytes of it that are shown


class Frames:
    """Whole lines of a byte stream, handed on one by one."""

    def __init__(
        self, line: Callable[[bytes], None], overlong: Callable[[int], None]
    ) -> None:
        """line takes each whole line; overlong is told once, and then nothing more."""
        self._line = line
        self._overlong = overlong
        self._parts: list[bytes] = []
        self._gathered = 0
        self._begun = False
        self._noise = b""
        self._noisy = 0
        self._passed = 0  # lines before the first frame
        self.ended = False

    @property
    def noise(self) -> str:
        """What came before the first frame: how many lines, and how they begin."""
        text = self._noise.decode("utf-8", "replace").strip()
        if not text:
            return ""
        lines = amount(self._passed, "line")
        return f"{lines} before the first frame: {text}"

    @property
    def drowned(self) -> bool:
        """Whether there was more noise than is passed over."""
        return self._noisy > NOISE_MAX

    def feed(self, data: bytes) -> None:
        """More of the stream."""
        lines = data.split(b"\n")
        if len(lines) > 1:
            lines[0] = b"".join([*self._parts, lines[0]])
            self._parts, self._gathered = [], 0
        for line in lines[:-1]:
            if self.ended:
                return
            if (self._begun or not self._is_noise(line)) and line:
                self._line(line)
        if lines[-1] and not self.ended:
            self._gather(lines[-1])

    def _is_noise(self, line: bytes) -> bool:
        """Whether line is none of ours; kept in part, and counted."""
        if _begins(line):
            self._begun = True
            return False
        self._passed += bool(line.strip())
        self._noise = (self._noise + line + b"\n")[:KEPT]
        self._count(len(line) + 1)
        return True

    def _gather(self, rest: bytes) -> None:
        """Keep the part of a line that is not whole yet, within the bound."""
        self._parts.append(rest)
        self._gathered += len(rest)
        if self._gathered > LINE_MAX_ALONE:
            self._end(self._gathered)
        elif self._gathered > NOISE_MAX and not self._begun:
            # A first frame is shorter by far, whatever this begins with.
            self._passed += 1
            self._noise = (self._noise + self._parts[0])[:KEPT]
            self._count(self._gathered)

    def _count(self, length: int) -> None:
        """So much more noise; over the bound it is no link."""
        self._noisy += length
        if self.drowned:
            self._end(self._noisy)

    def _end(self, length: int) -> None:
        self.ended = True
        self._parts = []
        self._overlong(length)


def _begins(line: bytes) -> bool:
    """Whether line is a first frame: what else a shell prints in braces is noise."""
    if not line.startswith(b"{"):
        return False
    try:
        return frames.peek(line) in FIRST
    except ValueError:
        return False

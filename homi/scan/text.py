"""A text as a reader takes it: windows without unseen characters, lines joined, base64
decoded, and where in the text of the sender each place is.

Owns how large a piece is looked at in one go.  Knows no secret.
"""

import binascii
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from homi.visible import seen

# Looked at in one go: some milliseconds, so that a long text keeps nobody waiting.
BLOCK = 4_096
# Of the block before, looked at again: no secret is longer, as far as it is told by.
OVERLAP = 1_024

VARIED = 8  # different characters in the base64 of anything that could be a secret

_EDGE_LEFT = " \t>|+#*\"'"  # what quotes, diffs and programs put before a line
_EDGE_RIGHT = "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029 \t\\+\"'"  # and behind it
_SPAN = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_RUN = re.compile(rb"[\t\n\r\x20-\x7e]{12,}")
_STANDARD = str.maketrans("-_", "+/")


def cleaned(block: str) -> str:
    """block in its plain form: full-width letters as letters, nothing unseen."""
    if block.isascii():
        return seen(block)
    return seen(unicodedata.normalize("NFKC", seen(block)))


def lowered(text: str) -> str:
    """text in lower case, character by character, so that places in it stay."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(one.lower() if one.isascii() else one for one in text)


class Window:
    """A piece of a text, cleaned, and some of what stood before it."""

    __slots__ = ("_blocks", "base", "text")

    def __init__(self, text: str, base: int, blocks: "_Blocks") -> None:
        """base: the characters of the whole cleaned text before this."""
        self.text = text
        self.base = base
        self._blocks = blocks

    def offset(self, at: int) -> int:
        """Where in the text of the sender the character at this place stands."""
        return self._blocks.origin(self.base + at)


class _Blocks:
    """How long each block of a text is once it is cleaned."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.ends: list[int] = []

    def origin(self, at: int) -> int:
        """The offset of what the cleaned character at this place was made of."""
        which = bisect_right(self.ends, at)
        left = at - (self.ends[which - 1] if which else 0)
        start = which * BLOCK
        block = self._text[start : start + BLOCK]
        low, high = 0, len(block)
        while low < high:  # the shortest beginning whose cleaned form reaches it
            middle = (low + high) // 2
            if len(cleaned(block[: middle + 1])) > left:
                high = middle
            else:
                low = middle + 1
        return start + low


def windows(text: str) -> Iterator[Window]:
    """The pieces of a text, each with the end of the one before."""
    blocks = _Blocks(text)
    before, done = "", 0
    for start in range(0, len(text), BLOCK):
        fresh = cleaned(text[start : start + BLOCK])
        window = before + fresh
        base = done - len(before)
        done += len(fresh)
        blocks.ends.append(done)
        yield Window(window, base, blocks)
        before = window[-OVERLAP:]


class Joined:
    """The lines of a text as one, without what stands at their edges."""

    __slots__ = ("_froms", "starts", "text")

    def __init__(self, text: str) -> None:
        """Linear in text."""
        parts: list[str] = []
        self._froms: list[int] = []  # where in text each part begins
        at = 0
        for line in text.splitlines(keepends=True):
            left = line.lstrip(_EDGE_LEFT)
            parts.append(left.rstrip(_EDGE_RIGHT))
            self._froms.append(at + len(line) - len(left))
            at += len(line)
        self.text = "".join(parts)
        # Where in the joined text each part begins.
        self.starts = [0, *accumulate(map(len, parts))][: len(parts)]

    def place(self, at: int) -> int:
        """Where in the text that was joined the character at this place stands."""
        which = bisect_right(self.starts, at) - 1
        return self._froms[which] + at - self.starts[which]

    def whole(self, start: int, end: int) -> bool:
        """Whether what stands there stands in one line."""
        return bisect_right(self.starts, start) == bisect_right(self.starts, end - 1)

    def begins(self, at: int) -> bool:
        """Whether a line begins there."""
        which = bisect_right(self.starts, at)
        return bool(which) and self.starts[which - 1] == at


def decoded(text: str) -> Iterator[tuple[int, str]]:
    """What stands readable in the base64 of a text, and where that begins."""
    for span in _SPAN.finditer(text):
        if len(set(span[0])) < VARIED:
            continue
        raw = span[0].translate(_STANDARD)
        # A word before it, or a line joined to it, shifts it by up to three.
        for shift in range(4):
            runs = [run.decode("ascii") for run in _readable(raw[shift:])]
            if runs:
                yield span.start(), "\n".join(runs)
                if 4 * sum(map(len, runs)) > 2 * len(raw):
                    break  # that was how it was meant


def _readable(raw: str) -> list[bytes]:
    """The printable pieces of what raw stands for."""
    if len(raw) % 4 == 1:
        raw = raw[:-1]
    data = binascii.a2b_base64(raw + "=" * (-len(raw) % 4))
    return _RUN.findall(data.replace(b"\0", b""))

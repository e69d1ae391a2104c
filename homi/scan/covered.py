"""The rows of a screen without the secrets on them.  homi-seat(1).

Owns how much of a row is covered.
"""

import re
from bisect import bisect_right

from homi.scan.scanner import Scanner
from homi.scan.text import windows

_WORD = re.compile(r"[^\s\"'`]+")
_ROWS = 4  # that a secret may be wrapped into


def mask(rows: list[str], width: int) -> list[str]:
    """The rows with each secret covered, also where it goes on in the next row."""
    scanner = Scanner()
    text = "\n".join(rows)
    found: dict[int, str] = {}
    for window in windows(text):
        for rule, at in scanner.window(window.text):
            found.setdefault(window.offset(at), rule)
    covered = list(rows)
    starts = [0]
    for each in rows:
        starts.append(starts[-1] + len(each) + 1)
    for offset, rule in sorted(found.items(), reverse=True):
        row = bisect_right(starts, offset, hi=len(rows)) - 1
        _cover(covered, row, offset - starts[row], rule, width)
    return covered


def _cover(rows: list[str], row: int, column: int, rule: str, width: int) -> None:
    """Cover the word that begins there, and what a full row leaves to the next."""
    told = f"[masked: {rule}]"
    for at in range(row, min(row + _ROWS, len(rows))):
        line = rows[at]
        word = _WORD.search(line, column)
        if word is None:
            return
        rows[at] = line[: word.start()] + told + line[word.end() :]
        if word.end() < len(line) or len(line) < width - 2:
            return
        told, column = "[masked]", 0

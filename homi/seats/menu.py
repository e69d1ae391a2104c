"""A menu on a screen: its options in order, and which one is highlighted.

Owns what may count as a whole menu: what is not understood to its last row is not
complete, and is never answered.  homi-seat(1) has the rules.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from homi.seats.screen import BLANKS

_BOX = re.compile(r"^[☐☒✔]?\[[ x✔✓]\] ")
_RULE = re.compile(r"^\s*[─╌]{8,}")
_HINT = re.compile(r"(?i)\b(esc|enter|tab|ctrl|to navigate)\b")
_MORE = re.compile(r"^\s*[↑↓]")
# An answer that holds for more than what is asked now, by the words of the clients.
_LASTING = re.compile(
    r"(?i)\b(always|again|remember|session|all|any|every|future|auto\w*|permanent\w*|"
    r"accept edits|trust)\b|^yes,? and\b|^(yes|allow)\b.*\bfor\b"
)
_REFUSING = re.compile(r"(?i)^(no|deny|cancel|back|continue without|don['’]t)\b")
# What is answered here is written down by the client and not asked again.
_KEPT = frozenset({"trust", "mcp-server", "bypass-warning", "api-key", "hooks-review"})


class Menu(msgspec.Struct, frozen=True, kw_only=True):
    """What a client asks."""

    kind: str  # bash edit write mcp webfetch question plan trust held-message … other
    options: list[str]  # in order; a label, then its description
    highlighted: int  # from 0
    complete: bool = True  # every option was read, and one of them is to be chosen
    about: list[str] = []  # the lines above the options: what it is about

    def lasting(self, index: int) -> bool:
        """Whether that option may hold for more than this once."""
        option = self.options[index]
        if _REFUSING.search(option):
            return False
        if self.kind in _KEPT:
            return True
        return self.kind != "question" and bool(_LASTING.search(option))


class Block(msgspec.Struct, frozen=True):
    """Where a menu stands among the rows, and what it holds."""

    top: int  # the row of its first option
    options: list[str]
    highlighted: int
    complete: bool


def find(rows: Sequence[str], mark: str) -> Block | None:
    """The lowest menu whose highlighted option has that mark; None where none is.

    rows end where the screen does: what stands below the options must be hints.
    """
    at = next((n for n in range(len(rows) - 1, -1, -1) if _marked(rows[n], mark)), None)
    if at is None:
        return None
    indent = rows[at].index(mark)
    number = re.match(r"(\d+)\. ", rows[at][indent + len(mark) + 1 :])
    if number is None:
        return _plain(rows, at, indent)
    return _numbered(rows, at, indent, int(number[1]))


def _marked(row: str, mark: str) -> bool:
    """Whether the row begins with the mark and something behind it."""
    text = row.strip(BLANKS)
    return text.startswith(mark + " ") and bool(text[len(mark) :].strip(BLANKS))


def _numbered(rows: Sequence[str], at: int, indent: int, number: int) -> Block:
    """A menu whose options are counted from 1, up and down from the marked one."""
    column = indent + 2
    starts = _up(rows, at, column, number)
    end = _down(rows, at, column, starts)
    lowest = min(starts)
    options: list[str] = []
    highlighted = 0
    bounds = [*sorted(starts.values()), end + 1]
    for index, (first, stop) in enumerate(pairwise(bounds)):
        if first == at:
            highlighted = len(options)
        head = len(f"{lowest + index}. ") + column
        options += _option(rows[first:stop], head)
    single = not any(_BOX.match(option) for option in options)
    whole = lowest == 1 and single and _whole(options, rows[end + 1 :])
    return Block(bounds[0], options, highlighted, whole)


def _up(rows: Sequence[str], at: int, column: int, number: int) -> dict[int, int]:
    """The row of each option from the marked one up to number 1, as far as they are
    there one by one."""
    starts = {number: at}
    for row in range(at - 1, -1, -1):
        above = min(starts) - 1
        if above and _is_number(rows[row], column, above):
            starts[above] = row
        elif not above or not _belongs(rows[row], column):
            break
    return starts


def _down(rows: Sequence[str], at: int, column: int, starts: dict[int, int]) -> int:
    """The last row of the options below the marked one, which are put into starts."""
    end = at
    for row in range(at + 1, len(rows)):
        following = max(starts) + 1
        if _is_number(rows[row], column, following):
            starts[following] = end = row
        elif _belongs(rows[row], column):
            end = row
        elif rows[row].strip() and not _RULE.match(rows[row]):
            break
    return end


def _is_number(row: str, column: int, number: int) -> bool:
    """Whether the row is the option of that number."""
    return row[:column].strip(BLANKS) == "" and row[column:].startswith(f"{number}. ")


def _belongs(row: str, column: int) -> bool:
    """Whether the row goes on with the option above it."""
    text = row.rstrip(BLANKS)
    return bool(text) and len(text) - len(text.lstrip(BLANKS)) > column


def _option(rows: Sequence[str], head: int) -> list[str]:
    """The option that these rows draw; in a list of boxes also one without a number."""
    found = [rows[0][head:]]
    for row in rows[1:]:
        if not row.strip(BLANKS) or _RULE.match(row):
            continue
        own = len(row) - len(row.lstrip(BLANKS)) == head
        if own and _BOX.match(found[0]):
            found.append(row)
        else:
            found[-1] += " " + row
    return [" ".join(option.split()) for option in found]


def _plain(rows: Sequence[str], at: int, indent: int) -> Block:
    """A menu without numbers: the rows in one column around the marked one."""
    column = indent + 2
    top = end = at
    while top and _aligned(rows[top - 1], column):
        top -= 1
    while end + 1 < len(rows) and _aligned(rows[end + 1], column):
        end += 1
    options = [" ".join(row[column:].split()) for row in rows[top : end + 1]]
    # A long option may go on in the next row, which then looks like one of its own.
    width = max((len(row) for row in rows), default=0)
    wrapped = any(
        len(above) + 1 + len(below.split()[0]) > width - 2
        for above, below in zip(rows[top:end], rows[top + 1 : end + 1], strict=True)
    )
    whole = not wrapped and _whole(options, rows[end + 1 :])
    return Block(top, options, at - top, whole)


def _aligned(row: str, column: int) -> bool:
    """Whether the row is an option of that column."""
    return row[:column].strip(BLANKS) == "" and row[column : column + 1].strip() != ""


def _whole(options: Sequence[str], below: Sequence[str]) -> bool:
    """Whether no option is missing: only the keys are told below them, or the last
    one refuses, as the last one does."""
    text = [row for row in below if row.strip(BLANKS)]
    if len(options) < 2 or any(_MORE.match(row) for row in text):
        return False
    if not text:
        return bool(_REFUSING.search(options[-1]))
    return bool(_HINT.search(" ".join(text)))

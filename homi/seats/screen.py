"""A pane as tmux shows it: its facts, and the text of its screen with what is faint.

Owns the reading of a captured screen; knows no client.  homi-seat(1) has the rules
that are applied to it.
"""

import re
import unicodedata
from collections.abc import Iterator

import msgspec

BLANKS = " \u00a0"  # clients draw the space behind their sign as one that never breaks
# What tmux writes into a capture beside text: attributes, and links (since 3.4).
_ESCAPE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_COLOURS = frozenset({"38", "48", "58"})  # the parameters that follow are theirs


class Pane(msgspec.Struct, frozen=True, kw_only=True):
    """What tmux and the system say about one pane, at the moment of a capture."""

    id: str = ""  # %N
    pid: int = 0  # of the program the pane was opened with
    start: str = ""  # its start time: a reused id or pid is another pane
    client: str = ""  # claude | codex | shell | "": what it was opened for
    command: str = ""  # the program in the foreground
    title: str = ""
    cwd: str = ""
    cursor: tuple[int, int] = (0, 0)  # column and row, from 0
    width: int = 80
    height: int = 24
    dead: bool = False
    alternate: bool = False  # the screen that full-screen programs use
    copy_mode: bool = False  # keys go to tmux, not to the program


class Line(msgspec.Struct, frozen=True):
    """One row: its characters, and for each whether it is drawn faint."""

    text: str
    faint: tuple[bool, ...]

    @property
    def plain(self) -> str:
        """The text without what nobody sees at its end."""
        return self.text.rstrip(BLANKS)

    def bright(self, start: int = 0) -> str:
        """What is written from that character on and not faint."""
        cells = zip(self.text[start:], self.faint[start:], strict=True)
        return "".join(char for char, faint in cells if not faint).strip(BLANKS)

    def upto(self, column: int) -> int:
        """How many characters stand left of a column of the terminal."""
        at = 0
        for count, char in enumerate(self.text):
            if at >= column:
                return count
            at += _width(char)
        return len(self.text)


class Screen(msgspec.Struct, frozen=True):
    """What a pane shows."""

    pane: Pane
    lines: list[Line]

    @property
    def text(self) -> list[str]:
        """Every row without blanks at its end."""
        return [line.plain for line in self.lines]

    @property
    def last(self) -> int:
        """The lowest row with anything on it, -1 on an empty screen."""
        rows = range(len(self.lines) - 1, -1, -1)
        return next((row for row in rows if self.lines[row].plain), -1)


def read(captured: str, pane: Pane) -> Screen:
    """The screen of `capture-pane -e`: attributes go on from row to row."""
    lines, faint = [], False
    for row in captured.rstrip("\n").split("\n"):
        text: list[str] = []
        shades: list[bool] = []
        for chars, shade in _runs(row, faint):
            text.append(chars)
            shades += [shade] * len(chars)
            faint = shade
        lines.append(Line("".join(text), tuple(shades)))
    return Screen(pane, lines)


def _runs(row: str, faint: bool) -> Iterator[tuple[str, bool]]:
    """The stretches of a row between its escapes; the last may be empty."""
    at = 0
    for found in _ESCAPE.finditer(row):
        yield row[at : found.start()], faint
        at = found.end()
        if found[1] is not None:
            faint = _faint(found[1], faint)
    yield row[at:], faint


def _faint(parameters: str, faint: bool) -> bool:
    """Whether text is faint behind these attributes."""
    given = iter(parameters.replace(":", ";").split(";"))
    for each in given:
        if each in _COLOURS:
            for _ in range(3 if next(given, "") == "2" else 1):
                next(given, "")
        elif each == "2":
            faint = True
        elif each in ("", "0", "22"):
            faint = False
    return faint


def _width(char: str) -> int:
    """How many columns a character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1

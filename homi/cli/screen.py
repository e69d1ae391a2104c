"""Tables on a terminal: widths and colour; a home of rich.

Imported when a table is to be drawn, never before; of rich only what counts the
places that a character fills.  Owns which column gives way when a terminal is too
narrow, and which words have a colour.
"""

import os
import shutil
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from homi import render
from homi.cli import output
from homi.render import Cell

GAP = "  "  # between two columns
BELOW = "    "  # before what stands below its row
NARROW = 8  # places a column keeps at least when it gives way
# What a person types or counts by stays whole; the rest is there to be looked at.
WHOLE = frozenset(
    [
        *("AGE", "ALIAS", "AT", "DEVICE", "ID", "KEY", "LEFT", "MEMBER", "NAME"),
        *("NEXT", "OLDEST", "OWNER", "PENDING", "ROOM", "RUNG", "SEAT", "STATE"),
        *("THREAD", "VALUE"),
    ]
)
COLOURED = frozenset({"STATE", "RUNG", "ANSWERS", "USABLE"})
_BOLD, _DIM, _RED, _GREEN, _YELLOW = "1", "2", "31", "32", "33"
_COLOURS = {
    "live": _GREEN,
    "seen": _GREEN,
    "answered": _GREEN,
    "yes": _GREEN,
    "held": _YELLOW,
    "deferred": _YELLOW,
    "parked": _YELLOW,
    "unknown": _YELLOW,
    "silent": _RED,
    "refused": _RED,
    "bounced": _RED,
    "expired": _RED,
    "dropped": _RED,
    "no": _RED,
    "built-in": _DIM,
}


def draw(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    """Draw rows under their columns, as wide as the terminal and as it may be; 0."""
    width = shutil.get_terminal_size().columns
    output.line(aligned(columns, rows, width, colour=colourful()))
    return 0


def draw_whole(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    """As draw(), but the last column is whole: where there is no room for it in its
    place, it stands right behind its row, or below it; 0."""
    width = shutil.get_terminal_size().columns
    text = aligned(columns, rows, colour=colourful())
    if max(map(cell_len, aligned(columns, rows).splitlines())) > width:
        fronts = [row[:-1] for row in rows]
        drawn = _drawn(columns[:-1], fronts, width, colour=False)
        plain = [row.rpartition("\n")[2] for row in drawn]
        shown = _drawn(columns[:-1], fronts, width, colour=colourful())
        ends = [columns[-1], *(render.cell(row[-1]) for row in rows)]
        place = max(map(cell_len, plain))
        text = "\n".join(
            _behind(line, end, place - cell_len(bare), width - cell_len(bare))
            for bare, line, end in zip(plain, shown, ends, strict=True)
        )
    output.line(text)
    return 0


def _behind(line: str, end: str, short: int, room: int) -> str:
    """A line, so much shorter than the longest, with its end; below it where there is
    no room."""
    if not end:
        return line
    needed = len(GAP) + cell_len(end)
    if short + needed <= room:
        return f"{line}{' ' * short}{GAP}{end}"
    return f"{line}{GAP}{end}" if needed <= room else f"{line}\n{BELOW}{end}"


def colourful() -> bool:
    """Whether this terminal and this person want colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in ("", "dumb")
    return not plain


def aligned(
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    width: int = 0,
    *,
    colour: bool = False,
) -> str:
    """The lines of rows under their columns, none with blanks at its end.

    A column in which nothing stands is left out.  Of too many for width (0: there
    is room for all) the widest ones are cut, those in WHOLE never: what is behind one
    that leaves too little room stands below it then, in its columns.
    """
    return "\n".join(_drawn(columns, rows, width, colour=colour))


def _drawn(
    columns: Sequence[str], rows: Sequence[Sequence[Cell]], width: int, *, colour: bool
) -> list[str]:
    """The head, where there is one, and each row; some are two lines."""
    cells = [[render.cell(value) for value in row] for row in rows]
    full = [at for at, column in enumerate(zip(*cells, strict=True)) if any(column)]
    kept = full or [0]
    heads = [columns[at] for at in kept]
    cells = [[row[at] for at in kept] for row in cells]
    if any(heads):
        cells.insert(0, heads)
    widths, whole = _widths(heads, cells, width if any(heads) else 0)
    coloured = [colour and head in COLOURED for head in heads]
    drawn = [_row(row, widths, coloured, whole) for row in cells]
    if colour and any(heads):
        drawn[0] = _paint(drawn[0], _BOLD)
    return drawn


def _widths(
    heads: Sequence[str], cells: Sequence[Sequence[str]], width: int
) -> tuple[list[int], int]:
    """Those of the columns, and in which one a wider cell breaks its row; -1: none."""
    natural = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    widths = list(natural)
    _fit(widths, heads, width)
    widest = max(range(len(widths)), key=widths.__getitem__)
    over = sum(widths) + len(GAP) * (len(widths) - 1) - width
    room = widths[widest] - over
    if not width or over <= 0 or heads[widest] not in WHOLE or room < NARROW:
        return widths, -1
    fits = [wide for row in cells if (wide := cell_len(row[widest])) <= room]
    natural[widest] = max(NARROW, *fits)
    _fit(natural, heads, width)
    return natural, widest


def _fit(widths: list[int], heads: Sequence[str], width: int) -> None:
    """Take from the widest columns that may give way until all fit, or none can."""
    while width and sum(widths) + len(GAP) * (len(widths) - 1) > width:
        loose = [
            at
            for at, head in enumerate(heads)
            if head not in WHOLE and widths[at] > max(NARROW, cell_len(head))
        ]
        if not loose:
            return
        widths[max(loose, key=widths.__getitem__)] -= 1


def _row(
    row: Sequence[str], widths: Sequence[int], coloured: Sequence[bool], whole: int
) -> str:
    """One line, or two where its whole cell is wider than its column."""
    if whole < 0 or cell_len(row[whole]) <= widths[whole]:
        return _line(row, widths, coloured)
    end = whole + 1
    front = _line(row[:end], [*widths[:whole], cell_len(row[whole])], coloured[:end])
    rest = _line([*([""] * end), *row[end:]], widths, coloured)
    return f"{front}\n{rest}" if rest else front


def _line(row: Sequence[str], widths: Sequence[int], coloured: Sequence[bool]) -> str:
    """One line: cells cut or filled to their widths."""
    pairs = list(zip(row, widths, strict=True))
    filled = [
        _cut(text, width) if cell_len(text) > width else _fill(text, width)
        for text, width in pairs
    ]
    filled[-1] = filled[-1].rstrip()
    while len(filled) > 1 and not filled[-1].strip():
        filled[-2:] = [filled[-2].rstrip()]
    return GAP.join(
        _coloured(text) if on else text
        for text, on in zip(filled, coloured, strict=False)
    )


def _cut(text: str, width: int) -> str:
    """The start of text and a mark that it goes on, exactly width places."""
    return set_cell_size(text, width - 1) + "…"


def _fill(text: str, width: int) -> str:
    """text with blanks up to width places."""
    return text + " " * (width - cell_len(text))


def _coloured(text: str) -> str:
    """A word that has a colour in it; the blanks behind it stay as they are."""
    word = text.rstrip()
    code = _COLOURS.get(word)
    return _paint(word, code) + text[len(word) :] if code else text


def _paint(text: str, code: str) -> str:
    """text in a colour, and no more than it."""
    return f"\x1b[{code}m{text}\x1b[0m"

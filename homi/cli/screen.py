"""Aligned tables on a terminal; the only home of rich.

Imported when a table is to be drawn, never before.  Owns the widths: a character
that fills two places of the terminal is counted as two.
"""

from collections.abc import Sequence

from rich.cells import cell_len

from homi import render
from homi.cli import output
from homi.render import Cell

GAP = "  "  # between two columns


def draw(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    """Draw rows under their columns; 0."""
    output.line(aligned(columns, rows))
    return 0


def aligned(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """The lines of rows under their columns, none with blanks at its end.

    Nothing is cut: a terminal wraps what is too long for it, ids stay whole.
    """
    cells = [[render.cell(value) for value in row] for row in rows]
    if any(columns):
        cells.insert(0, list(columns))
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    lines = (
        GAP.join(
            text + " " * (width - cell_len(text))
            for text, width in zip(row, widths, strict=True)
        )
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)

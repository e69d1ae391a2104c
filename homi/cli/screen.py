"""Aligned tables on a terminal; the only home of rich.

Imported when a table is to be drawn, never before.  NO_COLOR is honoured by rich.
"""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from homi import render
from homi.render import Cell


def draw(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    """Draw rows under their columns; 0."""
    # A terminal wraps what is too long for it; rich would cut it, ids too.
    console = Console(width=10_000, highlight=False, markup=False, emoji=False)
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        show_header=any(columns),
        header_style="",
    )
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        # Text, never markup: a name or a reason is no command to the console.
        table.add_row(*(Text(render.cell(value)) for value in row))
    console.print(table)
    return 0

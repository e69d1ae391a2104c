"""A screen as it is shown here.  homi-seat(1).

Owns the printing.  Loaded by the verb that prints one alone.
"""

from homi.cli import farseat
from homi.scan.covered import mask
from homi.visible import visible


def show(seat: str, rows: list[str], width: int, as_json: bool) -> int:
    """Print the rows of a seat, what is empty at the end left out; 0."""
    shown = [visible(row) for row in mask(rows, width)]
    while shown and not shown[-1]:
        shown.pop()
    farseat.show(seat, shown, as_json=as_json)
    return 0

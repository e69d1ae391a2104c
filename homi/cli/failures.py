"""Rows of an answer that say what could not be done: told, and their exit status.

Owns nothing else; a command lists what was done itself.
"""

from typing import Protocol

from homi.cli.fast import complain
from homi.errors import from_wire


class Failed(Protocol):
    """A row with the error of one thing out of many."""

    @property
    def code(self) -> str:
        """The error's, of homi.errors."""
        ...

    @property
    def hint(self) -> str:
        """What to do about it; empty where nothing is known."""
        ...


def refused(row: Failed, about: str, *, as_json: bool) -> int:
    """The exit status of a row, said on stderr as about; JSON holds it already."""
    error = from_wire(row.code, about, row.hint)
    return error.exit_status if as_json else complain(error)

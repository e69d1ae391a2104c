"""What setup does with one file of a client: the contract, and its words.

Owns the vocabulary of states.  homi-setup(1) lists it.
"""

from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, Protocol

from homi.setup.record import Kept

# Why a file is left where a person called another server so.
TAKEN = "its server homi is another program, which needs another name first"


class State(StrEnum):
    """What became of a part."""

    ADDED = "added"
    UPDATED = "updated"  # homi's own entry called it another way
    ALREADY = "already"
    REMOVED = "removed"
    ABSENT = "absent"  # not there, so not taken out
    KEPT = "kept"  # a person changed it, so it is theirs
    LEFT = "left"  # it cannot be edited without a guess


class Edited(NamedTuple):
    """A file's new text, None where it is not to be there, and what became of each
    part of it."""

    text: str | None
    parts: list[tuple[str, State]]
    note: str = ""


class Editor(Protocol):
    """One file; text is None where it is not there.  Both raise Unsafe (65) where
    they would have to guess."""

    name: str  # in the record
    path: Path
    parts: tuple[str, ...]
    backup: bool  # whether what it was is kept beside it

    def add(self, text: str | None, kept: Kept) -> Edited:
        """The text with homi in it; kept learns what was made for that."""
        ...

    def strip(self, text: str | None, kept: Kept) -> Edited:
        """The text without homi."""
        ...

    def calls(self, text: str) -> list[tuple[str, list[str]]]:
        """The part and the words of each entry that calls homi."""
        ...

    def paste(self) -> str:
        """What a person would put in by hand."""
        ...

    def alone(self, target: Path) -> AbstractContextManager[None]:
        """The client itself does not write the file meanwhile, as far as it can be
        kept from it."""
        ...

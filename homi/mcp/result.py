"""What a tool answers: text for a model, the same as fields, and what is recorded
once that was handed over.

Owns the form of a failure; knows nothing of the protocol.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from homi.errors import HomiError
from homi.visible import visible


class Seen(NamedTuple):
    """Messages of a mailbox whose text is in a result."""

    name: str
    ids: list[str]
    # To be called once that is recorded, or never will be: until then what was
    # answered comes in no turn beside.
    close: Callable[[], None] = lambda: None


class Result(NamedTuple):
    """What became of a call."""

    text: str
    # Clients show a model the text or these, never both: all that counts is in either.
    fields: dict[str, Any]
    seen: Seen | None = None


def failed(error: HomiError) -> str:
    """A failure in the form of the house; nothing in it that a reader cannot see."""
    lines = [f"homi: {visible(error.text)}"]
    if error.hint:
        lines.append(f"homi: hint: {visible(error.hint)}")
    return "\n".join(lines)

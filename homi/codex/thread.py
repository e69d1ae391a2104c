"""What an app server tells of threads, and how it fails.

Owns the fields that homi reads, no more of them; pure.  homi-codex(1).
"""

from typing import Any, TypeVar

import msgspec

from homi.errors import Unavailable
from homi.visible import visible

CLIENT = "codex"
NOT_LOADED = "notLoaded"

Found = TypeVar("Found", bound=msgspec.Struct)


class Unreachable(Unavailable):
    """No app server answers there (69)."""

    def __init__(self, path: str, why: str) -> None:
        """path: its control socket."""
        super().__init__(
            f"no Codex answers at {path}: {plain(why)}",
            hint="start codex there: its threads live while it does",
        )


class Failed(Unavailable):
    """The app server answered with an error (69)."""

    def __init__(self, method: str, why: str) -> None:
        """why: its own words."""
        super().__init__(f"Codex did not do {method}: {plain(why)[:300]}")


class Cannot(Failed):
    """The app server does not know that method: this Codex cannot do it (69)."""


class Lost(Failed):
    """No answer came: it may be done or not (69)."""


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """How a thread is."""

    type: str  # notLoaded | idle | systemError | active
    active_flags: list[str] = []

    @property
    def loaded(self) -> bool:
        """Whether some process has it."""
        return self.type != NOT_LOADED

    @property
    def word(self) -> str:
        """As homi says it of any session: idle, busy or waiting; empty: neither."""
        if self.type == "active":
            return "waiting" if self.active_flags else "busy"
        return "idle" if self.loaded else ""


class Thread(msgspec.Struct, frozen=True, rename="camel"):
    """A conversation."""

    id: str
    status: Status
    cwd: str = ""
    name: str | None = None
    preview: str = ""
    ephemeral: bool = False  # one that makes a title, say: nobody's


class Piece(msgspec.Struct, frozen=True):
    """A part of an input."""

    type: str = ""
    text: str = ""


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """What waits in the queue of a thread."""

    id: str
    client_user_message_id: str | None = None
    input: list[Piece] = []

    @property
    def text(self) -> str:
        """What it says."""
        return "".join(piece.text for piece in self.input)


class Said(msgspec.Struct, frozen=True, rename="camel"):
    """Something in a conversation."""

    type: str
    client_id: str | None = None
    text: str = ""
    content: list[Any] = []  # of a user's message, whose parts have a text

    @property
    def words(self) -> str:
        """What it says."""
        parts = (one.get("text") for one in self.content if isinstance(one, dict))
        return self.text or "".join(part for part in parts if isinstance(part, str))


class Entry(msgspec.Struct, frozen=True, rename="camel"):
    """A line of a history."""

    turn_id: str
    item: Said


class Turn(msgspec.Struct, frozen=True):
    """A turn of a thread."""

    id: str
    status: str  # inProgress | completed | interrupted | failed


def read(data: object, kind: type[Found]) -> Found:
    """data as kind; Failed where it is no such thing."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise Failed(kind.__name__.lower(), f"not understood: {error}") from None


def read_all(data: object, kind: type[Found]) -> list[Found]:
    """Each of a list that is one; what is none of it says nothing."""
    found: list[Found] = []
    for each in data if isinstance(data, list) else ():
        try:
            found.append(msgspec.convert(each, kind))
        except msgspec.ValidationError:
            continue
    return found


def plain(text: str) -> str:
    """What others wrote, as one line that acts and hides nothing."""
    return visible(" ".join(text.split()))

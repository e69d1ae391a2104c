"""What is told of rooms: their members, and what waits for each.

Owns the fields of these answers, which only grow.  homi-protocol(7) is the page.
"""

from typing import Literal

import msgspec


class MemberRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One member of a room."""

    member: str  # a name here, or one with its device
    at: str  # RFC 3339: since when
    notify: bool = False  # a notice in place of copies
    pending: int | None = None  # messages that wait in the room for it; None: unknown
    reason: str = ""  # why the last try failed
    until: str = ""  # RFC 3339: of the next try


class RoomRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One room."""

    name: str
    at: str = ""  # RFC 3339: when it was made
    pending: int = 0  # messages that some member has not got yet
    members: list[MemberRow] = []


class RoomRows(msgspec.Struct, frozen=True):
    """Answer to rooms."""

    rooms: list[RoomRow]


class RoomChanged(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to room: whom it changed something for."""

    name: str
    done: str  # create, join, leave or rm
    members: list[str] = []  # those that joined or left
    already: list[str] = []  # those that were in it
    total: int = 0  # members it has now
    pending: int = 0  # of one that ended: what stays pending in its mailbox


class Guest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a device asks of the rooms of another, for names of its own."""

    do: Literal["join", "leave", "ls"]
    room: str = ""  # of ls: that one, else all
    members: list[str] = []  # names there
    notify: bool = False

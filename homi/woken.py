"""What is told of wakes: when each fires, and what became of it.

Owns the fields of these answers, which only grow.  homi-protocol(7) is the page.
"""

import msgspec


class WakeRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One wake."""

    id: str
    to: str  # an address
    from_: str = msgspec.field(name="from")
    by: str  # the class of who made it
    at: str  # RFC 3339: when it was made
    trigger: str  # as its options have it
    state: str  # on, paused, done, unread, or what is wrong
    next: str = ""  # RFC 3339; empty: by an event, or never
    last: str = ""  # RFC 3339: when the newest envelope was stored
    message: str = ""  # the id of that one
    fired: int = 0  # envelopes
    missed: int = 0  # slots that passed without one
    skipped: int = 0  # slots at which the last one was not read yet
    failure: str = ""  # what is wrong, in words
    fix: str = ""  # what helps
    until: str = ""  # RFC 3339: it does not fire behind that
    most: int = 0  # times it fires; 0: without end
    spawn: bool = False  # starts a session where none lives


class WakeRows(msgspec.Struct, frozen=True):
    """Answer to wakes."""

    wakes: list[WakeRow]


class WakeDone(msgspec.Struct, frozen=True):
    """Answer to wake-add and wake-order: the wake as it is now."""

    done: str  # add, rm, pause, resume or run
    wake: WakeRow

"""What may be asked of the daemon about seats: one struct a verb.

Owns the fields; homi.requests lists them with all others.  homi-protocol(7).
"""

from typing import Literal

from homi.request import CallerClass, Request


class SeatSpawn(Request, frozen=True, tag="seat-spawn"):
    """Open a seat with that program, in that folder."""

    soon = True
    name: str
    argv: list[str]
    cwd: str
    client: str = ""  # whose rules its screen is read by; empty: the program's name
    columns: int = 120
    rows: int = 40
    path: str = ""  # the PATH of who asks; empty: the daemon's


class SeatSend(Request, frozen=True, tag="seat-send"):
    """Type text into a seat and press Enter, once and only where it is safe."""

    soon = True
    seat: str
    text: str


class SeatRespond(Request, frozen=True, tag="seat-respond"):
    """Choose an option of what a seat asks, by its number or its text."""

    soon = True
    seat: str
    option: str


class SeatOrder(Request, frozen=True, tag="seat-order"):
    """Press Escape once in a seat, or end it."""

    soon = True
    do: Literal["interrupt", "kill"]
    seat: str


class FarSeat(Request, frozen=True, tag="seat-far"):
    """Look at the seats of another device, or drive one: that a person does."""

    soon = True
    device: str
    do: Literal["ls", "read", "state", "send", "respond", "interrupt"]
    seat: str = ""
    text: str = ""
    option: str = ""
    lines: int = 0


class SeatBind(Request, frozen=True, tag="seat-bind"):
    """Let mail for name be typed into a seat; None: no more."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    name: str
    seat: str | None = None

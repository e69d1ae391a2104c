"""What another device is told of the seats here, and does in them.

Owns the bounds of an answer, and that no secret is in one; that its device was let in
is decided before.  Blocking: a thread of its own runs it.  homi-seat(1).
"""

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from homi.address import Device, Name
from homi.doors.driving import Driver
from homi.doors.farseats import check
from homi.scan.covered import mask
from homi.seated import Asked, SeatAsk, SeatSaid, SeatState, asked, listed, row
from homi.seats.server import Look, Server
from homi.visible import visible

ROWS_MAX = 200  # seats
SCREEN_MAX = 128 << 10  # characters of a screen and what stands above it
LINE_MAX = 1000  # characters of a row


class SeatGuests:
    """The seats of this device, for others."""

    def __init__(self, server: Server) -> None:
        """No tmux runs before the first question."""
        self._server = server
        self._driver = Driver(server)

    def answer(
        self, device: Device, ask: SeatAsk, bound: Mapping[str, list[Name]]
    ) -> SeatSaid:
        """Do what a device asks; HomiError is what it is told instead.  bound: whose
        mail is typed into which seat, by its ref."""
        check(ask)
        if ask.do == "ls":
            return SeatSaid(rows=listed(self._server, bound)[:ROWS_MAX])
        seat = self._server.find(ask.seat)
        by = f"@{device}"
        if ask.do == "read":
            return SeatSaid(lines=_screen(self._server.look(seat, ask.lines)))
        if ask.do == "state":
            look = self._server.look(seat)
            names = bound.get(seat.ref, [])
            menu = _masked(asked(look.view.menu), look.seat.pane.width)
            return SeatSaid(state=SeatState(row=row(look, names), asked=menu))
        work = {
            "send": partial(self._driver.send, seat, ask.text, by),
            "respond": partial(self._driver.respond, seat, ask.option, by),
            "interrupt": partial(self._driver.interrupt, seat, by),
        }[ask.do]
        return SeatSaid(done=work())


def _screen(look: Look) -> list[str]:
    """Its rows, the empty ones at the end left out, and of too many the last."""
    rows = mask(look.screen.text, look.seat.pane.width)
    shown = [visible(each)[:LINE_MAX] for each in rows]
    while shown and not shown[-1]:
        shown.pop()
    left = SCREEN_MAX
    for at in range(len(shown) - 1, -1, -1):
        left -= len(shown[at])
        if left < 0:
            return shown[at + 1 :]
    return shown


def _masked(found: Asked | None, width: int) -> Asked | None:
    """A dialog without the secrets in it."""
    if found is None:
        return None
    return replace(
        found, about=mask(found.about, width), options=mask(found.options, width)
    )

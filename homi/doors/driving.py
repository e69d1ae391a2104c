"""The hands on a seat, whoever they are lent to: typing, answering, interrupting.

Owns what may be answered; who may is decided by who calls, what is typed and when in
homi.seats.  Blocking: a thread of its own runs it.  homi-seat(1).
"""

import logging

from homi.address import show
from homi.errors import BadMessage, NoInput, NotAllowed, Usage
from homi.seated import SeatDone
from homi.seats.manners import Why, held_back
from homi.seats.menu import Menu
from homi.seats.server import Seat, Server
from homi.seats.typist import Typist
from homi.seats.view import State

log = logging.getLogger("homi.seats")


class Driver:
    """What is done in seats, and told in the log by whom."""

    def __init__(self, server: Server) -> None:
        """Nothing is kept between two of them."""
        self._server = server
        self._typist = Typist(server)

    def send(self, seat: Seat, text: str, by: str) -> SeatDone:
        """Type it, if nobody else is at it."""
        sent = self._typist.send(seat, text)
        log.info("seat %s by=%s status=sent", seat.name, by)
        return SeatDone(seat=seat.name, did="sent", state=sent.state, gone=sent.gone)

    def respond(self, seat: Seat, given: str, by: str) -> SeatDone:
        """Answer for this once what is asked, if that is an answer at all."""
        look = self._server.look(seat)
        menu = look.view.menu
        if look.view.state is not State.APPROVAL or menu is None:
            raise NoInput(
                f"seat {seat.name} asks nothing, it is {look.view.state}",
                hint=f"homi seat state {seat.name}",
            )
        if look.seat.pane.copy_mode:
            raise held_back(seat.name, Why.COPY_MODE)
        index = chosen(menu, given)
        state = self._typist.respond(seat, index, menu)
        option = menu.options[index]
        log.info("seat %s by=%s status=answered", seat.name, by)
        return SeatDone(seat=seat.name, did="answered", state=state, option=option)

    def interrupt(self, seat: Seat, by: str) -> SeatDone:
        """Press Escape once."""
        before, after = self._typist.interrupt(seat)
        log.info("seat %s by=%s status=interrupted", seat.name, by)
        return SeatDone(
            seat=seat.name,
            did="interrupted",
            before=before.state,
            state=after.state,
            draft=after.draft,
        )


def chosen(menu: Menu, given: str) -> int:
    """The option that is meant, from 0.

    BadMessage (65) for a menu that was not read in full; Usage (64) where none or
    several are meant; NotAllowed (77) for one that holds for longer than this once.
    """
    if not menu.complete:
        raise BadMessage(
            "that dialog was not read in full, or wants more than one choice",
            hint="a person answers it in its terminal",
        )
    index = _index(menu, given)
    if menu.lasting(index):
        raise NotAllowed(
            f"{menu.options[index]!r} may hold for more than this once",
            hint="a person chooses that in the terminal itself",
        )
    return index


def _index(menu: Menu, given: str) -> int:
    """The option of that number, or that begins so."""
    count = len(menu.options)
    if given.isascii() and given.isdecimal():
        if not 1 <= int(given[:6]) <= count:
            raise Usage(f"no option {given[:6]}: there are {count}")
        return int(given) - 1
    wanted = " ".join(given.split()).lower()
    options = [option.lower() for option in menu.options]
    same = [n for n, option in enumerate(options) if option == wanted]
    found = same or [
        n for n, option in enumerate(options) if wanted and option.startswith(wanted)
    ]
    if len(found) != 1:
        what = "begins more than one option" if found else "is no option"
        raise Usage(f"{show(given)} {what}", hint="by its number, homi seat state")
    return found[0]

"""The verbs about seats: who may, and the thread that does it.

Owns the rights over a seat; what is typed, and when, is decided in homi.seats.
homi-seat(1) says who may do what, homi-protocol(7) lists the verbs.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from homi.address import parse_name, show
from homi.claims import Body
from homi.doors.answers import Answer, Doer, Reply
from homi.doors.driving import Driver
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.errors import HomiError, NoInput, NotAllowed, Usage
from homi.orders.seats import SeatBind, SeatOrder, SeatRespond, SeatSend, SeatSpawn
from homi.peers import process
from homi.request import CallerClass, Request
from homi.seated import SeatDone, SeatRow, row
from homi.seats import launch
from homi.seats.server import Opening, Seat, Server, client
from homi.seats.states import CLAUDE, CODEX

log = logging.getLogger("homi.seats")

CLIENTS = (CLAUDE, CODEX, "shell")
SMALLEST, LARGEST = (20, 5), (1000, 500)  # columns and rows of a seat


class Seating:
    """The verbs about seats for one caller."""

    def __init__(self, office: Office, rights: Rights) -> None:
        """No tmux runs before the first seat."""
        self._office = office
        self._rights = rights
        self._server = Server.of(Path(office.root))
        self._driver = Driver(self._server)
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {
            SeatSpawn: self._beside(self._spawn),
            SeatSend: self._beside(self._send),
            SeatRespond: self._beside(self._respond),
            SeatOrder: self._beside(self._order),
            SeatBind: self._bind,
        }

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._gone = True

    def _beside(self, work: Callable[[Any], Answer]) -> Doer:
        """work in a thread of its own: tmux and a screen take their time."""

        def doer(request: Request, reply: Reply) -> None:
            def told(future: asyncio.Future[Answer]) -> None:
                error = future.exception()
                if error is not None and not isinstance(error, HomiError):
                    raise error
                if not self._gone:
                    reply(request.i, future.result() if error is None else error)

            loop = asyncio.get_running_loop()
            loop.run_in_executor(None, work, request).add_done_callback(told)

        return doer

    def _spawn(self, request: SeatSpawn) -> SeatRow:
        """Open it; nothing is opened where anything of it cannot be."""
        name = parse_name(request.name)
        seats = self._server.seats()
        path = request.path or os.environ.get("PATH", os.defpath)
        argv = [launch.program(request.argv, path, request.cwd), *request.argv[1:]]
        for given, least, most in zip(
            (request.columns, request.rows), SMALLEST, LARGEST, strict=True
        ):
            if not least <= given <= most:
                raise Usage(f"a size of {given} is not from {least} to {most}")
        if request.client and request.client not in CLIENTS:
            raise Usage(
                f"no rules for a client {show(request.client)}",
                hint=f"one of {', '.join(CLIENTS)}",
            )
        word = os.path.basename(argv[0])
        opening = Opening(
            name=name,
            argv=argv,
            cwd=launch.folder(request.cwd),
            client=request.client or (word if word in CLIENTS else ""),
            columns=request.columns,
            rows=request.rows,
            by=[self._rights.starter(), *self._above(seats)],
        )
        seat = self._server.spawn(opening, launch.environment(path))
        log.info(
            "seat %s %s by=%s status=open", seat.name, seat.ref, self._rights.starter()
        )
        return row(self._server.look(seat), [])

    def _send(self, request: SeatSend) -> SeatDone:
        """Type it."""
        return self._driver.send(
            self._own(request.seat), request.text, self._rights.starter()
        )

    def _respond(self, request: SeatRespond) -> SeatDone:
        """Answer what is asked."""
        seat = self._own(request.seat)
        if self._inside(seat):
            raise NotAllowed("a session does not answer its own dialogs")
        return self._driver.respond(seat, request.option, self._rights.starter())

    def _order(self, request: SeatOrder) -> SeatDone:
        """Interrupt or kill."""
        seat = self._own(request.seat)
        if request.do == "interrupt":
            return self._driver.interrupt(seat, self._rights.starter())
        self._server.kill(seat)
        log.info("seat %s by=%s status=killed", seat.name, self._rights.starter())
        return SeatDone(seat=seat.name, did="killed")

    def _bind(self, request: SeatBind, reply: Reply) -> None:
        """Answered when it is on disk."""
        if request.seat is None:
            body = self._office.names.require(request.name).body
            if body is None or body.client != "seat":
                raise NoInput(f"{request.name} is bound to no seat")
            claim = self._office.names.embody(request.name, None)
            done = SeatDone(seat=body.id, did="unbound", name=claim.name)
            reply(request.i, done)
            return
        seat = self._server.find(request.seat)
        if client(seat) not in (CLAUDE, CODEX):
            raise Usage(
                f"seat {seat.name} runs {seat.pane.command}: mail is typed into"
                " Claude Code and Codex only",
                hint="homi seat spawn --client says what draws a screen",
            )
        body = Body(
            client="seat",
            id=seat.ref,
            home=seat.socket,
            cwd=seat.pane.cwd,
            options={"seat": seat.name},
        )
        claim = self._office.names.embody(request.name, body)
        reply(request.i, SeatDone(seat=seat.name, did="bound", name=claim.name))

    def _own(self, given: str) -> Seat:
        """The seat meant, if this caller may change anything there; 66, 77."""
        seat = self._server.find(given)
        person = self._rights.caller.caller is CallerClass.PERSON
        if not person and self._rights.starter() not in seat.by:
            raise NotAllowed(
                f"seat {seat.name} was opened by {seat.by[0] if seat.by else 'nobody'}",
                hint="a person may, and who spawned it",
            )
        return seat

    def _above(self, seats: list[Seat]) -> list[str]:
        """Who spawned the seat that the caller itself runs in, and so on."""
        found = next((seat for seat in seats if self._inside(seat)), None)
        return [] if found is None else found.by

    def _inside(self, seat: Seat) -> bool:
        """Whether the caller runs in that seat."""
        pane = seat.pane
        above = process.ancestors(self._rights.caller.pid)
        return pane.pid in above and process.alive(pane.pid, pane.start)

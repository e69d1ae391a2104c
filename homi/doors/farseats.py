"""The verb seat-far: seats of another device, looked at and driven from here.

Owns who may ask, and what may be asked; the link carries it.  homi-seat(1).
"""

import re
from collections.abc import Callable

from homi.address import Device, nearest, parse_name, show
from homi.callers import Caller
from homi.doors.answers import Answer, Doer, Reply
from homi.doors.office import Office
from homi.errors import BadMessage, NotAllowed, Usage, not_linked
from homi.request import CallerClass
from homi.requests import FarSeat, Request
from homi.scan.scanner import Scanner, refusal
from homi.seated import SeatAsk

TEXT_MAX = 16 << 10  # bytes: what is longer is a letter, or a file
OPTION_MAX = 200  # characters
LINES_MAX = 1000  # above a screen
LOOKS = ("ls", "read", "state")
# A name, the id of a pane, or what names a seat for ever: never a device, nor a path.
_SEAT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}|%\d{1,9}(\.\d{1,10}\.\d{1,20})?", re.A)


class FarSeats:
    """What one caller asks of the seats of other devices."""

    def __init__(self, office: Office, caller: Caller) -> None:
        """Nothing is asked yet."""
        self._office = office
        self._caller = caller
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verb done here."""
        return {FarSeat: self._ask}

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._gone = True

    def _ask(self, request: FarSeat, reply: Reply) -> None:
        """Answered when the device answered, or is late."""
        person = self._caller.caller is CallerClass.PERSON
        if request.do not in LOOKS and not person:
            raise NotAllowed(
                "a seat of another device is driven by a person at a terminal",
                hint=f"a message does: homi send NAME@{show(request.device)[1:-1]}",
            )
        device = Device(parse_name(request.device))
        linked = list(self._office.neighbours.devices())
        if device not in linked:
            near = nearest(device, linked)
            raise not_linked(device, "homi link ls shows them", near)
        asked = SeatAsk(
            do=request.do,
            seat=request.seat,
            text=request.text,
            option=request.option,
            lines=request.lines,
        )
        check(asked)
        if asked.text:
            found = Scanner().text(asked.text, "the text")
            if (refused := refusal(found, "take it out")) is not None:
                raise refused
        self._office.far_seats(device, asked, self._once(request.i, reply))

    def _once(self, i: int, reply: Reply) -> Callable[[Answer], None]:
        """The way back, unless the caller went away meanwhile."""

        def told(answer: Answer) -> None:
            if not self._gone:
                reply(i, answer)

        return told


def check(asked: SeatAsk) -> None:
    """Usage (64) or BadMessage (65) for what no device asks of another."""
    if (asked.do == "ls") != (not asked.seat):
        raise Usage("a list names no seat" if asked.seat else "which seat?")
    if asked.seat and _SEAT.fullmatch(asked.seat) is None:
        raise Usage(
            f"{show(asked.seat)} is no seat of that device",
            hint="its name, its pane %N, or its ref",
        )
    size = len(asked.text.encode(errors="surrogatepass"))
    if size > TEXT_MAX:
        raise BadMessage(
            f"a text of {size} bytes is not typed there: {TEXT_MAX} at most",
            hint="homi send takes it",
        )
    if len(asked.option) > OPTION_MAX:
        raise Usage(f"no option is longer than {OPTION_MAX} characters")
    if not 0 <= asked.lines <= LINES_MAX:
        raise Usage(f"{asked.lines} lines are not from 0 to {LINES_MAX}")

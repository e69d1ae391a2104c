"""Seats across devices, joined to the links; their dialogs, joined to the person.

Owns when a person is told that a seat asks, and how many questions one device may keep
open; what it may is decided by its grant, what is done by homi.doors.  homi-seat(1).
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from homi.address import Device, Name
from homi.courier.courier import Courier
from homi.doors.answers import Answer
from homi.doors.office import Office
from homi.doors.seatguests import SeatGuests
from homi.envelope import LedgerLine, Reason, Rung
from homi.errors import HomiError, NotReached
from homi.links.answering import Asker, Grant, Reply
from homi.links.frames import Res
from homi.links.gossip import read
from homi.links.talk import Talk
from homi.seated import SeatAsk, SeatSaid
from homi.seats.server import Server
from homi.store.lines import Finding
from homi.store.mailbox import Item

VERB = "seat"
LIMIT = 25.0  # s another device may take to type and to see what became of it
AT_ONCE = 2  # questions of one device that are worked on


def connect(office: Office, talk: Talk, courier: Courier) -> "Seats":
    """Let seats be driven from here and, by who may, here; from start() on."""
    seats = Seats(office, talk)
    courier.subscribe(seats.moved)
    office.far_seats = seats.ask
    return seats


class Seats:
    """Fits assembly.duties.Duty."""

    def __init__(self, office: Office, talk: Talk) -> None:
        """No tmux runs before the first question."""
        self.findings: list[Finding] = []
        self._office = office
        self._talk = talk
        self._guests = SeatGuests(Server.of(Path(office.root)))
        self._busy: Counter[Device] = Counter()
        self._asking: set[Name] = set()  # their seats stand at a dialog, as was told

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Answer from now on."""
        guarded = self._talk.gossip.answering.done_by(Grant.SEATS, self._asked)
        self._talk.junction.questions[VERB] = guarded

    def stop(self) -> None:
        """What is typed is typed."""

    def sweep(self) -> None:
        """Nothing is kept."""

    def moved(self, name: Name, _item: Item, line: LedgerLine) -> None:
        """A seat that mail is for stands at a dialog: the person is told once, and
        again only when its mail waited for something else, or got in, meanwhile."""
        if line.rung is Rung.INTENT:
            return
        if line.reason is not Reason.APPROVAL:
            self._asking.discard(name)
            return
        claim = self._office.names.get(name)
        body = None if claim is None else claim.body
        if body is not None and body.client == "seat" and name not in self._asking:
            self._asking.add(name)
            if self._office.asks_there(name, body.id):
                return
            self._office.waits(name, str(body.options.get("seat", body.id)))

    def ask(
        self, device: Device, asked: SeatAsk, done: Callable[[Answer], None]
    ) -> None:
        """Ask that device itself; done once, with what it says or why it does not."""
        if not self._talk.gossip.reached(device):
            why = f"{device} is asked of its seats over a link of its own: none is up"
            hint = f"homi link check {device}"
            done(NotReached(why, hint=hint, reason="link-down"))
            return

        def answered(res: Res | None) -> None:
            if res is None:
                why = f"no answer of {device} in time: what was asked may be done there"
                hint = f"homi seat state {asked.seat or 'SEAT'}@{device}"
                done(NotReached(why, hint=hint, reason="unverified"))
            else:
                done(read(res, SeatSaid))

        fields = msgspec.to_builtins(asked)
        self._talk.gossip.ask(device, VERB, fields, answered, LIMIT)

    def _asked(self, asker: Asker, line: bytes, reply: Reply) -> None:
        """A question of another device, done in a thread; a restart lets it end."""
        asked, device = _ask(line), asker.device
        if self._busy[device] >= AT_ONCE:
            raise NotReached(f"{AT_ONCE} questions of {device} are open", reason="busy")
        self._busy[device] += 1
        self._office.underway.more(1)
        work = partial(self._guests.answer, device, asked, self._bound())

        def told(future: asyncio.Future[SeatSaid]) -> None:
            self._busy[device] -= 1
            self._office.underway.more(-1)
            error = future.exception()
            if error is None:
                reply(future.result())
            elif isinstance(error, HomiError):
                reply(error)
            else:
                raise error

        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, work).add_done_callback(told)

    def _bound(self) -> dict[str, list[Name]]:
        """Whose mail is typed into which seat, by its ref."""
        found: dict[str, list[Name]] = {}
        for claim in self._office.names.all():
            if claim.body is not None and claim.body.client == "seat":
                found.setdefault(claim.body.id, []).append(claim.name)
        return found


_ask = msgspec.json.Decoder(SeatAsk).decode

"""The verb of the queue: what a caller orders for pending mail.

Owns who may order what, and the joining of one answer out of several mailboxes.
homi-queue(1) states the rules.
"""

from collections.abc import Callable

import msgspec

from homi.address import OWNER, Address, Device, Name, parse_name
from homi.clock import Clock
from homi.courier.orders import Job, Verdict
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.outgoing import Outgoing
from homi.doors.rights import Rights
from homi.envelope import ASIDE, MessageId, Rung
from homi.errors import HomiError, NoInput, NotAllowed, StorageFailed, Usage
from homi.reports import Continued, Ordered, OrderRow
from homi.requests import CallerClass, Continue, Deed, Letter, Order, Request
from homi.routing import elsewhere
from homi.store.mailbox import Item
from homi.store.places import device_of, titled

Chosen = dict[Name, list[tuple[int, MessageId]]]

# What the sender of mail for another device may order of it, also a session: none of
# it lets go what a person held.
OF_SENDER = frozenset({Deed.REROUTE, Deed.BOUNCE, Deed.DROP})


class Queueing:
    """What one caller orders."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights
        self._clock = clock
        self._outgoing = Outgoing(office)

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Order: self._order, Continue: self._continue}

    def _order(self, request: Order, reply: Reply) -> None:
        """Judge the rights first, then let each name's drain carry it out."""
        rows: list[OrderRow] = []
        device = self._device(request)
        if request.letters:
            chosen = self._by_id(request, rows)
        elif request.do is Deed.FLUSH:
            chosen = self._whole(request)
        else:
            raise Usage(
                f"{request.do} needs letters", hint=f"homi queue {request.do} ID"
            )
        i, sparse = request.i, not request.letters
        whole = _Whole(len(chosen), rows, lambda done: reply(i, Ordered(rows=done)))
        self._carry_out(request.do, chosen, whole, sparse=sparse, device=device)

    def _carry_out(
        self,
        do: Deed,
        chosen: Chosen,
        whole: "_Whole",
        *,
        sparse: bool,
        device: Device | None = None,
    ) -> None:
        """Give each name's part of an order to whoever moves its mail."""
        for name, letters in chosen.items():
            told = whole.part(name, letters, sparse=sparse)
            first = self._back(name) if do is Deed.BOUNCE else None
            job = Job(do, letters, self._rights.who(), told, first, device)
            if device_of(name) is None:
                self._office.order(name, job)
            else:
                self._outgoing.order(name, job, self._clock.wall())

    def _continue(self, request: Continue, reply: Reply) -> None:
        """Renew a chain, durably, then release what was parked of it."""
        bounds = self._office.bounds
        if bounds is None or not bounds.knows(request.id):
            raise NoInput(
                f"no chain of turns and no parked message {request.id[:64]}",
                hint="homi limits shows them",
            )
        line = bounds.renew(request.id)
        if line is None:
            raise StorageFailed("not known to be recorded; try again")
        chosen: Chosen = {}
        for place, item in bounds.freed(request.id, line):
            chosen.setdefault(place, []).append((item.seq, item.id))
        i = request.i

        def answer(rows: list[OrderRow]) -> None:
            reply(i, Continued(chain=line.chain, limit=line.limit, rows=rows))

        whole = _Whole(len(chosen), [], answer)
        self._carry_out(Deed.RELEASE, chosen, whole, sparse=False)

    def _by_id(self, request: Order, rows: list[OrderRow]) -> Chosen:
        """The pending envelopes of these ids; a row for each that may not be."""
        chosen: Chosen = {}
        for letter in request.letters:
            try:
                name = self._rights.kept(letter.name)
                if not self._is_sender(name, letter, request.do):
                    self._may(name, request.do)
                found = self._find(name, letter)
                self._may_release(name, request.do, found)
            except HomiError as error:
                rows.append(_row(letter.name, letter.id, Verdict(error=error)))
            else:
                chosen.setdefault(name, []).extend(found)
        return chosen

    def _whole(self, request: Order) -> Chosen:
        """All pending mail of the one name, or of every name the caller may flush."""
        if request.name is not None:
            name = self._rights.kept(request.name)
            self._may(name, request.do)
            names = [name]
        else:
            store = self._office.store
            boxes = [*store.mailboxes(), *store.queues()]
            names = [
                box.name for box in boxes if self._refusal(box.name, request.do) is None
            ]
        return {
            name: [
                (i.seq, i.id) for i in self._office.store.mailbox(name).pending.values()
            ]
            for name in names
        }

    def _find(self, name: Name, letter: Letter) -> list[tuple[int, MessageId]]:
        """What is pending there under the id; what is finished too, to be told so."""
        box = self._office.store.mailbox(name)
        found = [(item.seq, item.id) for item in box.find_all(letter.id)]
        if not found and (seq := box.seq_of(letter.id)) is not None:
            found = [(seq, letter.id)]
        if not found:
            raise NoInput(
                f"not pending in {titled(name)}",
                hint=f"homi trace {letter.id[:64]}",
            )
        return found

    def _device(self, request: Order) -> Device | None:
        """Where a reroute leads, which may be this device; 64 and 68."""
        if (request.do is Deed.REROUTE) != (request.to is not None):
            raise Usage(
                "to which device?" if request.to is None else "only reroute has a to",
                hint="homi queue reroute --to DEVICE ID",
            )
        if request.to is None:
            return None
        device = Device(parse_name(request.to))
        return elsewhere(Address(OWNER, device), self._office.facts) or (
            self._office.device
        )

    def _back(self, place: Name) -> Callable[[Item, Callable[[bool], None]], None]:
        """What tells a sender that its mail in that place is sent back."""
        caller = self._rights.caller
        text = f"{caller.name or f'a {caller.caller}'} sent it back"

        def first(item: Item, done: Callable[[bool], None]) -> None:
            self._office.postmaster.give_back(place, item, text, done)

        return first

    def _is_sender(self, name: Name, letter: Letter, do: Deed) -> bool:
        """Whether the calling session wrote that mail, which waits for a device, and
        may take it back therefore."""
        if do not in OF_SENDER or device_of(name) is None:
            return False
        items = self._office.store.mailbox(name).find_all(letter.id)
        return bool(items) and all(
            item.device is None and self._rights.owns(Name(item.from_))
            for item in items
        )

    def _may(self, name: Name, do: Deed) -> None:
        """77 where this caller may not order that there."""
        if (refusal := self._refusal(name, do)) is not None:
            raise refusal

    def _may_release(
        self, name: Name, do: Deed, found: list[tuple[int, MessageId]]
    ) -> None:
        """77 where only a person may let it go: agents do not lift their own bounds."""
        pending = self._office.store.mailbox(name).pending
        items = [pending[seq] for seq, _ in found if seq in pending]
        bound = [one for one in items if one.reason in ASIDE]
        if do is Deed.RELEASE and any(one.rung is Rung.PARKED for one in bound):
            self._rights.need_person("to release what a bound or the policy parked")

    def _refusal(self, name: Name, do: Deed) -> HomiError | None:
        """Why this caller may not order that for the mail of name; None: it may."""
        if do is Deed.REROUTE and device_of(name) is None:
            return Usage(
                "only what waits for another device is rerouted",
                hint=f"homi alias add {name} ADDR leads a name elsewhere",
            )
        if do is Deed.DROP and self._rights.caller.caller is CallerClass.SERVICE:
            return NotAllowed(
                "to throw away another's mail needs a person at a terminal"
            )
        return self._rights.refusal(name)


class _Whole:
    """Answers once every mailbox has."""

    def __init__(
        self, count: int, rows: list[OrderRow], answer: Callable[[list[OrderRow]], None]
    ) -> None:
        self._left = count
        self._rows = rows
        self._answer = answer
        if not count:
            answer(rows)

    def part(
        self, name: Name, letters: list[tuple[int, MessageId]], *, sparse: bool
    ) -> Callable[[list[Verdict]], None]:
        """What takes the verdicts of one mailbox; sparse: without what was so."""

        def told(verdicts: list[Verdict]) -> None:
            for (_, message), verdict in zip(letters, verdicts, strict=True):
                if not (sparse and verdict.already):
                    self._rows.append(_row(name, message, verdict))
            self._left -= 1
            if not self._left:
                self._answer(self._rows)

        return told


def _row(name: str, message: str, verdict: Verdict) -> OrderRow:
    """A verdict as it is answered."""
    row = OrderRow(
        name=name,
        id=message,
        rung=verdict.rung or "",
        reason=verdict.reason or "",
        already=verdict.already,
        given=verdict.given,
        to=verdict.to,
    )
    if (error := verdict.error) is None:
        return row
    return msgspec.structs.replace(
        row, code=error.code, error=error.text, hint=error.hint
    )

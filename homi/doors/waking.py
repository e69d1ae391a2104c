"""The verbs of wakes: wake-add, wake-order and wakes.

Owns who may make and change which wake; homi.wakes keeps them.  homi-wake(1) is the
page.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from homi import ids
from homi.address import (
    POSTMASTER,
    SELF,
    is_name,
    parse_address,
    parse_name,
    show,
)
from homi.clock import Clock, parse_rfc3339, rfc3339
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.envelope import MessageId, Msg
from homi.errors import HomiError, NoInput, NotAllowed, Unavailable, Usage
from homi.orders.wakes import WakeAdd, WakeOrder, Wakes
from homi.request import CallerClass, Request
from homi.routing import resolve
from homi.seats.server import Server
from homi.strict import check_text
from homi.wakes import files, pulls
from homi.wakes.keeper import WakeKeeper
from homi.wakes.rows import row
from homi.wakes.schedule import PERIOD_MIN
from homi.wakes.state import SESSION, TEXT_MAX, Trigger, Wake, meant
from homi.woken import WakeDone, WakeRow, WakeRows

JITTER_MAX = 86_400  # s
SPAN_MAX = 366 * 86_400  # s of an interval
TIMES_MAX = 1_000_000


class Waking:
    """What one caller does with wakes."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Holds no state of its own but whether the caller is still there."""
        self._office = office
        self._rights = rights
        self._clock = clock
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {WakeAdd: self._add, WakeOrder: self._order, Wakes: self._wakes}

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._gone = True

    @property
    def _keeper(self) -> WakeKeeper:
        """The wakes of the daemon."""
        if self._office.wakes is None:
            raise Unavailable("the daemon is starting")
        return self._office.wakes

    @property
    def _session(self) -> bool:
        return self._rights.caller.caller is CallerClass.SESSION

    # ---- one more ----

    def _add(self, request: WakeAdd, reply: Reply) -> None:
        """Answered when it is on disk, and what it waits for was looked at."""
        if request.kind == "exit":
            self._beside(partial(self._seat, request.value), request, reply)
        else:
            self._made(request, _trigger(request, self._clock.wall()), reply)

    def _made(self, request: WakeAdd, trigger: Trigger, reply: Reply) -> None:
        """Its trigger is known."""
        _bounded(request)
        to = self._to(request)
        if self._rights.caller.caller is CallerClass.SERVICE:
            # Its mail says more than that text, so it would not be known by then.
            withheld = self._office.postmaster.outward.withheld
            if (refused := withheld.why(request.text)) is not None:
                raise refused
        wake = Wake(
            id=ids.new(),
            to=to,
            from_=self._from(request, to),
            text=request.text,
            trigger=trigger,
            at=rfc3339(self._clock.wall()),
            by=self._rights.caller.caller,
            uid=self._rights.caller.uid,
            missed=request.missed,
            overlap=request.overlap,
            jitter=request.jitter,
            until=self._until(request),
            most=request.most,
            spawn=request.spawn,
        )
        self._keeper.add(wake, lambda: self._done("add", wake, request.i, reply))

    def _to(self, request: WakeAdd) -> str:
        """Whom it is for, as its mail will be led; 77 where a session means another."""
        given = request.to
        if given == SELF:
            given = self._rights.caller.name or given
        address = parse_address(given)
        place = resolve(address, self._office.facts)
        if place.name == POSTMASTER:
            raise Usage(f"{POSTMASTER} is nobody who reads")
        if self._session and not (place.local and self._rights.owns(place.name)):
            raise NotAllowed(
                f"a session wakes itself, not {address}",
                hint=f"this session is {self._rights.caller.name}",
            )
        if request.spawn and (self._session or not place.local):
            who = "a session lets none start" if self._session else f"not on {address}"
            raise NotAllowed(f"--spawn starts a session: {who}")
        alias = self._office.names.aliases.get(address.name)
        if alias is not None and place.name != address.name:
            return str(address.name)  # it may lead elsewhere one day
        return self._office.postmaster.open(place.name) if place.local else place.to

    def _from(self, request: WakeAdd, to: str) -> str:
        """In whose name it is sent; 64, 67 and 77 as for send."""
        sender = request.from_ or self._rights.caller.name
        if sender is None:
            raise Usage(
                "from whom? neither a session nor a person at a terminal calls",
                hint="homi wake add --from NAME",
            )
        if sender != self._rights.caller.name:
            name = parse_name(sender)
            head = Msg(id=MessageId(ids.new()), from_=name, to=to, text="-")
            if not self._rights.may_sign(head):
                raise self._rights.not_yours(name)
            return name
        return sender

    def _until(self, request: WakeAdd) -> str:
        """Behind which moment it fires no more."""
        if not request.until:
            return ""
        until = _moment(request.until)
        if until <= self._clock.wall():
            raise Usage(f"--until {rfc3339(until)} is over")
        return rfc3339(until)

    def _seat(self, given: str) -> Trigger:
        """A seat, by the very program it has; in a thread."""
        seat = Server.of(Path(self._office.root)).find(given)
        if seat.pane.dead:
            raise NoInput(
                f"the program of seat {seat.name} has ended",
                hint=f"homi seat state {seat.name}",
            )
        return Trigger(kind="exit", value=seat.name, ref=seat.ref, socket=seat.socket)

    def _beside(
        self, work: Callable[[], Trigger], request: WakeAdd, reply: Reply
    ) -> None:
        """Find the trigger in a thread, then go on."""

        def told(future: asyncio.Future[Trigger]) -> None:
            error = future.exception()
            if error is not None and not isinstance(error, HomiError):
                raise error
            if self._gone:
                return
            try:
                self._made(request, future.result(), reply)
            except HomiError as refusal:
                reply(request.i, refusal)

        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, work).add_done_callback(told)

    # ---- what is changed ----

    def _order(self, request: WakeOrder, reply: Reply) -> None:
        """Answered when it is on disk; a run when it is sent, or failed."""
        keeper = self._keeper
        wake = self._changeable(request.wake)
        shown = self._row(wake)
        match request.do:
            case "rm":
                keeper.remove(wake.id)
                reply(request.i, WakeDone("rm", shown))
                return
            case "pause":
                keeper.pause(wake, self._rights.caller.caller)
            case "resume":
                self._resume(wake)
            case "run":
                told = partial(self._done, "run", wake, request.i, reply)
                keeper.run(wake, request.key or ids.new(), told)
                return
        self._done(request.do, keeper.book.get(wake.id) or wake, request.i, reply)

    def _resume(self, wake: Wake) -> None:
        """Only a person wakes what a person let rest."""
        if self._session and wake.paused not in ("", SESSION):
            raise NotAllowed(f"a {wake.paused} let that wake rest")
        person = self._rights.caller.caller is CallerClass.PERSON
        self._keeper.resume(wake, person=person)

    def _changeable(self, given: str) -> Wake:
        """The wake that is meant, if this caller may change it."""
        wake = self._found(given)
        if not self._session:
            return wake
        try:
            own = self._rights.owns(
                resolve(parse_address(wake.to), self._office.facts).name
            )
        except HomiError:
            own = False
        if not own or wake.by != SESSION:
            raise NotAllowed(
                f"that wake is for {wake.to}, made by a {wake.by}",
                hint="a session changes what it made for itself",
            )
        return wake

    def _found(self, given: str) -> Wake:
        """By its id, or a name that has one."""
        return meant(self._keeper.book.all(), self._named(given))

    def _named(self, given: str) -> str:
        """A name in each of its forms as wakes keep it; anything else as it is."""
        local = given.lower().removesuffix(f"@{SELF}")
        local = local.removesuffix(f"@{self._office.device}")
        return local if is_name(local) else given

    # ---- what is shown ----

    def _wakes(self, request: Wakes, reply: Reply) -> None:
        """Wakes as they stand now."""
        found = self._keeper.book.all()
        if request.which is not None:
            named = self._named(request.which)
            found = [w for w in found if w.to == named] or [self._found(named)]
        reply(request.i, WakeRows([self._row(wake) for wake in found]))

    def _done(self, done: str, wake: Wake, i: int, reply: Reply) -> None:
        if not self._gone:
            reply(i, WakeDone(done, self._row(wake)))

    def _row(self, wake: Wake) -> WakeRow:
        keeper = self._keeper
        at, unread = keeper.at(wake), keeper.waits(wake)
        return row(wake, at, keeper.next(wake), unread=unread)


def _trigger(request: WakeAdd, now: float) -> Trigger:
    """A trigger that can be; Usage (64) with what is wrong."""
    value, zone = request.value, ""
    match request.kind:
        case "cron":
            zone = request.zone or "UTC"
        case "every":
            if not value.isascii() or not value.isdecimal() or len(value) > 9:
                raise Usage(f"{show(value)} is no number of seconds")
            if not PERIOD_MIN <= int(value) <= SPAN_MAX:
                raise Usage(
                    f"every {value} s: the period is {PERIOD_MIN} s at least, a year"
                    " at most"
                )
        case "at":
            moment = _moment(value)
            if moment <= now:
                raise Usage(
                    f"{rfc3339(moment)} is over, now is {rfc3339(now)}",
                    hint="homi send sends at once",
                )
            value = rfc3339(moment)
        case "file":
            value = files.checked(value)
        case _:
            value = pulls.checked(value)
    return Trigger(kind=request.kind, value=value, zone=zone)


def _bounded(request: WakeAdd) -> None:
    """64 for a number or a text that is out of bounds."""
    if not request.text.strip() or len(request.text) > TEXT_MAX:
        raise Usage(
            f"the text has {len(request.text)} characters, 1 to {TEXT_MAX} are kept"
        )
    check_text(request.text)
    if not 0 <= request.jitter <= JITTER_MAX:
        raise Usage(f"a jitter of {request.jitter} s is not from 0 to {JITTER_MAX}")
    if request.kind == "every" and request.jitter >= int(request.value):
        raise Usage(
            f"a jitter of {request.jitter} s is not less than the {request.value} s"
            " between two"
        )
    if not 0 <= request.most <= TIMES_MAX:
        raise Usage(f"--max {request.most} is not from 1 to {TIMES_MAX}")


def _moment(text: str) -> float:
    """RFC 3339 in seconds; Usage (64) else."""
    try:
        found = parse_rfc3339(text)
        rfc3339(found)
    except (ValueError, OverflowError, OSError):
        raise Usage(f"{show(text)} is no RFC 3339 time") from None
    return found

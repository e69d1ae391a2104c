"""What the verbs of the control socket look things up in and act on.

Owns what each pending envelope waits for; changes nothing by itself but the ledger
lines it passes on.
"""

from collections.abc import Callable

import msgspec

from homi.address import Address, Device, Name, parse_address
from homi.asks import Asks
from homi.bounds import Bounds
from homi.clock import rfc3339
from homi.commands.watch import CommandWatch
from homi.config import Config
from homi.courier.orders import Job
from homi.courier.outlook import Outlook
from homi.doors.abroad import Alone, Neighbours
from homi.doors.answers import Answer
from homi.doors.bundling import Bundles
from homi.doors.carrying import Bulk
from homi.doors.linking import Linked
from homi.doors.moving import Moves
from homi.doors.renaming import Renaming
from homi.doors.underway import Underway
from homi.envelope import SHOWN, LedgerLine, MessageId, Reason, Rung, SessionRef
from homi.errors import (
    CannotCreate,
    HomiError,
    NoSuchDevice,
    NoSuchName,
    NotReached,
    Unavailable,
)
from homi.legs.hook import Sheet
from homi.measures import Sample
from homi.names import Names
from homi.owners import Owners
from homi.postmaster import Postmaster
from homi.reports import Answered, QueueReport, QueueRow
from homi.rooms.fanout import Fanout
from homi.routing import resolve
from homi.seated import SeatAsk
from homi.sessions import Session, Sessions
from homi.spawn.keeper import Keeper
from homi.store.base import Store
from homi.store.mailbox import Item
from homi.store.places import device_of, queue_of
from homi.wakes.keeper import WakeKeeper
from homi.watchers import Watchers

# names, the session, told the text; None where another hook is at it
Briefing = Callable[[list[Name], Session, Callable[[str], None]], Sheet | None]
# the question, the mailbox of who asked, told the answer that stands there, or None
AnswerTo = Callable[[MessageId, Name, Callable[[Answered | None], None]], None]
# an id or the start of one, the names that may answer, told what is known of it
About = Callable[[str, list[Name], Callable[[Answer], None]], None]
# a linked device, the line of its question about rooms, the way back
Told = Callable[[msgspec.Struct | HomiError], None]
# a linked device, what its seats are asked, told what it says
AskSeats = Callable[[Device, SeatAsk, Callable[[Answer], None]], None]
Guested = Callable[[Device, bytes, Told], None]
Shown = tuple[Rung, Reason | None, float | None]  # rung, reason, until (wall seconds)


class Office:
    """The parts of one daemon that a verb may touch."""

    def __init__(
        self,
        root: str,
        config: Config,
        store: Store,
        names: Names,
        owners: Owners,
        sessions: Sessions,
        postmaster: Postmaster,
    ) -> None:
        """Built once by the daemon; the callables below are set by it too."""
        self.store = store
        self.names = names
        self.owners = owners
        self.sessions = sessions
        self.postmaster = postmaster
        self.watchers, self.underway = Watchers[Name](), Underway()
        self.asks = Asks()
        self.device = config.device_name()
        self.facts = owners.facts(self.device)
        self.root, self.config = root, config
        self.since = 0.0
        self.findings: list[str] = []
        self.stop: Callable[[], None] = _nothing
        self.restart: Callable[[Told], None] = _no_restart
        self.socket_for: Callable[[str], str] = str
        self.measured: Callable[[float], list[Sample]] = lambda _now: []
        self.unbound: Callable[[int], str] = _bound
        self.connections: Callable[[], int] = int
        self.notes: Callable[[], dict[str, str]] = dict
        self.absent: Callable[[Name], Reason | None] = lambda _name: None
        self.explain: Callable[[Name, Item], Shown] = _as_recorded
        self.order: Callable[[Name, Job], None] = _nobody
        self.way: Callable[[Device], Reason | None] = _no_way
        self.stir: Callable[[Device], None] = lambda _device: None
        self.moved: Callable[[Name, LedgerLine], None] = self._moved
        self.wake: Callable[[Name], None] = lambda _name: None
        self.answer_to: AnswerTo = lambda _ask, _name, told: told(None)
        self.about: About = _not_yet
        self.commands: CommandWatch | None = None
        self.outlook: Callable[[Name, Session], list[Outlook]] = _no_leg
        self.unproven: Callable[[Session], int] = _none
        self.stirred: Callable[[Session], None] = lambda _session: None
        self.given: Callable[[SessionRef, Name, Item], None] = _unused
        self.bounds: Bounds | None = None
        self.rooms: Fanout | None = None
        self.keeper: Keeper | None = None
        self.renaming: Renaming | None = None
        self.spawner: Callable[[Name], None] = lambda _name: None  # gives it a body
        self.wakes: WakeKeeper | None = None
        self.guests: Guested = _no_rooms
        self.links: Linked | None = None
        self.bundles: Bundles | None = None
        self.bulk: Bulk | None = None
        self.moves: Moves | None = None
        self.neighbours: Neighbours = Alone()
        self.far_seats: AskSeats = _no_seats
        self.waits: Callable[[Name, str], None] = lambda _name, _seat: None
        self.asks_there: Callable[[Name, str], bool] = _untold
        self.brief: Briefing = lambda _names, _session, _ready: None

    def record(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None],
        *,
        durable: bool,
    ) -> None:
        """Record a decision of a caller, then tell those who wait for it."""

        def told(kept: bool) -> None:
            done(kept)
            if kept:
                self.moved(name, line)

        self.store.record(name, line, told, durable=durable)

    def _moved(self, name: Name, _line: LedgerLine) -> None:
        """Nobody but those who wait for it has to be told of a line."""
        self.watchers.moved(name)

    def record_end(
        self, name: Name, line: LedgerLine, done: Callable[[bool], None]
    ) -> None:
        """As record(), for what ends a message whoever decided it."""
        self.record(name, line, done, durable=True)

    def mailbox_name(self, address: Address) -> Name:
        """The local mailbox an address means; 67 and 68 as for mail."""
        place = resolve(address, self.facts)
        if place.kind == "unclaimed":
            raise NoSuchName(
                f"no name {place.name} on this device: a session has it, nobody claimed"
                " it",
                hint=f"homi claim {place.name}",
            )
        if place.kind == "queue":
            raise NoSuchDevice(
                f"{place.to} is on another device, its mailbox is there",
                hint=f"homi queue {place.name} shows what waits to go there",
            )
        return place.name

    def members(self, name: str) -> int | None:
        """How many members the room of that name has; None: there is none."""
        if self.rooms is None or not self.names.is_room(Name(name)):
            return None
        return len(self.rooms.rooms.members(Name(name)))

    def see_claimed(self, name: Name, now: float, cannot: str = "") -> bool:
        """See that name is claimed; whether it was not.  73 for an alias, as below."""
        if self.names.get(name) is not None:
            return False
        self.no_alias(name, cannot)
        self.names.claim(name, None, now)
        return True

    def no_alias(self, name: Name, cannot: str = "") -> None:
        """73 where the name leads elsewhere; cannot: what it is not to be for that."""
        if (alias := self.names.aliases.get(name)) is not None:
            so = f", so it cannot be {cannot}" if cannot else ""
            raise CannotCreate(
                f"{name} is an alias of {alias.to}{so}",
                hint=f"homi alias rm {name} first",
            )

    def take(self, name: Name) -> None:
        """Bind name to the newest other live session of it; 75 if there is none."""
        others = self.owners.others(name)
        if not others:
            raise NotReached(
                f"{name} has no other live session to take it",
                hint=f"start a session named {name} first",
            )
        self.owners.take(name, others[-1].ref)

    def queue(self, name: Name | None) -> QueueReport:
        """Every pending envelope of name, or of all, as the courier sees it; of an out
        queue, why none of it is further."""
        if name is not None and device_of(name):
            return QueueReport(rows=[], ways=self.ways(name))
        boxes = self.store.mailboxes() if name is None else [self.store.mailbox(name)]
        rows = []
        for box in sorted(boxes, key=lambda box: box.name):
            for item in box.pending.values():
                rung, reason, until = self.explain(box.name, item)
                row = QueueRow(
                    name=box.name,
                    seq=item.seq,
                    id=item.id,
                    rung=rung,
                    reason=reason or "",
                    until="" if until is None else rfc3339(until),
                    waits=self._waits(box.name, item),
                )
                rows.append(row)
        # What is newer than the mail that is still coming for it waits in that one.
        queue = None if name is None else queue_of(self.device)
        return QueueReport(rows=rows, ways=self.ways(queue))

    def _waits(self, name: Name, item: Item) -> dict[str, str]:
        """Of a room's message who has not got it yet, and why."""
        if self.rooms is None or not self.names.is_room(name):
            return {}
        return self.rooms.waits(name, item)

    def newer(self, name: Name) -> HomiError | None:
        """What newer mail of a name that came here waits for; None: it does not."""
        return None if self.moves is None else self.moves.newer(name)

    def ways(self, place: Name | None) -> dict[str, str]:
        """Why what waits in each out queue, or in that one, is not further; empty
        where its link is up.  Of what waits here for older mail by address, too."""
        found: dict[str, str] = {
            box.name: self.way(box.device) or ""
            for box in self.store.queues()
            if box.device is not None and box.pending and place in (None, box.name)
        }
        if (mine := queue_of(self.device)) in found:
            waits = self.store.mailbox(mine).pending.values()
            for to in {item.to for item in waits}:
                why = self.newer(parse_address(to).name)
                found[to] = "" if why is None else why.reason
        return found


def _as_recorded(_name: Name, item: Item) -> Shown:
    """What the ledger alone tells; the courier knows more."""
    return SHOWN.get(item.rung, item.rung), item.reason, item.until


def _bound(_number: int) -> str:
    """Every socket could be bound, as far as anybody told."""
    return ""


def _no_leg(_name: Name, _session: Session) -> list[Outlook]:
    """No courier, no leg."""
    return []


def _none(_session: Session) -> int:
    """No courier, no letter in any hand."""
    return 0


def _nobody(_name: Name, job: Job) -> None:
    """Nothing drains before the daemon is built."""
    job.refuse(Unavailable("the daemon is starting"))


def _no_seats(device: Device, _asked: SeatAsk, done: Callable[[Answer], None]) -> None:
    """No link leads there."""
    done(NotReached(f"{device} is not reached", reason="unreachable"))


def _no_way(_device: Device) -> Reason:
    """No link leads there."""
    return Reason.UNREACHABLE


def _not_yet(_text: str, _names: list[Name], told: Callable[[Answer], None]) -> None:
    """Nobody reads the files before the daemon is built."""
    told(Unavailable("the daemon is starting"))


def _unused(_session: SessionRef, _name: Name, _item: Item) -> None:
    """Nobody counts."""


def _no_restart(told: Told) -> None:
    """What is not up yet is not begun again."""
    told(Unavailable("the daemon is starting"))


def _no_rooms(_device: Device, _line: bytes, _told: Told) -> None:
    """Nobody has any before the daemon is built."""
    raise Unavailable("the daemon is starting")


def _untold(_name: Name, _seat: str) -> bool:
    """Whether who watches a started agent tells the person of the dialog in its seat
    that mail waits for."""
    return False


def _nothing() -> None:
    """Replaced by the daemon before the first caller."""

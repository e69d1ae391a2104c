"""The verbs of rooms: room and rooms.

Owns who may change which members; homi.rooms keeps them.  homi-room(1) is the page.
"""

from msgspec.structs import replace

from homi.address import (
    POSTMASTER,
    SELF,
    Address,
    Device,
    Name,
    is_name,
    parse_address,
    parse_claimable,
    parse_name,
)
from homi.clock import Clock, rfc3339
from homi.company import Guest, MemberRow, RoomChanged, RoomRow, RoomRows
from homi.doors.answers import Answer, Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.errors import (
    CannotCreate,
    NoSuchDevice,
    NoSuchName,
    NotAllowed,
    Unavailable,
    Usage,
    not_linked,
)
from homi.requests import CallerClass, Request, Room, Rooms
from homi.rooms.fanout import Fanout
from homi.rooms.state import Member
from homi.routing import resolve
from homi.store.places import is_queue

UNREADABLE = "it gave an answer this homi cannot read"


class Rooming:
    """What one caller does with rooms."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights
        self._clock = clock
        self._gone = False

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._gone = True

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Room: self._room, Rooms: self._rooms}

    @property
    def _fanout(self) -> Fanout:
        """The rooms of the daemon."""
        if self._office.rooms is None:
            raise Unavailable("the daemon is starting")
        return self._office.rooms

    def _room(self, request: Room, reply: Reply) -> None:
        """Change a room; of several members all or none."""
        if request.do in ("join", "leave") and (away := self._away(request.name)):
            self._abroad(request, away, reply)
            return
        match request.do:
            case "create":
                done = self._create(request)
            case "join":
                done = self._join(self._local(request.name), request)
            case "leave":
                done = self._leave(self._local(request.name), request)
            case "rm":
                done = self._end(self._local(request.name))
        reply(request.i, done)

    def _create(self, request: Room) -> RoomChanged:
        """A room with its first members."""
        name, rooms = parse_claimable(request.name), self._fanout.rooms
        self._free(name)
        own = self._rights.caller.caller is CallerClass.SESSION
        given = request.members or ([SELF] if own else [])
        members = [self._member(one) for one in given]
        last = self._office.store.mailbox(name).last_seq
        now = self._clock.wall()
        fresh = rooms.open(name, last, now, members, notify=request.notify)
        claim = self._office.names.require(name)
        if why := self._office.unbound(claim.number):
            raise CannotCreate(f"{name} is a room, but its socket cannot be: {why}")
        return RoomChanged(name, "create", fresh, total=len(fresh))

    def _join(self, name: Name, request: Room) -> RoomChanged:
        """More members."""
        rooms, now = self._fanout.rooms, self._clock.wall()
        given = request.members or [SELF]
        members = [self._member(one) for one in given]
        since = self._office.store.mailbox(name).last_seq
        fresh = rooms.join(name, members, since, now, notify=request.notify)
        already = [one for one in dict.fromkeys(members) if one not in fresh]
        total = len(rooms.members(name))
        return RoomChanged(name, "join", fresh, already, total)

    def _leave(self, name: Name, request: Room) -> RoomChanged:
        """Fewer members."""
        rooms = self._fanout.rooms
        given = request.members or [SELF]
        left = rooms.leave(name, [self._leaving(name, one) for one in given])
        return RoomChanged(name, "leave", left, total=len(rooms.members(name)))

    def _end(self, name: Name) -> RoomChanged:
        """No room any more; its mail is kept."""
        if self._rights.caller.caller is CallerClass.SESSION:
            raise NotAllowed(
                "a session ends no room", hint=f"homi room leave {name} leaves it"
            )
        members = list(self._fanout.rooms.members(name))
        self._fanout.rooms.close(name)
        pending = len(self._office.store.mailbox(name).pending)
        return RoomChanged(name, "rm", members, pending=pending)

    def _away(self, given: str) -> Address | None:
        """A room that is on another device; None: it is here."""
        address = parse_address(given)
        here = (None, SELF, self._office.device)
        return None if address.device in here else address

    def _local(self, given: str) -> Name:
        """The room that is meant; 68 for one of another device."""
        if (away := self._away(given)) is not None:
            raise NoSuchDevice(
                f"{away} is on another device, whose person makes and ends it"
            )
        return self._fanout.rooms.require(parse_address(given).name)

    def _abroad(self, request: Room, room: Address, reply: Reply) -> None:
        """Have names of this device join or leave a room of another, which decides."""
        given = request.members or [SELF]
        if request.do == "join":
            own: list[str] = [self._own(one) for one in given]
            asked = Guest("join", room.name, own, notify=request.notify)
        else:
            asked = Guest("leave", room.name, [self._gone_from(one) for one in given])
        self._ask(Device(room.device or ""), asked, request.i, reply)

    def _ask(self, device: Device, asked: Guest, i: int, reply: Reply) -> None:
        """Ask the device of a room, and answer with what it says."""

        def done(answer: Answer) -> None:
            if not self._gone:
                reply(i, _from(device, answer))

        if device not in self._office.facts.devices():
            raise not_linked(device, "homi link ls shows them")
        self._office.neighbours.rooms(device, asked, done)

    def _own(self, given: str) -> Name:
        """A name of this device that the caller may speak for."""
        given = self._self() if given == SELF else given
        place = resolve(parse_address(given), self._office.facts)
        self._allowed(place.name)
        room = self._office.names.is_room(place.name)
        if not place.local or room or place.name == POSTMASTER:
            raise Usage(
                f"{place.to} is no name of this device that could be a member there"
            )
        return self._office.postmaster.open(place.name)

    def _gone_from(self, given: str) -> Name:
        """The same of one that leaves: it may be nobody's any more."""
        address = parse_address(self._self() if given == SELF else given)
        if address.device not in (None, SELF, self._office.device):
            raise Usage(f"{address} is no name of this device: it leaves from there")
        try:
            place = resolve(address, self._office.facts)
            name = place.name if place.local else address.name
        except NoSuchName:
            name = address.name
        self._allowed(name)
        return name

    def _free(self, name: Name) -> None:
        """73 where the name is somebody's."""
        office = self._office
        if office.sessions.by_address(name):
            raise CannotCreate(
                f"a session here is called {name}", hint="give the room another name"
            )
        office.no_alias(name, "a room")

    def _member(self, given: str) -> str:
        """The address of who is to be a member, as mail to it would be led."""
        given = self._self() if given == SELF else given
        place = resolve(parse_address(given), self._office.facts)
        self._allowed(place.name)
        if not place.local:
            return place.to
        if self._office.names.is_room(place.name):
            raise Usage(f"{place.name} is a room: a room is no member of another")
        if place.name == POSTMASTER:
            raise Usage(f"{POSTMASTER} is nobody who reads")
        # Who only runs so far has a mailbox from now on, as with a first letter.
        return self._office.postmaster.open(place.name)

    def _leaving(self, name: Name, given: str) -> str:
        """The member that is meant, also one that is nobody any more."""
        given = self._self() if given == SELF else given
        address = parse_address(given)
        try:
            place = resolve(address, self._office.facts)
            found, owned = place.to, place.name
        except (NoSuchName, NoSuchDevice):
            found, owned = str(address), address.name
        self._allowed(owned)
        if self._fanout.rooms.member(name, found) is None:
            raise NoSuchName(
                f"{found} is no member of {name}", hint=f"homi room ls {name}"
            )
        return found

    def _self(self) -> str:
        """The caller's own name; 64 where it has none."""
        if self._rights.caller.name is None:
            raise Usage(
                "who is meant? neither a session nor a person at a terminal calls",
                hint="name the member behind the room",
            )
        return self._rights.caller.name

    def _allowed(self, place: Name) -> None:
        """77 where a session would change it for another."""
        session = self._rights.caller.caller is CallerClass.SESSION
        if session and (is_queue(place) or not self._rights.owns(place)):
            raise NotAllowed(
                f"a session joins and leaves for itself, not for {place}",
                hint=f"this session is {self._rights.caller.name}",
            )

    # ---- what is shown ----

    def _rooms(self, request: Rooms, reply: Reply) -> None:
        """Rooms as they stand now: here, or on the device that is meant (@DEVICE)."""
        given = request.name
        if given is not None and given.startswith("@"):
            device = Device(parse_name(given[1:]))
            self._ask(device, Guest("ls"), request.i, reply)
        elif given is not None and (away := self._away(given)) is not None:
            device = Device(away.device or "")
            self._ask(device, Guest("ls", away.name), request.i, reply)
        else:
            names = self._fanout.rooms.all() if given is None else [self._local(given)]
            rows = [row(self._office, self._fanout, name) for name in names]
            reply(request.i, RoomRows(rows))


def _from(device: Device, answer: Answer) -> Answer:
    """What a device tells of its rooms, by addresses as they are here; nothing that
    is none is shown."""
    if isinstance(answer, RoomChanged):
        if not _readable(answer.name, [*answer.members, *answer.already]):
            return Unavailable(UNREADABLE)
        return replace(answer, name=f"{answer.name}@{device}")
    if not isinstance(answer, RoomRows):
        return answer
    for each in answer.rooms:
        if not _readable(each.name, [one.member for one in each.members]):
            return Unavailable(UNREADABLE)
    return RoomRows(
        [
            replace(
                each,
                name=f"{each.name}@{device}",
                members=[
                    one
                    if "@" in one.member
                    else replace(one, member=f"{one.member}@{device}")
                    for one in each.members
                ],
            )
            for each in answer.rooms
        ]
    )


def _readable(name: str, members: list[str]) -> bool:
    """Whether a room and its members can be called so."""
    parts = (member.split("@", 1) for member in members)
    return is_name(name) and all(is_name(part) for pair in parts for part in pair)


def row(office: Office, fanout: Fanout, name: Name) -> RoomRow:
    """One room as it is told."""
    members = fanout.rooms.members(name)
    return RoomRow(
        name=name,
        at=office.names.require(name).at,
        pending=len(office.store.mailbox(name).pending),
        members=[_shown(fanout, name, members[one]) for one in sorted(members)],
    )


def _shown(fanout: Fanout, name: Name, member: Member) -> MemberRow:
    """One member, with what its lane waits for."""
    lane = fanout.lane(name, member.address)
    until = None if lane is None else lane.until
    return MemberRow(
        member=member.address,
        at=member.at,
        notify=member.notify,
        pending=0 if lane is None else len(lane.todo),
        reason="" if lane is None else lane.reason or "",
        until="" if until is None else rfc3339(until),
    )

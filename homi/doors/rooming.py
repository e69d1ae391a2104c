"""The verbs of rooms: room and rooms.

Owns who may change which members; homi.rooms keeps them.  homi-room(1) is the page.
"""

from homi.address import POSTMASTER, SELF, Name, parse_address, parse_claimable
from homi.clock import Clock, rfc3339
from homi.company import MemberRow, RoomChanged, RoomRow, RoomRows
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.errors import (
    CannotCreate,
    NoSuchDevice,
    NoSuchName,
    NotAllowed,
    Unavailable,
    Usage,
)
from homi.requests import CallerClass, Request, Room, Rooms
from homi.rooms.fanout import Fanout
from homi.rooms.state import Member
from homi.routing import resolve
from homi.store.places import is_queue


class Rooming:
    """What one caller does with rooms."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights
        self._clock = clock

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
        members = [self._member(one, notify=request.notify) for one in given]
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
        members = [self._member(one, notify=request.notify) for one in given]
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

    def _local(self, given: str) -> Name:
        """The room that is meant; 68 for one of another device."""
        address = parse_address(given)
        device = address.device
        if device not in (None, SELF, self._office.device):
            me = f"{address.name} NAME@{self._office.device}"
            raise NoSuchDevice(
                f"the members of {address} are kept on {device}",
                hint=f"there: homi room join {me}",
            )
        return self._fanout.rooms.require(address.name)

    def _free(self, name: Name) -> None:
        """73 where the name is somebody's."""
        office = self._office
        if office.sessions.by_address(name):
            raise CannotCreate(
                f"a session here is called {name}", hint="give the room another name"
            )
        if (alias := office.names.aliases.get(name)) is not None:
            raise CannotCreate(
                f"{name} is an alias of {alias.to}, so it cannot be a room",
                hint=f"homi alias rm {name} first",
            )

    def _member(self, given: str, *, notify: bool) -> str:
        """The address of who is to be a member, as mail to it would be led."""
        given = self._self() if given == SELF else given
        place = resolve(parse_address(given), self._office.facts)
        self._allowed(place.name)
        if not place.local:
            if notify:
                raise Usage(
                    f"{place.to} is on another device: whether it read a notice is not"
                    " known here",
                    hint="without --notify it gets copies",
                )
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
        """Rooms as they stand now."""
        rooms = self._fanout.rooms
        names = rooms.all() if request.name is None else [self._local(request.name)]
        reply(request.i, RoomRows([self._row(name) for name in names]))

    def _row(self, name: Name) -> RoomRow:
        """One room."""
        members = self._fanout.rooms.members(name)
        return RoomRow(
            name=name,
            at=self._office.names.require(name).at,
            pending=len(self._office.store.mailbox(name).pending),
            members=[self._shown(name, members[one]) for one in sorted(members)],
        )

    def _shown(self, name: Name, member: Member) -> MemberRow:
        """One member, with what its lane waits for."""
        lane = self._fanout.lane(name, member.address)
        until = None if lane is None else lane.until
        return MemberRow(
            member=member.address,
            at=member.at,
            notify=member.notify,
            pending=0 if lane is None else len(lane.todo),
            reason="" if lane is None else lane.reason or "",
            until="" if until is None else rfc3339(until),
        )

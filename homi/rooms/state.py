"""Who is in which room: the members of each, as rooms.json keeps them.

Owns the fields of the file.  That a name is a room at all is its claim's to say.
homi-mailbox(5) lists the fields.
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from homi.address import Name, is_name
from homi.clock import rfc3339
from homi.errors import NoSuchName, Usage
from homi.names import Names
from homi.store.lines import Finding
from homi.store.state import StateFile

MEMBERS_MAX = 256  # of one room: each message is as many copies


class Member(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An address that gets what comes to a room."""

    address: str  # a name here, or one with its device
    at: str  # RFC 3339: since when
    since: int = 0  # seq of the room: what stands behind it is for this member
    notify: bool = False  # no copies: a notice that there is mail
    noticed: int = 0  # seq of the room up to which a notice told of it
    notice: str = ""  # the id of that notice; another follows once it is read


class Room(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The members of one room, by address."""

    members: dict[str, Member] = {}
    since: int = 0  # seq: what stands up to it in the mailbox was no room's


class State(msgspec.Struct, kw_only=True):
    """The whole of rooms.json."""

    rooms: dict[str, Room] = {}

    def __post_init__(self) -> None:
        """ValueError for what no room can be."""
        for name, room in self.rooms.items():
            if not is_name(name):
                raise ValueError("a room has no name")
            for address, member in room.members.items():
                if address != member.address or not _whole(address):
                    raise ValueError("a member is not under its address")


class Rooms:
    """The rooms of this device.  Each change is on disk before its call returns."""

    def __init__(self, file: StateFile[State], names: Names) -> None:
        """Load the file; findings: what was unreadable."""
        found, findings = file.load()
        self.findings: list[Finding] = findings
        self._file = file
        self._names = names
        self._state = found or State()
        self._told: list[Callable[[Name], None]] = []

    def subscribe(self, told: Callable[[Name], None]) -> None:
        """Call told with a room whose members changed, or that ended."""
        self._told.append(told)

    def all(self) -> list[Name]:
        """Every room, by name."""
        return [claim.name for claim in self._names.all() if claim.room]

    def has(self, name: Name) -> bool:
        """Whether there is a room of that name."""
        return self._names.is_room(name)

    def require(self, given: str) -> Name:
        """The room of that name, case folded; 67 with the nearest, 64 for a name that
        is no room."""
        claim = self._names.require(given)
        if not claim.room:
            raise Usage(
                f"{claim.name} is no room", hint="homi room ls shows the rooms here"
            )
        return claim.name

    def members(self, name: Name) -> dict[str, Member]:
        """The members of a room, by address; of a name that is none, none."""
        room = self._state.rooms.get(name) if self.has(name) else None
        return {} if room is None else room.members

    def takes(self, name: Name, seq: int) -> bool:
        """Whether mail of that seq came to the room, not to a name that was called so
        before it, and it is known who is in it."""
        room = self._state.rooms.get(name) if self.has(name) else None
        return room is not None and seq > room.since

    def member(self, name: Name, address: str) -> Member | None:
        """One of them."""
        return self.members(name).get(address)

    def open(self, name: Name, since: int, now: float) -> None:
        """Make a room without members, of what comes behind the seq since; 64 and 73 as
        for a claim.  now: wall seconds."""
        if self._names.get(name) is None:
            # Also in the place of what an earlier room of that name left behind.
            self._save(name, Room(since=since))
        self._names.open_room(name, now)

    def close(self, name: Name) -> None:
        """End a room; its mailbox is not touched."""
        self._names.release(name, room=True)
        self._save(name, None)
        self._tell(name)

    def join(
        self, name: Name, address: str, since: int, now: float, *, notify: bool
    ) -> bool:
        """Let an address be a member for what comes behind the seq since; False: it
        was one, and notify counts from now on.  64 where there are too many."""
        members = self.members(name)
        before = members.get(address)
        if before is not None:
            if before.notify != notify:
                self._put(name, replace(before, notify=notify, noticed=since))
                self._tell(name)
            return False
        if name not in self._state.rooms:  # its file was lost
            self._save(name, Room(since=since))
        if len(members) >= MEMBERS_MAX:
            raise Usage(f"{name} has {len(members)} members, a room has no more")
        made = Member(
            address=address,
            at=rfc3339(now),
            since=since,
            notify=notify,
            noticed=since if notify else 0,
        )
        self._put(name, made)
        self._tell(name)
        return True

    def leave(self, name: Name, address: str) -> None:
        """Let an address be no member any more; NoSuchName (67) if it is none."""
        members = dict(self.members(name))
        if members.pop(address, None) is None:
            raise NoSuchName(
                f"{address} is no member of {name}", hint=f"homi room ls {name}"
            )
        self._members(name, members)
        self._tell(name)

    def noticed(self, name: Name, address: str, notice: str, seq: int) -> None:
        """Keep that a member was told of all up to seq by that notice."""
        member = self.member(name, address)
        if member is not None:
            self._put(name, replace(member, notice=notice, noticed=seq))

    def _put(self, name: Name, member: Member) -> None:
        """Save one member."""
        self._members(name, {**self.members(name), member.address: member})

    def _members(self, name: Name, members: dict[str, Member]) -> None:
        """Save all of them."""
        room = self._state.rooms.get(name, Room())
        self._save(name, replace(room, members=members))

    def _save(self, name: str, room: Room | None) -> None:
        """Let the file, then the memory, hold the change; 74 leaves both as they
        were."""
        rooms = {k: v for k, v in self._state.rooms.items() if k != name}
        if room is not None:
            rooms[name] = room
        state = State(rooms=rooms)
        self._file.save(state)
        self._state = state

    def _tell(self, name: Name) -> None:
        """Tell every subscriber, in order of subscription."""
        for told in self._told:
            told(name)


def _whole(address: str) -> bool:
    """Whether it is a name, or one with a device."""
    name, at, device = address.partition("@")
    return is_name(name) and (not at or is_name(device))

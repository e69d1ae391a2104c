"""Who is in which room: the members of each, as rooms.json keeps them.

Owns the fields of the file.  That a name is a room at all is its claim's to say.
homi-mailbox(5) lists the fields.
"""

from collections.abc import Callable, Iterable

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
        self.has = names.is_room  # whether there is a room of that name
        self._state = found or State()
        self._told: list[Callable[[Name], None]] = []

    def subscribe(self, told: Callable[[Name], None]) -> None:
        """Call told with a room whose members changed, or that ended."""
        self._told.append(told)

    def all(self) -> list[Name]:
        """Every room, by name."""
        return [claim.name for claim in self._names.all() if claim.room]

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

    def open(
        self,
        name: Name,
        since: int,
        now: float,
        addresses: Iterable[str] = (),
        *,
        notify: bool = False,
    ) -> list[str]:
        """Make a room with its first members, of what comes behind the seq since; 64
        and 73 as for a claim, 64 for too many.  now: wall seconds."""
        fresh = list(dict.fromkeys(addresses))
        members = {one: _member(one, since, now, notify=notify) for one in fresh}
        _bounded(name, members)
        if self._names.get(name) is None:
            # Also in the place of what an earlier room of that name left behind.
            self._save(name, Room(since=since, members=members))
        self._names.open_room(name, now)
        return fresh

    def close(self, name: Name) -> None:
        """End a room; its mailbox is not touched.  Nobody is sent to any more, also
        where its members stay in the file (74), as behind a crash."""
        self._names.release(name, room=True)
        try:
            self._save(name, None)
        finally:
            self._tell(name)

    def join(
        self,
        name: Name,
        addresses: Iterable[str],
        since: int,
        now: float,
        *,
        notify: bool,
    ) -> list[str]:
        """Let all of these be members for what comes behind the seq since, or none:
        64 where there are too many.  Those that were none before; for the others
        notify counts from now on."""
        given, members = list(dict.fromkeys(addresses)), dict(self.members(name))
        fresh = [one for one in given if one not in members]
        for one in given:
            before = members.get(one)
            if before is None:
                members[one] = _member(one, since, now, notify=notify)
            elif before.notify != notify:
                members[one] = replace(before, notify=notify, noticed=since)
        _bounded(name, members)
        if members != self.members(name):
            # Where its file was lost it begins anew.
            self._members(name, members, since)
            self._tell(name)
        return fresh

    def leave(self, name: Name, addresses: Iterable[str]) -> list[str]:
        """Let all of these be members no more, or none: NoSuchName (67) if one of
        them is none.  Each once."""
        left, members = list(dict.fromkeys(addresses)), dict(self.members(name))
        for one in left:
            if members.pop(one, None) is None:
                raise NoSuchName(
                    f"{one} is no member of {name}", hint=f"homi room ls {name}"
                )
        self._members(name, members)
        self._tell(name)
        return left

    def noticed(self, name: Name, address: str, notice: str, seq: int) -> None:
        """Keep that a member was told of all up to seq by that notice."""
        member = self.member(name, address)
        if member is not None:
            told = replace(member, notice=notice, noticed=seq)
            self._members(name, {**self.members(name), address: told})

    def _members(self, name: Name, members: dict[str, Member], since: int = 0) -> None:
        """Save all of them; since: of a room that is not in the file."""
        room = self._state.rooms.get(name, Room(since=since))
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


def _member(address: str, since: int, now: float, *, notify: bool) -> Member:
    """One that joins."""
    return Member(
        address=address,
        at=rfc3339(now),
        since=since,
        notify=notify,
        noticed=since if notify else 0,
    )


def _bounded(name: Name, members: dict[str, Member]) -> None:
    """64 for more than a room has."""
    if len(members) > MEMBERS_MAX:
        raise Usage(
            f"{name} would have {len(members)} members, the limit is {MEMBERS_MAX}"
        )


def _whole(address: str) -> bool:
    """Whether it is a name, or one with a device."""
    name, at, device = address.partition("@")
    return is_name(name) and (not at or is_name(device))

"""Names of other devices that join rooms of this one by themselves.

Owns who may: a device speaks for its own names only, and the policy says for which.
homi-room(1) is the page.
"""

import msgspec

from homi.address import POSTMASTER, Device, Name, parse_name
from homi.clock import Clock
from homi.company import Guest, RoomChanged, RoomRows
from homi.doors.office import Office, Told
from homi.doors.rooming import row
from homi.errors import NoSuchName, NotAllowed, Usage
from homi.policy import may_join
from homi.rooms.fanout import Fanout


class Guests:
    """What other devices are told of the rooms here, and change in them."""

    def __init__(self, office: Office, fanout: Fanout, clock: Clock) -> None:
        """Holds no state of its own."""
        self._office = office
        self._fanout = fanout
        self._clock = clock

    def asked(self, device: Device, line: bytes, reply: Told) -> None:
        """Answer a linked device; HomiError is what it is told instead."""
        asked = _guest(line)
        rooms = self._fanout.rooms
        if asked.do == "ls":
            names = [rooms.require(asked.room)] if asked.room else rooms.all()
            reply(RoomRows([row(self._office, self._fanout, one) for one in names]))
            return
        name = rooms.require(asked.room)
        members = [f"{parse_name(one)}@{device}" for one in asked.members]
        if asked.do == "leave":
            left = rooms.leave(name, members)
            reply(RoomChanged(name, "leave", left, total=len(rooms.members(name))))
            return
        for member in members:
            self._check(name, member)
        since, now = self._office.store.mailbox(name).last_seq, self._clock.wall()
        fresh = rooms.join(name, members, since, now, notify=asked.notify)
        already = [one for one in dict.fromkeys(members) if one not in fresh]
        reply(RoomChanged(name, "join", fresh, already, len(rooms.members(name))))

    def _check(self, room: Name, member: str) -> None:
        """77 where it may not join; 64 and 67 where nobody would read it."""
        name, _, device = member.partition("@")
        if name == POSTMASTER:
            raise Usage(f"{POSTMASTER} is nobody who reads")
        if device not in self._office.facts.devices():
            raise NoSuchName(f"{device} is not linked to {self._office.device}")
        if not may_join(self._office.config.policy, name, device, room):
            raise NotAllowed(
                f"the policy of {self._office.device} does not let {member} join"
                f" {room}",
                hint="its person can change that: homi.toml, policy.join",
                reason="policy",
            )


_guest = msgspec.json.Decoder(Guest).decode

"""Rooms, joined to the parts of a daemon that they concern.

Owns who tells them what; what comes of it is theirs.  homi-room(1).
"""

import dataclasses
import os

from msgspec.structs import replace

from homi.address import Name
from homi.courier.courier import Courier
from homi.courier.orders import Job, Verdict
from homi.doors.guests import Guests
from homi.doors.office import Office, Shown
from homi.envelope import (
    LedgerLine,
    Reason,
    Rung,
)
from homi.reach import Reach
from homi.requests import Deed
from homi.rooms.fanout import Fanout
from homi.rooms.state import Rooms, State
from homi.store.disk import RealDisk
from homi.store.mailbox import Item, Mailbox
from homi.store.places import device_of
from homi.store.state import StateFile

FILE = "rooms.json"
DAY = 86_400.0  # s


def connect(office: Office, courier: Courier, reach: Reach) -> Fanout:
    """Read who is in which room; what comes is fanned out from start() on."""
    path = os.path.join(office.root, FILE)
    rooms = Rooms(StateFile(path, RealDisk(), State), office.names)
    patience = office.config.bounce_after * DAY
    ways = (office.store, office.postmaster, office.record_end)
    fanout = Fanout(rooms, *ways, reach.clock, patience)
    office.rooms = fanout
    office.guests = Guests(office, fanout, reach.clock).asked
    moved, explain, order = office.moved, office.explain, office.order

    def tell(name: Name, line: LedgerLine) -> None:
        moved(name, line)
        if device_of(name) is None:  # no out queue is a room, or in one
            fanout.recorded(name, line)

    def shown(place: Name, item: Item) -> Shown:
        known = fanout.explain if rooms.has(place) else explain
        rung, reason, until = known(place, item)
        if rung is Rung.HELD and reason is Reason.NO_OWNER:
            # What it is bound to has no session just now, and that is known better.
            reason = reach.why(place) or reason
        return rung, reason, until

    def ordered(name: Name, job: Job) -> None:
        if job.do is Deed.FLUSH and rooms.has(name):
            job = _flushed(job, _owed(fanout, office.store.mailbox(name)))
            fanout.flush(name)
        order(name, job)

    office.moved, office.explain, office.order = tell, shown, ordered
    courier.subscribe(lambda name, _item, line: fanout.recorded(name, line))
    office.names.subscribe(lambda name, _claim: fanout.revive(name))
    return fanout


def _owed(fanout: Fanout, box: Mailbox) -> set[int]:
    """The messages that some member could not be given yet."""
    pending = box.pending.items()
    return {seq for seq, one in pending if any(fanout.waits(box.name, one).values())}


def _flushed(job: Job, owed: set[int]) -> Job:
    """The order, answered so that what members are tried for at once is no letter of
    which nothing changed."""

    def done(verdicts: list[Verdict]) -> None:
        pairs = zip(job.letters, verdicts, strict=True)
        told = [
            replace(one, already=False) if at in owed else one for (at, _), one in pairs
        ]
        job.done(told)

    return dataclasses.replace(job, done=done)

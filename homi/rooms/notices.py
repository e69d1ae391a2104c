"""Members that get no copies but a notice, one at a time until they read it.

Owns what is counted meanwhile; what a notice says is in homi.rooms.copies.
homi-room(1) has the rule.
"""

from collections.abc import Callable
from functools import partial

from homi.address import Address, Device, Name
from homi.envelope import FINISHED, MessageId, Reason, Rung, encode
from homi.errors import HomiError, StorageFailed
from homi.postmaster import Postmaster, Result, Submission
from homi.rooms.copies import notice, noticing
from homi.rooms.lane import Lane
from homi.rooms.state import Rooms
from homi.store.base import Store
from homi.store.mailbox import Item
from homi.store.places import queue_of

Served = Callable[[Lane, Item, Rung, Reason], None]
Failed = Callable[[Lane, Item, HomiError], None]


class Notices:
    """Writes them; what a member reads of the room itself is its own affair."""

    def __init__(
        self,
        rooms: Rooms,
        store: Store,
        postmaster: Postmaster,
        served: Served,
        failed: Failed,
        soon: Callable[[Lane], None],
    ) -> None:
        """served, failed and soon are told what became of what a lane has to do."""
        self._rooms = rooms
        self._store = store
        self._accept = postmaster.accept
        self._device = postmaster.device
        self._served = served
        self._failed = failed
        self._soon = soon

    def serve(self, lane: Lane) -> None:
        """Count what came while a notice is unread; else write the next."""
        if not (lane.todo or lane.missed or lane.unknown):
            return
        if self._unread(lane):
            for item in list(lane.todo):
                lane.missed[item.address] += 1
                self._served(lane, item, Rung.STORED, Reason.DIGEST)
            return
        covered, missed = list(lane.todo), lane.missed.copy()
        missed.update(item.address for item in covered)
        head = notice(
            Address(lane.room, self._device), lane.member, missed, more=lane.unknown
        )
        seq = self._store.mailbox(lane.room).last_seq
        done = partial(self._written, lane, covered, seq)
        lane.flying = True
        self._accept(Submission(head, encode(head), noticing(), lane.address, done))

    def _unread(self, lane: Lane) -> bool:
        """Whether the member has a notice that it has not read."""
        last = lane.member.notice
        if not last:
            return False
        name, at, device = lane.address.partition("@")
        place = queue_of(Device(device)) if at else Name(name)
        rung = self._store.mailbox(place).rung_of(MessageId(last))
        # What is on another device was read once that tells so.
        return rung is not None and (rung not in FINISHED or rung is Rung.RELAYED)

    def _written(
        self, lane: Lane, covered: list[Item], seq: int, result: Result
    ) -> None:
        """The notice is in the member's mailbox, or is not."""
        lane.flying = False
        if lane.gone:
            return
        error = result.error
        if error is not None and error.reason == "id-conflict":
            error = None  # an earlier run wrote it, and counted otherwise
        try:
            if error is None:
                self._rooms.noticed(lane.room, lane.address, result.id, seq)
        except StorageFailed as failure:
            error = failure
        if error is not None:
            if covered:
                self._failed(lane, covered[0], error)
            return
        lane.member = self._rooms.members(lane.room)[lane.address]
        lane.missed.clear()
        lane.unknown = False
        lane.well()
        for item in covered:
            self._served(lane, item, Rung.STORED, Reason.DIGEST)
        self._soon(lane)

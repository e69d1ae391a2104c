"""What comes to a room, on its way to its members: a copy each, or a notice.

Owns when a member is tried again, and when all have it, which ends the message.
What is in memory only makes it faster: a copy that is submitted twice is known by its
id, so that the pending mail of the rooms is enough to go on from.  homi-room(1).
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from homi.address import Name
from homi.clock import Clock, parse_rfc3339, rfc3339
from homi.envelope import (
    FINISHED,
    Envelope,
    LedgerLine,
    Reason,
    Rung,
    decode_msg,
)
from homi.errors import BadMessage, HomiError
from homi.postmaster import Postmaster, Result, Submission
from homi.rooms.copies import permit, postmark
from homi.rooms.lane import Lane, reason_of
from homi.rooms.notices import Notices
from homi.rooms.state import Rooms
from homi.store.base import Store
from homi.store.mailbox import Item

log = logging.getLogger("homi.rooms")

Key = tuple[Name, int]  # a room and a seq
Shown = tuple[Rung, Reason | None, float | None]  # rung, reason, until (wall seconds)
# A mailbox, a line that ends a message there, told whether it is recorded.
End = Callable[[Name, LedgerLine, Callable[[bool], None]], None]


class Fanout:
    """Serves the members of every room.  All calls on the loop's thread."""

    def __init__(
        self,
        rooms: Rooms,
        store: Store,
        postmaster: Postmaster,
        end: End,
        clock: Clock,
        patience: float,
    ) -> None:
        """patience: seconds that a member is tried, as mail for another device is."""
        self.rooms = rooms
        self.findings = rooms.findings
        self._store = store
        self._postmaster = postmaster
        self._end = end
        self._clock = clock
        self._patience = patience
        self._running = False
        ways = (self._served, self._failed, self._soon)
        self._notices = Notices(rooms, store, postmaster, *ways)
        self._lanes: dict[Name, dict[str, Lane]] = {}
        self._owing: dict[Key, set[str]] = {}  # who has not got it yet
        rooms.subscribe(self._changed)
        postmaster.subscribe(self.came, out=False)

    # ---- life ----

    def start(self, _loop: asyncio.AbstractEventLoop) -> None:
        """Go on with what is pending."""
        self._running = True
        for room in self.rooms.all():
            last = self._store.mailbox(room).last_seq
            for member in self.rooms.members(room).values():
                if member.notify:
                    self._lane(room, member.address).unknown = last > member.noticed
        self.sweep()

    def stop(self) -> None:
        """Submit nothing more."""
        self._running = False
        for lanes in self._lanes.values():
            for lane in lanes.values():
                lane.end()

    def sweep(self) -> None:
        """Look at everything again, for the event that got lost."""
        for room in self.rooms.all():
            for item in list(self._store.mailbox(room).pending.values()):
                self.came(room, item)
            for lane in self._lanes.get(room, {}).values():
                self._soon(lane)

    # ---- events ----

    def came(self, room: Name, item: Item) -> None:
        """Something is, or is again, pending in a mailbox that may be a room's."""
        if not self.rooms.has(room):
            return
        key = room, item.seq
        if key in self._owing or not self._running:
            return
        if item.rung is Rung.PARKED or not self.rooms.takes(room, item.seq):
            return  # until it is let go on, or for good
        try:
            envelope = self._store.mailbox(room).read(item)
        except HomiError as error:
            log.error("%s %s", item.id, error.text)  # the sweep tries it again
            return
        due = [] if envelope.via.was is not None else self._due(room, item, envelope)
        self._owing[key] = set(due)
        for address in due:
            lane = self._lane(room, address)
            lane.add(item)
            while (oldest := lane.excess()) is not None:
                self._given_up(lane, oldest, Reason.QUOTA, "too much waits for it")
            self._soon(lane)
        if not due:
            self._finish(key)

    def recorded(self, name: Name, line: LedgerLine) -> None:
        """Somebody recorded a line: what was held goes on, a notice was read."""
        if self.rooms.has(name):
            item = self._store.mailbox(name).pending.get(line.seq)
            if item is not None:
                self.came(name, item)
        elif line.rung in FINISHED:
            for lanes in self._lanes.values():
                lane = lanes.get(name)
                if lane is not None and (
                    lane.member.notice == line.id or lane.reason is Reason.QUOTA
                ):
                    self.retry(lane)

    def retry(self, lane: Lane) -> None:
        """Try a member at once."""
        lane.wake()
        self._soon(lane)

    def flush(self, room: Name) -> None:
        """Try every member of a room at once."""
        for lane in self._lanes.get(room, {}).values():
            self.retry(lane)

    def revive(self, name: Name) -> None:
        """A name was claimed, changed or released: try it at once."""
        for lanes in self._lanes.values():
            if (lane := lanes.get(name)) is not None:
                self.retry(lane)

    def _changed(self, room: Name) -> None:
        """Members came, left or changed, or the room ended."""
        members = self.rooms.members(room)
        for address, lane in list(self._lanes.get(room, {}).items()):
            if address in members:
                lane.member = members[address]
                continue
            lane.end()
            del self._lanes[room][address]
            for item in lane.todo if self.rooms.has(room) else ():
                self._settle(lane, item)
        if not self.rooms.has(room):
            self._owing = {k: v for k, v in self._owing.items() if k[0] != room}

    # ---- what is shown ----

    def explain(self, room: Name, item: Item) -> Shown:
        """How far a pending message of a room is, why not further, until when."""
        if item.rung is Rung.PARKED:
            return item.rung, item.reason, item.until
        if not self.rooms.takes(room, item.seq):
            return Rung.HELD, Reason.NO_OWNER, None
        for address in sorted(self._owing.get((room, item.seq), ())):
            lane = self._lane(room, address)
            if lane.reason is not None:
                return Rung.DEFERRED, lane.reason, lane.until
        return Rung.STORED, None, None

    def waits(self, room: Name, item: Item) -> dict[str, str]:
        """Who has not got a pending message yet, and why not."""
        owing = sorted(self._owing.get((room, item.seq), ()))
        return {one: self._lane(room, one).reason or "" for one in owing}

    def lane(self, room: Name, address: str) -> Lane | None:
        """What waits for a member; None: nothing ever did."""
        return self._lanes.get(room, {}).get(address)

    # ---- one member ----

    def _due(self, room: Name, item: Item, envelope: Envelope) -> list[str]:
        """Who is to get it: who was a member when it came, but not who wrote it."""
        # Nobody is spared for a name that nothing proves.
        wrote = item.address if envelope.via.verified else None
        return [
            address
            for address, member in self.rooms.members(room).items()
            if member.since < item.seq and address != wrote
        ]

    def _lane(self, room: Name, address: str) -> Lane:
        lanes = self._lanes.setdefault(room, {})
        if address not in lanes:
            lanes[address] = Lane(room, self.rooms.members(room)[address])
        return lanes[address]

    def _soon(self, lane: Lane) -> None:
        """Pump it in a turn of its own: the outcome of a try may come at once."""
        if self._running and not lane.flying and lane.timer is None:
            asyncio.get_running_loop().call_soon(self._pump, lane)

    def _pump(self, lane: Lane) -> None:
        """Submit the next one for a member."""
        if lane.flying or lane.gone or lane.timer is not None or not self._running:
            return
        pending = self._store.mailbox(lane.room).pending
        while lane.todo:
            item = lane.todo[0]
            if item.seq in pending and item.rung is not Rung.PARKED:
                break
            # It ended, or is held: one that is let go on comes anew.
            lane.drop(item)
            self._owing.pop((lane.room, item.seq), None)
        if lane.member.notify:
            self._notices.serve(lane)
        elif lane.todo:
            self._submit(lane, lane.todo[0])

    def _submit(self, lane: Lane, item: Item) -> None:
        """One copy."""
        try:
            envelope = self._store.mailbox(lane.room).read(item)
            head = decode_msg(envelope.msg)
        except HomiError as error:
            self._failed(lane, item, error)
            return
        lane.flying = True
        sub = Submission(
            head,
            bytes(envelope.msg),
            postmark(envelope, lane.room, lane.address),
            lane.address,
            partial(self._done, lane, item),
            tuple(envelope.hops),
        )
        sub.permit = permit(self._store.mailbox(lane.room), item, envelope)
        self._postmaster.accept(sub)

    def _done(self, lane: Lane, item: Item, result: Result) -> None:
        """The member's mailbox, or the queue for its device, has it or has not."""
        lane.flying = False
        if lane.gone:
            return
        if result.error is not None:
            self._failed(lane, item, result.error)
            return
        lane.well()
        self._served(lane, item, result.rung, result.reason)
        self._soon(lane)

    def _served(
        self,
        lane: Lane,
        item: Item,
        rung: Rung,
        reason: Reason | None = None,
        why: str | None = None,
    ) -> None:
        """One for a member is done with."""
        lane.drop(item)
        self._note(lane, item, rung, reason, why)
        self._settle(lane, item)

    def _failed(self, lane: Lane, item: Item, error: HomiError) -> None:
        """It is tried again, unless that can never help, or has not for too long."""
        now = self._clock.wall()
        reason = reason_of(error)
        hopeless = isinstance(error, BadMessage)
        if hopeless or now - parse_rfc3339(item.at) > self._patience:
            self._given_up(lane, item, reason, error.text)
            lane.well()
            self._soon(lane)
            return
        wait = lane.pause(reason, now)
        if lane.said != (item.seq, reason):
            lane.said = item.seq, reason
            self._note(lane, item, Rung.DEFERRED, reason, error.text)
        loop = asyncio.get_running_loop()
        lane.timer = loop.call_later(wait, self._again, lane)

    def _again(self, lane: Lane) -> None:
        lane.timer = None
        self._pump(lane)

    def _given_up(self, lane: Lane, item: Item, reason: Reason, why: str) -> None:
        """One will not get to a member: its sender is told."""
        text = (
            f"Your message {item.id} to the room {lane.room} did not get to"
            f" {lane.address}: {why}."
        )
        step = f"{lane.room}/{lane.address}"
        self._postmaster.tell(item.address, item.id, item.kind, step, text)
        self._served(lane, item, Rung.REFUSED, reason, why)

    # ---- the ledger of the room ----

    def _settle(self, lane: Lane, item: Item) -> None:
        """One who owes nothing any more; with the last of them it is finished."""
        key = lane.room, item.seq
        owing = self._owing.get(key)
        if owing is not None:
            owing.discard(lane.address)
            if not owing:
                self._finish(key)

    def _finish(self, key: Key) -> None:
        """Each member has it, or will not get it."""
        room, seq = key
        item = self._store.mailbox(room).pending.get(seq)
        if item is None:
            self._owing.pop(key, None)
            return
        line = self._line(item, Rung.RELAYED, "room")
        self._end(room, line, partial(self._finished, key))

    def _finished(self, key: Key, _kept: bool) -> None:
        """Where it is not recorded the sweep begins anew; copies are known then."""
        self._owing.pop(key, None)

    def _note(
        self,
        lane: Lane,
        item: Item,
        rung: Rung,
        reason: Reason | None,
        why: str | None = None,
    ) -> None:
        """How far the copy for one member is."""
        line = self._line(item, rung, why)
        line.member, line.reason = lane.address, reason
        if rung is Rung.DEFERRED and lane.until is not None:
            line.until = rfc3339(lane.until)
        told = f"{rung} ({reason})" if reason else rung
        log.info("%s room=%s to=%s status=%s", item.id, lane.room, lane.address, told)
        # What one member has is known by its own mailbox: it may be lost.
        self._store.record(lane.room, line)

    def _line(self, item: Item, rung: Rung, by: str | None) -> LedgerLine:
        at = rfc3339(self._clock.wall())
        return LedgerLine(seq=item.seq, id=item.id, rung=rung, at=at, by=by)

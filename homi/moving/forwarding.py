"""What waits for a name on its way after it, in order: to where the name went, or into
its mailbox once what is older stands there.

Owns that nothing is left behind, and that nothing comes between the last of it and
the moment from which what is new goes the straight way.  homi-move(1).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeVar

from homi.address import Address, Device, Name
from homi.behind import aside
from homi.clock import Clock, rfc3339
from homi.envelope import LedgerLine, Reason, Rung
from homi.errors import HomiError, NotReached, StorageFailed
from homi.returns import Bounce, Record
from homi.store.base import Store
from homi.store.mailbox import Item, Mailbox
from homi.store.places import queue_of

log = logging.getLogger("homi.moving")

TOGETHER = 256  # on their way at once
BYTES = 2 << 20  # of them, the last one counted whole: each is in memory some times
LANDING = 0.01  # s until what is at its commit point is looked for again
FIRST, LONGEST = 1.0, 30.0  # s until a queue without room is tried again

Moved = Callable[[str | HomiError], None]
Value = TypeVar("Value")
Send = Callable[[Mailbox, Item, Moved], None]
Short = Callable[[HomiError | None], None]


class Ways(NamedTuple):
    """What mail goes on by."""

    here: Device
    store: Store
    forward: Callable[[Mailbox, Item, Address, int, Moved], None]
    bring: Send
    record: Record
    bounce: Bounce
    clock: Clock


class Road(NamedTuple):
    """From where mail goes on, which of it, and how."""

    box: Mailbox
    takes: Callable[[Item], bool]
    send: Send
    to: str
    by: str  # as the ledger tells it
    at: str  # the step, behind each that is kept there
    rest: Callable[[], bool]  # whether more will be in box
    short: Short  # told why the place that it goes to takes nothing now


class Forwarding:
    """The mail of names that moved."""

    def __init__(self, ways: Ways, at: Callable[[str], None]) -> None:
        """at: told of each step that a crash may come behind."""
        self._ways = ways
        self._at = at

    async def run(
        self, name: Name, to: Address, generation: int, leave: Callable[[], object]
    ) -> int:
        """Let all that waits follow the name to its new address; leave is called in
        the moment in which nothing does.  How many went on."""

        def send(box: Mailbox, item: Item, moved: Moved) -> None:
            self._ways.forward(box, item, to, generation, moved)

        box = self._ways.store.mailbox(name)
        by = f"move to {to}"
        rest = self._behind(name)
        road = Road(box, _all, send, str(to), by, "move-forwarded", rest, _nobody)
        return await self._empty(road, leave)

    async def bring(self, name: Name, done: Callable[[], object], short: Short) -> int:
        """Let what waited for older mail of the name be in its mailbox; done is called
        in the moment in which nothing waits, short with why some finds no room, and
        with None once it does.  How many did."""
        _, place, to = aside(name, self._ways.here)
        box = self._ways.store.known(place)
        if box is None:
            done()
            return 0

        def takes(item: Item) -> bool:
            return item.to == to

        bring = self._ways.bring
        by = f"move of {name}"
        road = Road(box, takes, bring, to, by, "move-behind", _no, short)
        return await self._empty(road, done)

    def _behind(self, name: Name) -> Callable[[], bool]:
        """Asks whether something waits for older mail of the name."""
        _, place, to = aside(name, self._ways.here)
        box = self._ways.store.known(place)
        if box is None:
            return _no
        return lambda: any(item.to == to for item in box.pending.values())

    def pending(self, name: Name) -> int:
        """How many letters wait in the mailbox of a name."""
        return len(self._ways.store.mailbox(name).pending)

    def waiting(self, device: Device) -> int:
        """How many wait for a device."""
        return len(self._ways.store.mailbox(queue_of(device)).pending)

    def kept(self, to: Address) -> int:
        """How many of those for that address a person is to let go first."""
        box = self._ways.store.known(queue_of(Device(to.device or "")))
        found = [] if box is None else box.pending.values()
        return sum(one.to == str(to) and one.rung is Rung.PARKED for one in found)

    async def _empty(self, road: Road, end: Callable[[], object]) -> int:
        """Let all of a road go on, then end it.  How many went."""
        box, count, delay = road.box, 0, FIRST
        while True:
            some = _some(filter(road.takes, box.pending.values()))
            if not (some or box.coming or road.rest()):
                break
            went = await asyncio.gather(*(self._one(road, item) for item in some))
            count += sum(went)
            if some and not any(went):
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST)
            elif not some:
                await asyncio.sleep(LANDING)
        end()
        return count

    async def _one(self, road: Road, item: Item) -> bool:
        """Whether this one is through, wherever to."""
        loop, box, to = asyncio.get_running_loop(), road.box, road.to
        told: asyncio.Future[str | HomiError] = loop.create_future()
        road.send(box, item, partial(_settle, told))
        found = await told
        if isinstance(found, NotReached):
            log.info("%s to=%s waits (%s)", item.id, to, found.text)
            road.short(found)
            return False
        road.short(None)
        if isinstance(found, StorageFailed) and _is_there(box, item):
            return False
        kept: asyncio.Future[bool] = loop.create_future()
        ended = partial(_settle, kept)
        self._at(road.at)
        if isinstance(found, HomiError):
            log.warning("%s to=%s is bounced (%s)", item.id, to, found.text)
            reason = Reason(found.reason) if found.reason in _REASONS else None
            self._ways.bounce(box.name, item, reason, found.text, road.by, ended)
        elif box.pending.get(item.seq) is not item:
            return True  # it ended here meanwhile, and is known there
        else:
            line = LedgerLine(
                seq=item.seq,
                id=item.id,
                rung=Rung.MOVED,
                at=rfc3339(self._ways.clock.wall()),
                by=road.by,
            )
            self._ways.record(box.name, line, ended, durable=True)
        return await kept


_REASONS = frozenset(Reason)


def _some(items: Iterable[Item]) -> list[Item]:
    """The first of them, as many as may be on their way at once."""
    found, size = list[Item](), 0
    for item in islice(items, TOGETHER):
        found.append(item)
        size += item.length
        if size >= BYTES:
            break
    return found


def _all(_item: Item) -> bool:
    """Whatever it is."""
    return True


def _no() -> bool:
    """Nothing more."""
    return False


def _nobody(_why: HomiError | None) -> None:
    """Nobody asks."""


def _settle(told: "asyncio.Future[Value]", found: Value) -> None:
    """Pass it on to who waits, unless nobody does any more."""
    if not told.done():
        told.set_result(found)


def _is_there(box: Mailbox, item: Item) -> bool:
    """Whether the line of a letter can be read."""
    try:
        box.read(item)
    except HomiError:
        return False
    return True

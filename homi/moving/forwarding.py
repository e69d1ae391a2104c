"""What waits for a name that moved on its way after it, in order.

Owns that nothing is left behind, and that nothing comes between the last of it and
the moment from which the name leads elsewhere.  homi-move(1).
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from homi.address import Address, Device, Name
from homi.clock import Clock, rfc3339
from homi.envelope import LedgerLine, Reason, Rung
from homi.errors import HomiError, NotReached, StorageFailed
from homi.returns import Bounce, Record
from homi.store.base import Store
from homi.store.mailbox import Item, Mailbox
from homi.store.places import queue_of

log = logging.getLogger("homi.moving")

TOGETHER = 256  # on their way at once
LANDING = 0.01  # s until what is at its commit point is looked for again
FIRST, LONGEST = 1.0, 30.0  # s until a queue without room is tried again

Moved = Callable[[str | HomiError], None]


class Ways(NamedTuple):
    """What mail goes on by."""

    store: Store
    forward: Callable[[Mailbox, Item, Address, int, Moved], None]
    record: Record
    bounce: Bounce
    clock: Clock


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
        box, count, delay = self._ways.store.mailbox(name), 0, FIRST
        while box.pending or box.coming:
            some = list(box.pending.values())[:TOGETHER]
            went = await asyncio.gather(
                *(self._one(box, item, to, generation) for item in some)
            )
            count += sum(went)
            if some and not any(went):
                await asyncio.sleep(delay)
                delay = min(2 * delay, LONGEST)
            elif not some:
                await asyncio.sleep(LANDING)
        leave()
        return count

    def pending(self, name: Name) -> int:
        """How many letters wait in the mailbox of a name."""
        return len(self._ways.store.mailbox(name).pending)

    def waiting(self, device: Device) -> int:
        """How many wait for a device."""
        return len(self._ways.store.mailbox(queue_of(device)).pending)

    async def _one(
        self, box: Mailbox, item: Item, to: Address, generation: int
    ) -> bool:
        """Whether this one is through, wherever to."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[str | HomiError] = loop.create_future()
        self._ways.forward(box, item, to, generation, partial(_settle, told))
        found = await told
        if isinstance(found, NotReached):
            log.info("%s to=%s waits (%s)", item.id, to, found.text)
            return False
        if isinstance(found, StorageFailed) and _is_there(box, item):
            return False
        kept: asyncio.Future[bool] = loop.create_future()
        self._at("move-forwarded")
        if isinstance(found, HomiError):
            log.warning("%s to=%s is bounced (%s)", item.id, to, found.text)
            reason = Reason(found.reason) if found.reason in _REASONS else None
            self._ways.bounce(
                box.name, item, reason, found.text, f"move to {to}", kept.set_result
            )
        elif box.pending.get(item.seq) is not item:
            return True  # it ended here meanwhile, and is known there
        else:
            line = LedgerLine(
                seq=item.seq,
                id=item.id,
                rung=Rung.MOVED,
                at=rfc3339(self._ways.clock.wall()),
                by=f"move to {to}",
            )
            self._ways.record(box.name, line, kept.set_result, durable=True)
        return await kept


_REASONS = frozenset(Reason)


def _settle(told: "asyncio.Future[str | HomiError]", found: str | HomiError) -> None:
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

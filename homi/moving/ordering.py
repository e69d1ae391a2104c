"""The order of a lane over a move: mail that went the old way comes before newer mail.

Owns what newer mail for a name that came here waits for, and what this device says of
the mail of names that left it.  homi-move(1) states the rule.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from homi.address import Address, Device, Name, parse_address
from homi.amount import amount
from homi.claims import Waited
from homi.clock import Clock
from homi.envelope import ASIDE, Reason, Rung
from homi.errors import HomiError, NotReached, StorageFailed, Unavailable
from homi.moving.forwarding import LANDING, Forwarding
from homi.moving.said import Asked, Far, Said
from homi.moving.trail import MOST, Trail
from homi.names import Names
from homi.routing import ALIASES_MAX
from homi.store.base import Store
from homi.store.mailbox import Mailbox
from homi.store.places import queue_of

log = logging.getLogger("homi.moving")

LANDED = 500  # looks for what was at its commit point when the name came
AWAY = (NotReached, StorageFailed, Unavailable)  # the other device may answer later


class Sides(NamedTuple):
    """What it is found out with, and what goes on then."""

    here: Device
    names: Names
    store: Store
    far: Far
    forwarding: Forwarding
    clock: Clock
    at: Callable[[str], None]


class Ordering:
    """The names of one device that older mail is still coming for."""

    def __init__(self, sides: Sides) -> None:
        """Nothing goes on before sweep()."""
        self._sides = sides
        self._moves = sides.names.departures
        self._tasks: dict[Name, asyncio.Task[None]] = {}
        self._walking: dict[Name, Trail] = {}  # those that wait for other devices
        self._for: dict[Name, str] = {}  # what these wait for, in words
        # Those whose newer mail follows, with why it finds no room.
        self._room: dict[Name, HomiError | None] = {}
        self._lifted: set[Name] = set()  # those that wait for nothing any more
        self._stopping = False

    def sweep(self) -> None:
        """Go on with every name that older mail comes for, or newer mail waits for."""
        found = {claim.name for claim in self._sides.names.all()}
        box = self._sides.store.known(queue_of(self._sides.here))
        waits = set() if box is None else {item.to for item in box.pending.values()}
        left = {parse_address(to).name for to in waits}
        for name in left | {name for name in found if self._moves.older(name)}:
            self._go(name)

    def see(self, name: Name) -> None:
        """A claim came, changed or ended."""
        if self._moves.older(name):
            self._go(name)
        if name in self._walking and self._over(name):
            self._again(name)

    def lift(self, name: Name) -> bool:
        """Wait no longer for what is older; whether anything did."""
        if not self._moves.older(name):
            return False
        self._lifted.add(name)
        self._waits(name, Waited(s=MOST))  # after a restart, too
        self._again(name)
        return True

    def why(self, name: Name) -> HomiError | None:
        """What newer mail of the name waits for; None: it waits for nothing."""
        if (room := self._room.get(name)) is not None:
            text = f"newer mail of {name} waits for room: {room.text}"
            return NotReached(text, hint=room.hint, reason=room.reason)
        if not self._moves.older(name):
            return None
        text = f"newer mail of {name} waits for {self._for.get(name, 'older mail')}"
        hint = f"ask again; homi move {name} --abort goes on without it"
        if name in self._room:
            text, hint = f"newer mail of {name} goes into its mailbox now", "ask again"
        return NotReached(text, hint=hint, reason=Reason.MOVING)

    async def over(self, name: Name, patience: float) -> None:
        """Wait so many seconds at most until nothing of the name waits."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while (task := self._tasks.get(name)) is not None:
                    await asyncio.wait([task])  # one that is ended has one behind it

    def stop(self) -> None:
        """Begin nothing more; names.json says what is to be done."""
        self._stopping = True
        for trail in self._walking.values():
            trail.keep()
        for task in self._tasks.values():
            task.cancel()

    def answer(self, asked: Asked) -> Said:
        """What another device is told of the mail that went over this one to a name:
        settled, where all that was here when it first asked went on."""
        name, names = Name(asked.to), self._sides.names
        if (claim := names.get(name)) is not None:
            # It is to stay, or nothing of it goes on yet.
            waiting = self._sides.forwarding.pending(claim.name)
            return Said(settled=claim.moving is None, waiting=waiting)
        alias = names.aliases.get(name)
        to = None if alias is None else parse_address(alias.to)
        if alias is None or to is None or to.device in (None, self._sides.here):
            return Said(settled=True)
        box = self._sides.store.known(queue_of(Device(to.device)))
        upto = asked.upto or (0 if box is None else box.last_seq)
        waiting = 0 if box is None else _waiting(box, alias.to, upto)
        return Said(settled=not waiting, upto=upto, waiting=waiting, to=alias.to)

    # ---- the device it came to ----

    def _go(self, name: Name) -> None:
        """See that something goes on with the name."""
        if name in self._tasks or self._stopping:
            return
        task = asyncio.get_running_loop().create_task(self._run(name))
        self._tasks[name] = task
        task.add_done_callback(lambda task: self._ended(name, task))

    def _again(self, name: Name) -> None:
        """It waits for nothing elsewhere any more."""
        if name in self._walking:
            self._tasks[name].cancel()
        else:
            self._go(name)

    def _ended(self, name: Name, task: "asyncio.Task[None]") -> None:
        """It is in order; where its wait was ended, the rest is done now."""
        del self._tasks[name]
        walked = self._walking.pop(name, None) is not None
        self._for.pop(name, None)
        self._room.pop(name, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the order of %s is not settled", name, exc_info=error)
        elif task.cancelled() and walked and self._over(name):
            self._go(name)

    def _over(self, name: Name) -> bool:
        """Whether nothing is waited for: nobody wants it, or it goes on from here."""
        claim = self._sides.names.get(name)
        lifted = name in self._lifted or self._moves.waited(name).s >= MOST
        return lifted or claim is None or claim.moving is not None

    async def _run(self, name: Name) -> None:
        """Wait for what is older, then let what is newer follow it."""
        sides, moves = self._sides, self._moves
        if not self._over(name):
            keep = partial(self._waits, name)
            trail = Trail(sides.clock, moves.waited(name), keep)
            self._walking[name] = trail
            try:
                for to in moves.older(name):
                    await self._walk(trail, name, parse_address(to))
            except TimeoutError:
                log.warning("%s: what is older does not come: newer mail goes on", name)
            del self._walking[name]
            self._for.pop(name, None)
        sides.at("move-older")
        self._room[name] = None
        end, short = partial(moves.in_order, name), partial(self._short, name)
        count = await sides.forwarding.bring(name, end, short)
        self._lifted.discard(name)
        sides.at("move-ordered")
        log.info("%s is in order, %d letters waited for that", name, count)

    def _waits(self, name: Name, waited: Waited) -> None:
        """Keep how long it was; a disk that takes nothing is no reason to end."""
        try:
            self._moves.waits(name, waited)
        except StorageFailed as error:
            log.warning("%s: how long it waits is not kept: %s", name, error.text)

    def _short(self, name: Name, why: HomiError | None) -> None:
        """Whether what waited finds room in the mailbox."""
        self._room[name] = why

    async def _walk(self, trail: Trail, name: Name, to: Address) -> None:
        """Wait until nothing older comes by that address, nor by what it leads to."""
        for _ in range(ALIASES_MAX):
            if to.device in (None, self._sides.here):
                return
            await self._left(trail, name, to)
            if (led := await self._passed(trail, name, to)) is None:
                return
            to = led

    async def _left(self, trail: Trail, name: Name, to: Address) -> None:
        """Wait until what is for that address here by now has left; not where there is
        no link any more that it could leave by."""
        device = Device(to.device or "")
        box = self._sides.store.known(queue_of(device))
        if box is None:
            return
        for _ in range(LANDED):
            if not box.coming:
                break
            await asyncio.sleep(LANDING)
        upto = box.last_seq
        while self._sides.far.linked(device):
            if not (left := _waiting(box, str(to), upto)):
                return
            what = amount(left, "older message")
            self._for[name] = f"{what} in the queue for {device}"
            await trail.look(f"{left} for {device}")
        log.warning("%s: nothing older leaves for %s: it is not linked", name, device)

    async def _passed(self, trail: Trail, name: Name, to: Address) -> Address | None:
        """Wait until what was for that address there has left there, too; the address
        that it went on to, if it did, and there can be one."""
        device, upto = Device(to.device or ""), 0
        while True:
            asked = Asked(do="older", name=name, to=to.name, upto=upto)
            try:
                said = await self._sides.far.ask(device, asked)
                if said.settled:
                    return parse_address(said.to) if said.to else None
            except AWAY as error:
                self._for[name] = f"{device}, which may have older mail: {error.text}"
                await trail.look(f"no word of {device}")
                continue
            except HomiError as error:
                log.warning("%s: nothing older comes from %s: %s", name, to, error.text)
                return None
            upto = said.upto
            what = amount(said.waiting, "older message")
            self._for[name] = f"{what} that {device} has for it"
            await trail.look(f"{said.waiting} on {device}")


def _waiting(box: Mailbox, to: str, upto: int) -> int:
    """How many messages for an address are to leave a queue, up to a seq: without
    those that a person keeps there, and what waits behind them."""
    count, kept = 0, set[str]()
    for item in box.pending.values():
        if item.seq > upto:
            break
        if item.to != to or item.sender in kept:
            continue
        if item.rung is not Rung.PARKED:
            count += 1
        elif item.reason not in ASIDE:
            kept.add(item.sender)
    return count

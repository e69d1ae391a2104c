"""Moves of names, joined to the parts of a daemon that they concern.

Owns who hears of what, and that whoever asked is answered; the steps are homi.moving's.
homi-move(1).
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import Struct

from homi.address import Device, Name, parse_address, parse_claimable, parse_name
from homi.assembly.ends import Ends
from homi.assembly.parley import Parley
from homi.clock import Clock
from homi.doors.answers import Answer
from homi.doors.office import Office, Shown
from homi.envelope import Reason, Rung
from homi.errors import Bug, HomiError, NotReached, Unavailable, Usage
from homi.links.answering import Asker, Grant, Reply
from homi.links.exchange import Exchange
from homi.links.greeting import Peer
from homi.links.talk import Talk
from homi.moved import MoveDone
from homi.moving.planning import Order
from homi.moving.running import Running, Where, result
from homi.moving.said import VERB, Asked, Said, decode
from homi.requests import Move
from homi.store.blobs import failed
from homi.store.fault import from_environment
from homi.store.lines import Finding
from homi.store.mailbox import Item

PATIENCE = 4.0  # s until who asked a name to come asks again
COMING = 900  # times it asks


def connect(office: Office, talk: Talk, clock: Clock) -> "Moving":
    """Let names be moved from here and to here, from start() on."""
    moving = Moving(office, talk, clock)
    office.moves = moving
    explain = office.explain

    def shown(place: Name, item: Item) -> Shown:
        rung, reason, until = explain(place, item)
        claim = office.names.get(place)
        if claim is not None and claim.moving and rung is Rung.HELD:
            reason = Reason.MOVING
        return rung, reason, until

    office.explain = shown
    return moving


class Moving:
    """The moves of one daemon."""

    def __init__(self, office: Office, talk: Talk, clock: Clock) -> None:
        """Nothing moves before start()."""
        self.findings: list[Finding] = []
        self._office = office
        self._talk = talk
        self._names = office.names
        self._running = Running()
        self._parley = Parley(office, talk)
        at = from_environment(os.environ) or _nowhere
        ends = Ends(office, self._parley, clock, at)
        self._origin, self._target = ends.origin, ends.target
        self._ordering = ends.ordering
        self._target.leaves = self._gone

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on from what names.json says."""
        junction, answering = self._talk.junction, self._talk.gossip.answering
        junction.questions[VERB] = answering.done_by(Grant.MOVE, self._asked)
        junction.on_met.append(self._met)
        self._names.subscribe(lambda name, _claim: self._ordering.see(name))
        loop.call_soon(self.sweep)

    def stop(self) -> None:
        """Begin nothing more; what was begun stands in names.json."""
        self._target.stop()
        self._running.stop()
        self._ordering.stop()

    def sweep(self) -> None:
        """Go on with every move that can go on."""
        self._target.sweep()
        self._ordering.sweep()
        for claim in self._names.departures.under_way():
            self._running.later(self._on(claim.name))
        self._tell(None)

    def newer(self, name: Name) -> HomiError | None:
        """What newer mail of a name that came here waits for; None: it does not."""
        return self._ordering.why(name)

    # ---- what people want ----

    def move(self, request: Move, done: Callable[[Answer], None]) -> None:
        """Begin, go on with, or end a move; done once, with what it came to."""
        address, here = parse_address(request.name), self._office.device
        if address.device not in (None, here):
            if request.abort:
                raise Usage("a move is ended on the device that the name leaves")
            if request.device not in (None, here):
                raise Usage(f"homi move {request.name} brings it here, no further")
            self._told(self._come(request, address.name, address.device), done)
            return
        name = self._names.require(address.name).name if request.abort else address.name
        if request.abort:
            self._told(self._abort(name, force=request.force), done)
            return
        if request.device is None:
            raise Usage(f"to which device? homi move {name} DEVICE")
        order = Order(
            name=name,
            device=Device(parse_name(request.device)),
            to=name if request.to is None else parse_claimable(request.to),
            cwd=request.cwd or "",
            session=request.session or "",
            fork=request.fork,
            spawn=request.spawn,
            dirty=request.dirty,
            dry_run=request.dry_run,
        )
        self._told(self._go(order), done)

    async def _go(self, order: Order) -> MoveDone:
        """A move, or the end of one that is under way already."""
        await self._ordering.over(order.name, PATIENCE)
        if order.dry_run:
            return await self._origin.go(order)
        task = self._run(order)
        await asyncio.wait([task])
        return result(order.name, task)

    async def _come(self, request: Move, name: Name, device: Device | None) -> MoveDone:
        """Have a name of another device moved here."""
        asked = Asked(
            do="come",
            name=parse_claimable(request.to or name),
            to=name,
            cwd=request.cwd or "",
            session=request.session or "",
            fork=request.fork,
            spawn=request.spawn,
            dirty=request.dirty,
            dry_run=request.dry_run,
        )
        for _ in range(COMING):
            said = await self._parley.ask(device or self._office.device, asked)
            if said.done is not None:
                return said.done
        raise NotReached(f"{name} is still on its way", hint="ask once more")

    async def _abort(self, name: Name, *, force: bool) -> MoveDone:
        """End a move, what runs of it first; or what newer mail waits for."""
        claim = self._names.get(name)
        if claim is not None and claim.moving is None and self._ordering.lift(name):
            await self._ordering.over(name, PATIENCE)
            why = self._ordering.why(name)
            if why is not None and why.reason != Reason.MOVING:
                raise why
            return MoveDone(
                name=name,
                device=self._office.device,
                to=name,
                done="aborted",
                generation=claim.generation,
                notes=["what is older comes behind what waited for it"],
            )
        await self._running.halt(name)
        try:
            return await self._origin.abort(name, force=force)
        finally:
            self._tell(None)
            claim = self._names.get(name)
            if claim is not None and claim.moving is not None:
                self._running.later(self._on(name))  # it did not end: it goes on

    # ---- what other devices want ----

    def _asked(self, asker: Asker, line: bytes, reply: Reply) -> None:
        """A question of another device; answered when that is known."""
        asked = decode(line)

        if asked.do == "older":
            reply(self._ordering.answer(asked))
        elif asked.do == "come":
            self._told(self._send(asker.device, asked), reply)
        else:
            self._told(self._target.answer(asker.device, asked), reply)

    async def _send(self, device: Device, asked: Asked) -> Said:
        """A name that is to go to who asks: what came of it, or not yet."""
        order = Order(
            name=parse_name(asked.to),
            device=device,
            to=parse_claimable(asked.name),
            cwd=asked.cwd,
            session=asked.session,
            fork=asked.fork,
            spawn=asked.spawn,
            dirty=asked.dirty,
            dry_run=asked.dry_run,
        )
        await self._ordering.over(order.name, PATIENCE)
        if order.dry_run:
            return Said(done=await self._origin.go(order))
        task = self._run(order)
        done, _ = await asyncio.wait([task], timeout=PATIENCE)
        return Said(done=result(order.name, task)) if done else Said()

    def _met(self, _exchange: Exchange, peer: Peer) -> None:
        """A device is there again: what waited for its word goes on."""
        for claim in self._names.departures.under_way():
            if claim.moving is not None and claim.moving.device == peer.device:
                self._running.later(self._on(claim.name))
        self._tell(peer.device)

    def _gone(self, name: Name) -> None:
        """A name here yields to one elsewhere: what came goes there, and who has it by
        now hears of it."""

        async def follow() -> None:
            await self._running.halt(name)
            await self._on(name)

        if (claim := self._names.get(name)) is not None and claim.moving is not None:
            self._running.later(follow())
        self._tell(None)

    # ---- inside ----

    def _tell(self, device: Device | None) -> None:
        """Tell that device, or every one, of the moves that were ended without it."""
        for name, one in self._names.departures.forced().items():
            if device in (None, one.device):
                told = self._origin.tell(Name(name), one)
                self._running.later(told)

    def _run(self, order: Order) -> "asyncio.Task[MoveDone]":
        """The task of an order, or of the same one that is under way."""
        where = Where(order.device, order.to, order.fork)
        return self._running.run(order.name, where, self._origin.go(order))

    async def _on(self, name: Name) -> None:
        """Go on with a move, unless that is done already."""
        claim = self._names.get(name)
        if claim is None or claim.moving is None or self._running.moves(name):
            return
        where = Where(claim.moving.device, claim.moving.to)
        work = self._origin.resume(name)
        await asyncio.wait([self._running.run(name, where, work)])

    def _told(
        self,
        work: Coroutine[Any, Any, Struct],
        done: Callable[[Struct | HomiError], None],
    ) -> None:
        """Do work, and tell what came of it, whatever that is."""

        async def told() -> None:
            answer: Struct | HomiError = Bug("it failed: the log has it")
            try:
                answer = await work
            except HomiError as error:
                answer = error
            except OSError as error:
                answer = failed(error)
            except asyncio.CancelledError:
                answer = Unavailable("the daemon is stopping: ask again, it goes on")
                raise
            finally:
                done(answer)

        self._running.later(told())


def _nowhere(_point: str) -> None:
    """No test wants a crash."""

"""A move as the device that the name leaves drives it.

Owns the order of the steps, and that this device decides nothing alone once it has
asked: what the other one says counts.  homi-move(1).
"""

import logging
from contextlib import suppress

from homi.address import Address, Device, Name
from homi.amount import amount
from homi.claims import Alias, Claim, Forced, Moving
from homi.errors import HomiError, NotReached, Usage
from homi.moved import MoveDone, MovePlan
from homi.moving.parcel import Packed
from homi.moving.planning import Order, Parts, Planning
from homi.moving.said import Asked, Do, Manifest, Said
from homi.store.blobs import failed

log = logging.getLogger("homi.moving")

ASKS = 60  # times it is asked whether all is in place, some seconds each


class Origin:
    """The names that leave this device."""

    def __init__(self, parts: Parts) -> None:
        """Nothing moves before go() or resume()."""
        self._parts = parts
        self._planning = Planning(parts)
        self._moves = parts.names.departures

    async def go(self, order: Order) -> MoveDone:
        """The whole move.  75 where it is not at its end: then it goes on by itself,
        or stays as it is, as the words say."""
        alias = self._moves.moved(order.name)
        here = self._parts.names.get(order.name) is not None  # claimed anew
        there = f"{order.to}@{order.device}"
        if alias is not None and alias.to == there and not here:
            return await self._gone(alias, order)
        claim = self._planning.movable(order)
        if claim.moving is not None:
            moving = self._moves.same(claim.name, order.device, order.to, order.fork)
            if order.dry_run:
                return _under_way(claim, moving)
            return await self.resume(claim.name)
        plan, said = await self._planning.plan(claim, order)
        if order.dry_run:
            return _done(plan, "planned")
        # It took a moment: a session may have the name by now.
        claim = self._planning.movable(order)
        if order.fork:
            return await self._fork(claim, order, plan)
        wanted = Moving(
            device=order.device,
            to=order.to,
            generation=said.generation,
            cwd=said.cwd,
            session=order.session or plan.conversation,
            spawn=order.spawn,
        )
        self._moves.begin(order.name, wanted, self._parts.clock.wall())
        self._parts.at("move-begun")
        return await self._through(order.name, plan)

    async def resume(self, name: Name) -> MoveDone:
        """Go on with a move, from what the other device says of it."""
        _, moving = self._moving(name)
        if not moving.there:
            said = await self._ask(name, moving, "status")
            if said.there:
                self._moves.arrived(name)
        return await self._through(name, None)

    async def abort(self, name: Name, *, force: bool) -> MoveDone:
        """Let the name stay; 75 where it is there already, or nobody says."""
        _, moving = self._moving(name)
        if not force:
            said = await self._ask(name, moving, "cancel", moving.manifest)
            if said.there:
                self._moves.arrived(name)
        if force or not self._moving(name)[1].there:
            await self._drop(name)
        stays = self._moves.cancel(name, forced=force)
        log.info("%s stays, in generation %d", name, stays.generation)
        return MoveDone(
            name=name,
            device=moving.device,
            to=moving.to,
            done="aborted",
            generation=stays.generation,
        )

    async def _gone(self, alias: Alias, order: Order) -> MoveDone:
        """It is there since before."""
        moving = Moving(device=order.device, to=order.to, generation=alias.moved)
        return await self._compare(order.name, moving, None, 0, 0)

    async def tell(self, name: Name, one: Forced) -> None:
        """Tell a device of a move that was ended without it."""
        asked = Asked(
            do="yield",
            name=name,
            to=one.to,
            generation=one.generation,
            manifest=one.manifest,
        )
        await self._parts.far.ask(one.device, asked)
        self._moves.told(name, one)

    # ---- the steps ----

    async def _through(self, name: Name, plan: MovePlan | None) -> MoveDone:
        """From wherever it stands to its end."""
        parts = self._parts
        claim, moving = self._moving(name)
        count = 0
        if not moving.there:
            try:
                count = await self._claim_there(claim, moving)
            except HomiError as error:
                await self._back(name, moving, error)
            except OSError as error:
                await self._back(name, moving, failed(error))
            self._moves.arrived(name)
        parts.at("move-there")
        await self._drop(name)
        to = Address(moving.to, moving.device)
        forwarded = await parts.forwarding.run(
            name, to, moving.generation, lambda: self._moves.leave(name)
        )
        parts.at("move-left")
        log.info("%s moved to %s, %d letters after it", name, to, forwarded)
        return await self._compare(name, moving, plan, count, forwarded)

    async def _drop(self, name: Name) -> None:
        """Keep nothing more of what goes along, which a daemon before may have packed:
        asked before what is known of it is, so that a crash leaves nothing behind."""
        sha256 = self._moving(name)[1].manifest
        if sha256:
            await self._parts.aside(self._parts.packing.drop, sha256)

    async def _claim_there(self, claim: Claim, moving: Moving) -> int:
        """Copy what goes along, then have it claimed: that is the commit.  How many
        finished messages went along."""
        parts = self._parts
        base = Manifest(
            name=claim.name,
            device=parts.here,
            to=moving.to,
            generation=moving.generation,
            cwd=moving.cwd,
        )
        packed = await self._packed(claim, moving, base, fork=False)
        await self._put(moving.device, packed)
        said = await self._ask(claim.name, moving, "claim", packed.sha256)
        if not said.there:
            raise NotReached(f"{moving.device} did not claim it", reason="moving")
        parts.at("move-claimed")
        history = packed.manifest.history
        return history.count if history else 0

    async def _packed(
        self, claim: Claim, moving: Moving, base: Manifest, *, fork: bool
    ) -> Packed:
        """All that goes along is here, as blobs."""
        parts = self._parts
        if not fork:
            # That of a daemon before: first, for what is packed now may share parts.
            await self._drop(claim.name)
        packed: Packed = await parts.aside(
            parts.packing.pack, claim, base, moving.session, fork
        )
        if not fork:
            self._moves.packed(claim.name, packed.sha256)
        parts.at("move-packed")
        return packed

    async def _put(self, device: Device, packed: Packed) -> None:
        """And there: the manifest first, so that who has a part knows whose it is."""
        await self._parts.far.put(device, packed.sha256)
        for part in packed.manifest.parts:
            await self._parts.far.put(device, part.sha256)
        self._parts.at("move-copied")

    async def _back(self, name: Name, moving: Moving, error: HomiError) -> None:
        """Something went wrong before it was known to be claimed there.  Returns where
        it is; else the name stays, if the other device agrees, and error is told."""
        manifest = self._moving(name)[1].manifest
        try:
            if (await self._ask(name, moving, "cancel", manifest)).there:
                return
        except HomiError as why:
            log.warning("%s is moving (%s; %s)", name, error.text, why.text)
            raise NotReached(
                f"{name} is on its way to {moving.device}, which does not answer:"
                f" {error.text}",
                hint="it goes on when the link is up;"
                f" homi move {name} --abort ends it",
                reason="moving",
            ) from error
        await self._drop(name)
        self._moves.cancel(name)
        text = f"{name} stays here: {error.text}"
        raise type(error)(text, hint=error.hint, reason=error.reason) from error

    async def _fork(self, claim: Claim, order: Order, plan: MovePlan) -> MoveDone:
        """A new name there, with a copy of the conversation."""
        generation = plan.generation
        moving = Moving(
            device=order.device,
            to=order.to,
            generation=generation,
            cwd=plan.cwd_there,
            session=plan.conversation,
            spawn=order.spawn,
        )
        base = Manifest(
            name=claim.name,
            device=self._parts.here,
            to=order.to,
            generation=generation,
            cwd=plan.cwd_there,
        )
        packed = await self._packed(claim, moving, base, fork=True)
        sha256 = packed.sha256
        try:
            await self._put(moving.device, packed)
            await self._ask(claim.name, moving, "claim", sha256, fork=True)
        except HomiError:
            if not await self._forked(claim.name, moving, sha256):
                raise
        finally:
            await self._parts.aside(self._parts.packing.drop, sha256)
        done = await self._compare(claim.name, moving, plan, 0, 0)
        return MoveDone(
            name=done.name,
            device=done.device,
            to=done.to,
            done="forked",
            plan=plan,
            generation=generation,
            notes=done.notes,
        )

    async def _forked(self, name: Name, moving: Moving, sha256: str) -> bool:
        """Whether a copy is there though no answer came; else nothing of it stays."""
        with suppress(HomiError):
            said = await self._ask(name, moving, "cancel", sha256, fork=True)
            return said.there
        return False

    async def _compare(
        self,
        name: Name,
        moving: Moving,
        plan: MovePlan | None,
        count: int,
        forwarded: int,
    ) -> MoveDone:
        """What both devices count once all is in place there."""
        said, notes = Said(), list[str]()
        try:
            for _ in range(ASKS):
                said = await self._ask(name, moving, "counts")
                if said.settled or said.notes:
                    break
        except HomiError as error:
            notes.append(f"{moving.device} does not say what it has: {error.text}")
        if not notes and not said.settled:
            notes.append("what came along is not in place yet")
        if kept := self._parts.forwarding.kept(Address(moving.to, moving.device)):
            waits = amount(kept, "message waits", "messages wait")
            here = f"on {self._parts.here} for a person"
            notes.append(f"{waits} {here}: homi queue @{moving.device}")
        return MoveDone(
            name=name,
            device=moving.device,
            to=moving.to,
            done="moved",
            plan=plan,
            generation=moving.generation,
            history=count or (plan.history if plan else said.messages),
            history_there=said.messages,
            forwarded=forwarded,
            waiting=self._parts.forwarding.waiting(moving.device),
            notes=[*notes, *said.notes],
        )

    async def _ask(
        self,
        name: Name,
        moving: Moving,
        do: Do,
        manifest: str = "",
        *,
        fork: bool = False,
    ) -> Said:
        """Ask the other device about this very move."""
        asked = Asked(
            do=do,
            name=name,
            to=moving.to,
            generation=moving.generation,
            manifest=manifest,
            fork=fork,
            spawn=moving.spawn,
        )
        return await self._parts.far.ask(moving.device, asked)

    def _moving(self, name: Name) -> tuple[Claim, Moving]:
        """The claim and its move; 64 where it does not move."""
        claim = self._parts.names.require(name)
        if claim.moving is None:
            raise Usage(f"{claim.name} is not on its way to another device")
        return claim, claim.moving


def _under_way(claim: Claim, moving: Moving) -> MoveDone:
    """One that is not at its end, as an answer."""
    return MoveDone(
        name=claim.name,
        device=moving.device,
        to=moving.to,
        done="moving",
        generation=moving.generation,
    )


def _done(plan: MovePlan, done: str) -> MoveDone:
    """A plan as an answer."""
    return MoveDone(
        name=plan.name, device=plan.device, to=plan.to, done=done, plan=plan
    )

"""What a move would do, asked of both devices before anything changes.

Owns what cannot be moved, and why.  homi-move(1).
"""

import os
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from homi.address import Device, Name
from homi.claims import Claim
from homi.clock import Clock
from homi.errors import HomiError, NotReached, Usage
from homi.moved import MovePlan
from homi.moving import workspace
from homi.moving.forwarding import Forwarding
from homi.moving.packing import Gathered, Packing
from homi.moving.said import Asked, Far, Said
from homi.names import Names
from homi.owners import Owners

Aside = Callable[..., Coroutine[Any, Any, Any]]  # does work beside the loop


class Order(NamedTuple):
    """What a person wants."""

    name: Name
    device: Device
    to: Name
    cwd: str = ""  # there; empty: where it is here
    session: str = ""
    fork: bool = False
    spawn: bool = False
    dirty: bool = False
    dry_run: bool = False


class Parts(NamedTuple):
    """What a move is made with."""

    here: Device
    names: Names
    owners: Owners
    far: Far
    packing: Packing
    forwarding: Forwarding
    clock: Clock
    aside: Aside
    at: Callable[[str], None]
    stays: Callable[[Name], list[str]] = lambda _name: []  # what does, in words
    # What newer mail of a name that came here waits for, if it does.
    newer: Callable[[Name], HomiError | None] = lambda _name: None


class Planning:
    """The plans of one device."""

    def __init__(self, parts: Parts) -> None:
        """Changes nothing, ever."""
        self._parts = parts

    def movable(self, order: Order) -> Claim:
        """The claim that is to move; 64, 67 or 75 where it cannot."""
        claim = self._parts.names.require(order.name)
        if claim.built_in or claim.room:
            what = "a room" if claim.room else "built in"
            raise Usage(f"{claim.name} is {what}, and cannot move")
        if order.device == self._parts.here:
            raise Usage(f"{claim.name} is on {order.device}")
        waits = self._parts.newer(claim.name)
        if waits is not None and claim.moving is None:
            raise waits
        owner = self._parts.owners.owner(claim.name)
        if owner is not None and owner.pid and not order.fork:
            raise NotReached(
                f"{claim.name} has a live session, pid {owner.pid}",
                hint="end it: its conversation goes along; or --fork a copy of it",
                reason="moving",
            )
        return claim

    async def plan(self, claim: Claim, order: Order) -> tuple[MovePlan, Said]:
        """What would happen, as both devices see it."""
        parts = self._parts
        got: Gathered = await parts.aside(parts.packing.gather, claim, order.session)
        if got.workspace is not None and not order.dirty:
            workspace.check(got.cwd, got.workspace.dirty)
        asked = Asked(
            do="plan",
            name=claim.name,
            to=order.to,
            cwd=order.cwd or _from_home(got.cwd),
            workspace=got.workspace,
            fork=order.fork,
            dirty=order.dirty,
            spawn=order.spawn,
        )
        said = await parts.far.ask(order.device, asked)
        box = parts.forwarding.pending(claim.name)
        space = got.workspace
        stays = [] if order.fork else parts.stays(claim.name)
        plan = MovePlan(
            name=claim.name,
            here=parts.here,
            device=order.device,
            to=order.to,
            fork=order.fork,
            generation=max(said.generation, claim.generation + 1),
            cwd=got.cwd,
            cwd_there=said.cwd,
            history=0 if order.fork else got.finished,
            pending=0 if order.fork else box,
            conversation="" if got.found is None else got.found.id,
            branch="" if space is None else space.branch,
            commit="" if space is None else space.commit,
            notes=[*got.notes, *said.notes, *stays],
        )
        return plan, said


def _from_home(cwd: str) -> str:
    """A folder as the other device is asked for it: homes differ."""
    home = os.path.expanduser("~").rstrip(os.sep)
    if cwd == home or cwd.startswith(home + os.sep):
        return "~" + cwd[len(home) :]
    return cwd

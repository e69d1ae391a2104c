"""The two ends of a move, made of the parts of a daemon: what a name leaves by, and
what it comes by.

Owns which part each is given; the steps are homi.moving's.  homi-move(1).
"""

import asyncio
import os
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from homi.assembly.history import Bringing, History
from homi.assembly.parley import Parley
from homi.assembly.starting import Starting
from homi.assembly.staying import staying
from homi.clock import Clock
from homi.doors.office import Office
from homi.moving.forwarding import Forwarding, Ways
from homi.moving.ordering import Ordering, Sides
from homi.moving.origin import Origin
from homi.moving.packing import Packing
from homi.moving.parcel import Parcels, configs
from homi.moving.planning import Parts
from homi.moving.target import Here, Target
from homi.store.blobs import Blobs
from homi.store.disk import RealDisk

Value = TypeVar("Value")


async def aside(work: Callable[..., Value], *args: object) -> Value:
    """The result of work, which touches the disk or asks git."""
    return await asyncio.get_running_loop().run_in_executor(None, work, *args)


class Ends:
    """Both, and the order of mail, which is of either."""

    def __init__(
        self, office: Office, parley: Parley, clock: Clock, at: Callable[[str], None]
    ) -> None:
        """at: told of each step that a crash may come behind."""
        self._office = office
        self._parley = parley
        self._clock = clock
        self._at = at
        self._parcels = Parcels(Blobs(office.root, RealDisk()))
        post, here, store = office.postmaster, office.device, office.store
        ways = (post.forward, post.bring, office.record, post.bounce, clock)
        self._forwarding = Forwarding(Ways(here, store, *ways), at)
        self.origin = self._leaving()
        self.target = self._coming()
        forwarding = self._forwarding
        sides = Sides(here, office.names, store, parley, forwarding, clock, at)
        self.ordering = Ordering(sides)

    def _leaving(self) -> Origin:
        """What moves names away."""
        office = self._office
        history = History(office.root, office.device)
        folders = configs(office.config.registry_folders())
        packing = Packing(
            office.root, folders, history.lines, history.count, self._parcels
        )
        return Origin(
            Parts(
                here=office.device,
                names=office.names,
                owners=office.owners,
                far=self._parley,
                packing=packing,
                forwarding=self._forwarding,
                clock=self._clock,
                aside=aside,
                at=self._at,
                stays=partial(staying, office),
                newer=lambda name: self.ordering.why(name),
            )
        )

    def _coming(self) -> Target:
        """What takes them in."""
        office = self._office
        return Target(
            Here(
                names=office.names,
                parcels=self._parcels,
                disk=RealDisk(),
                config=os.fspath(office.config.registry_folders()[0]),
                bring=Bringing(office, aside),
                spawn=Starting(office, self._clock),
                clock=self._clock,
                aside=aside,
                at=self._at,
            )
        )

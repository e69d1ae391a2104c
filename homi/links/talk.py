"""All that devices tell each other beside mail, put together for one daemon.

Owns which part hears of what.  homi-overview(7).
"""

import asyncio
from collections.abc import Callable, Iterable

from homi.address import Device, Name
from homi.clock import Clock
from homi.far import FarName
from homi.links import bulk, recall
from homi.links.answering import DEFAULT, Grant
from homi.links.book import Peering
from homi.links.checks import VERB as PROBE
from homi.links.exchange import Exchange
from homi.links.gossip import GATHER, SAVE, Gossip, Look, Parts
from homi.links.hints import Hints
from homi.links.known import Book, KnownNames
from homi.links.later import Later
from homi.links.links import Links
from homi.links.mirroring import Mirroring
from homi.links.setup import Linkage
from homi.links.telling import Telling
from homi.names import Names
from homi.owners import Owners
from homi.store.base import Store
from homi.store.places import queue_of
from homi.store.state import StateFile


class _Ways:
    """The links, as gossip asks of them."""

    def __init__(self, links: Links) -> None:
        self.up = links.up
        self.devices = links.devices
        self._links = links

    def over(self, device: Device) -> Device | None:
        """The device whose connection leads to device, where that is another."""
        way = self._links.route(device)
        return None if way == device else way

    def state(self, device: Device) -> str:
        """How the way to device is, in a word."""
        return str(self._links.verdict(device).state)

    def grants(self, device: Device) -> frozenset[Grant]:
        """What device may ask here: of seats only what a person let it."""
        peering = self._links.book.get(device)
        seats = peering is not None and peering.seats
        return DEFAULT | {Grant.SEATS} if seats else DEFAULT


class Talk:
    """The parts of gossip, fed by what the daemon and the links tell."""

    def __init__(
        self,
        linkage: Linkage,
        names: Names,
        owners: Owners,
        store: Store,
        looks: tuple[Look, Look],
        file: StateFile[Book],
        clock: Clock,
    ) -> None:
        """Read file, which is known.json; nothing is told before start()."""
        self._links = linkage.links
        self.junction = linkage.junction
        self._book = linkage.book
        self._store = store
        self._saves, self._tells = Later(SAVE), Later(GATHER)
        self._known = known = KnownNames(file, self._saves)
        self._telling = Telling(names, owners, self._ears, self._tells)
        self._mirroring = Mirroring(names.mirrors, known.names, clock)
        self._moved: Callable[[Name], None] = lambda _place: None
        self._hints = Hints(store, clock, self._way, self._over, self._told)
        parts = Parts(self._telling, known, self._mirroring, self._hints)
        ways = _Ways(linkage.links)
        self.gossip = Gossip(parts, clock, ways, self._rows, looks)
        self.findings = known.findings
        self.arrived = self._hints.arrived
        self.recorded = self._hints.recorded
        self._join(linkage)

    def start(
        self, loop: asyncio.AbstractEventLoop, moved: Callable[[Name], None]
    ) -> None:
        """Tell and learn from now on; moved is told of queues in which something was
        learned.  Before the links start."""
        self._moved = moved
        self._saves.start(loop, self._known.save)
        self._tells.start(loop, self._telling.flush)
        self._hints.start(loop)
        self.gossip.start(loop)
        wanted = [each.device for each in self._book.all() if each.mirror]
        self._mirroring.start(loop, wanted)

    def stop(self) -> None:
        """What was learned is on disk; nothing more is told."""
        self._mirroring.stop()
        self._tells.stop()
        self._saves.stop()

    def _join(self, linkage: Linkage) -> None:
        """Hear what crosses the links."""
        junction, gossip = linkage.junction, self.gossip
        junction.on_met.append(lambda exchange, _peer: gossip.met(exchange))
        junction.on_ended.append(gossip.ended)
        junction.on_names = gossip.names
        junction.on_rung = gossip.rung
        probe = junction.questions[PROBE]
        junction.questions[PROBE] = gossip.answering.guarded(Grant.CHECK, probe)
        junction.questions |= gossip.questions
        junction.questions[recall.VERB] = gossip.answering.done_by(
            Grant.TRACE, linkage.recall.answer
        )
        junction.questions[bulk.VERB] = gossip.answering.done_by(
            Grant.BLOB, linkage.bulk.asked
        )
        junction.questions["room"] = gossip.answering.done_by(Grant.ROOM, linkage.rooms)
        linkage.book.subscribe(self._booked)

    def _booked(self, device: Device, peering: Peering | None) -> None:
        """A device was linked, changed or unlinked."""
        wanted = peering is not None and peering.mirror
        self._mirroring.want(device, wanted=wanted)
        if peering is None:
            self._known.forget(device)

    def _ears(self) -> list[Exchange]:
        return self.gossip.exchanges()

    def _rows(self) -> list[FarName]:
        return self._telling.shown(self._store)

    def _told(self, place: Name) -> None:
        self._moved(place)

    def _way(self, device: Device) -> Exchange | None:
        return self._links.up(device)

    def _over(self, device: Device) -> Iterable[Name]:
        """The out queues whose mail goes over that device."""
        devices = self._links.devices()
        return [queue_of(one) for one in devices if self._links.route(one) == device]

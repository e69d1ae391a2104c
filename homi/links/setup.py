"""The links of one daemon, put together.

Owns what is loaded with the first link only; the rest is in the parts.  homid(8).
"""

import asyncio
import importlib
import os
import random
from pathlib import Path
from typing import NamedTuple

from homi.address import Device
from homi.clock import Clock
from homi.courier.lapse import give
from homi.doors.office import Office, Shown
from homi.envelope import Reason, Rung
from homi.links.answering import Asker, Doer, Reply
from homi.links.book import FILE, Book, Peerings
from homi.links.bulk import Bulk
from homi.links.carriage import Carriage
from homi.links.checks import Probes
from homi.links.clerk import Clerk
from homi.links.feed import Books
from homi.links.inward import Bundles
from homi.links.links import Engine, Links
from homi.links.losses import FILE as LOST
from homi.links.losses import Losses, Marks
from homi.links.overdue import Overdue, Patience, Senders, Way
from homi.links.recall import Looks, Recall
from homi.links.state import REASONS
from homi.links.traffic import Junction
from homi.store.base import Store
from homi.store.blobs import Blobs
from homi.store.disk import Disk
from homi.store.lines import Finding
from homi.store.mailbox import Item
from homi.store.places import device_of
from homi.store.state import StateFile

_NEWER = Rung.HELD, Reason.MOVING, None  # what waits for older mail of its name


class Linkage(NamedTuple):
    """The parts that others meet."""

    book: Book
    links: Links
    clerk: Clerk
    junction: Junction
    carriage: Carriage
    bundles: Bundles
    overdue: Overdue
    recall: Recall
    bulk: Bulk
    rooms: Doer

    @property
    def findings(self) -> list[Finding]:
        """What could not be read of it."""
        return self.book.findings + self.recall.losses.findings

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Keep the links up, and look after what waits."""
        self.links.start(loop)
        self.overdue.start(loop)

    async def stop(self) -> None:
        """End every link."""
        self.overdue.stop()
        await self.bulk.stop()
        await self.links.stop()

    def explain(self, device: Device, item: Item) -> Shown:
        """How far a message for device is, and what it waits for."""
        if device == self.book.device:  # newer than what is on its way here
            held = item.rung is Rung.PARKED
            return (item.rung, item.reason, None) if held else _NEWER
        link = self.links.link(self.book.route(device) or device)
        if link is None:
            return item.rung, Reason.UNREACHABLE, None
        if link.up is not None or item.rung not in (Rung.STORED, Rung.DEFERRED):
            return item.rung, item.reason, item.until
        return item.rung, REASONS[link.state], link.next_try or None

    def reason(self, device: Device) -> Reason | None:
        """Why mail for device is not further; None: its link is up."""
        if device == self.book.device:
            return Reason.MOVING
        if self.links.route(device) is None:
            return Reason.UNREACHABLE
        return REASONS[self.links.verdict(device).state]


def build(office: Office, disk: Disk, clock: Clock, looks: Looks) -> Linkage:
    """Read links.json and recall.json; nothing is dialled before Links.start().

    VersionMismatch (76) where a newer homi wrote that file.
    """
    root, settings, store = Path(office.root), office.config, office.store
    file = StateFile(os.fspath(root / FILE), disk, Peerings)
    book = Book(office.device, file)
    probes = Probes(office.root, disk, store.closed)
    junction = Junction(probes)
    books = Books(
        store.mailbox,
        office.record,
        office.postmaster.bounce,
        random.random,
        lambda message: office.bounds.budget.told(message) if office.bounds else None,
    )
    losses = Losses(StateFile(os.fspath(root / LOST), disk, Marks))
    recall = Recall(store, looks, losses)
    carriage = Carriage(book, books, office.postmaster, lambda: queued(store), recall)
    carriage.join(junction)
    office.postmaster.subscribe(carriage.hint, here=False)
    links = Links(
        book,
        clock,
        lambda: _engine(root, settings.keepalive, disk),
        random.random,
        junction,
        keepalive=settings.keepalive,
    )
    clerk = Clerk(links, probes, clock, carriage.waiting)
    bundles = Bundles(book, books, office.postmaster, clock)
    overdue = Overdue(
        store.queues,
        books,
        Senders(
            office.postmaster.tell,
            lambda box, item, done: give(box, item, office.postmaster.accept, done),
        ),
        lambda device: _way(links, device),
        clock,
        Patience(settings.delay_after * 3_600, settings.bounce_after * 86_400),
    )
    office.postmaster.subscribe(overdue.arrived, here=False)
    reserve = settings.reserve << 20
    bulk = Bulk(
        Blobs(office.root, disk),
        office.root,
        links.link,
        lambda: max(0, store.free_bytes() - reserve),
    )
    junction.on_ended.append(bulk.ended)

    def rooms(asker: Asker, line: bytes, reply: Reply) -> None:
        office.guests(asker.device, line, reply)

    parts = (links, clerk, junction, carriage, bundles, overdue, recall, bulk)
    return Linkage(book, *parts, rooms)


def _way(links: Links, device: Device) -> Way:
    """How the way to device is, in words for a sender."""
    verdict = links.verdict(device)
    up = links.up(device) is not None
    words = f"{device} is {verdict.state}" + (f", {verdict.text}" * bool(verdict.text))
    text = f"{device} does not take it yet" if up else words
    reason = REASONS[verdict.state] if links.route(device) else Reason.UNREACHABLE
    return Way(up, reason, text)


def queued(store: Store) -> list[Device]:
    """The devices that mail waits for here."""
    places = [box.name for box in store.queues() if box.pending]
    return [device for place in places if (device := device_of(place)) is not None]


def _engine(root: Path, keepalive: float, disk: Disk) -> Engine:
    """The key of this device and the library that dials: a tenth of a second to load,
    and 20 MB, that a device without links does without."""
    identity = importlib.import_module("homi.links.identity").Identity.load(root, disk)
    ssh = importlib.import_module("homi.links.ssh")
    dialler = ssh.Dialler(identity.path, keepalive)
    return Engine(identity, dialler.dial)

"""The mail of every exchange that is up: which out queues leave by it, what comes in.

Owns which feed serves which out queue, as the ways over links change; what a feed and
an intake do is theirs.  homi-protocol(7).
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from homi.address import Device, Name
from homi.links.book import Book, Peering
from homi.links.clerk import Waiting
from homi.links.exchange import Exchange
from homi.links.feed import Books, Feed
from homi.links.frames import Not
from homi.links.greeting import Peer
from homi.links.intake import Desk, Intake
from homi.links.recall import Recall
from homi.links.traffic import Junction
from homi.store.mailbox import Item
from homi.store.places import device_of, queue_of


class Carried(NamedTuple):
    """What leaves by one exchange; what comes in has its intake."""

    device: Device
    feed: Feed


class Carriage:
    """Feeds and intakes by exchange."""

    def __init__(
        self,
        book: Book,
        books: Books,
        desk: Desk,
        queued: Callable[[], Iterable[Device]],
        recall: Recall,
    ) -> None:
        """queued tells the devices that mail waits for, linked or not."""
        self._book = book
        self._books = books
        self._desk = desk
        self._queued = queued
        self._recall = recall
        self._carried: dict[Exchange, Carried] = {}
        book.subscribe(self._changed)

    def join(self, junction: Junction) -> None:
        """Deal with the mail of junction from now on."""
        junction.on_met.append(self._met)
        junction.on_ended.append(self._ended)
        junction.on_acked = self._acked

    def hint(self, place: Name, item: Item) -> None:
        """There is new mail, or some that a person let go."""
        if (device := device_of(place)) is not None:
            for feed in self._feeds(device):
                feed.hint(place, item)

    def flush(self, device: Device) -> None:
        """Try now whatever waits for a later moment."""
        for feed in self._feeds(device):
            feed.flush(queue_of(device))

    def waiting(self, device: Device) -> Waiting:
        """What is kept here for device."""
        pending = self._books.mailbox(queue_of(device)).pending
        if not pending:
            return Waiting(0, "")
        return Waiting(len(pending), next(iter(pending.values())).at)

    def _feeds(self, device: Device) -> list[Feed]:
        """What serves the out queue of device: one feed, or none."""
        way = self._book.route(device)
        return [one.feed for one in self._carried.values() if one.device == way]

    def _met(self, exchange: Exchange, peer: Peer) -> None:
        """Let all that leads over it leave by it."""
        feed = Feed(exchange, self._books)
        intake = Intake(exchange, peer, self._desk)
        self._carried[exchange] = Carried(peer.device, feed)
        exchange.take = intake.take
        places = self._places(peer.device)
        feed.hold(places)
        feed.route(places)
        self._recall.met(exchange, places, feed)

    def _ended(self, exchange: Exchange) -> None:
        """What is not settled stays pending."""
        if (carried := self._carried.pop(exchange, None)) is not None:
            carried.feed.stop()
            self._recall.ended(exchange)

    def _acked(self, exchange: Exchange, upto: int, refused: list[Not]) -> None:
        """Mail of ours is settled there."""
        self._carried[exchange].feed.acked(upto, refused)

    def _changed(self, _device: Device, _peering: Peering | None) -> None:
        """A way is another than before."""
        for carried in self._carried.values():
            carried.feed.route(self._places(carried.device))

    def _places(self, device: Device) -> list[Name]:
        """The out queues whose mail goes over the link to device."""
        known = {peering.device for peering in self._book.all()} | {*self._queued()}
        ways = sorted(one for one in known if self._book.route(one) == device)
        return [queue_of(one) for one in ways]

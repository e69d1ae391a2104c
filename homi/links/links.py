"""All links of this device: what the daemon builds, and the doors ask.

Owns which link each exchange belongs to; how one is kept up is links.link's, what
crosses it the traffic's.  homi-link(1) is the page.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from homi.address import Device
from homi.clock import Clock
from homi.config import STOP_DRAIN
from homi.doors.wire import LineProtocol
from homi.errors import HomiError, Unavailable, Usage
from homi.links.book import Book, Peering
from homi.links.exchange import Answered, Exchange
from homi.links.frames import End, Mail, Names, Not, Req, Rung
from homi.links.greeting import Here, Peer, Signer
from homi.links.link import Dial, Link, Means
from homi.links.network import Network
from homi.links.pipe import Pipe
from homi.links.state import LinkState, Verdict
from homi.links.suspend import Jump, Suspends
from homi.links.turned import TurnedAway, let_in, no_link

log = logging.getLogger("homi.links")

UNKNOWN = Verdict(LinkState.UNREACHABLE, "not linked", "homi pair USER@HOST")


class Engine(NamedTuple):
    """What is loaded with the first link only: the key, and the library that dials."""

    signer: Signer
    dial: Dial


class Traffic(Protocol):
    """What crosses an exchange that is up."""

    def met(self, exchange: Exchange, peer: Peer) -> None:
        """It carries the mail of its device from now on."""
        ...

    def ended(self, exchange: Exchange) -> None:
        """It carries nothing any more; called once behind met."""
        ...

    def take(self, exchange: Exchange, mail: Mail, answered: Answered) -> None:
        """Mail from there."""
        ...

    def acked(self, exchange: Exchange, upto: int, refused: list[Not]) -> None:
        """Mail of ours is settled there."""
        ...

    def asked(self, exchange: Exchange, req: Req, line: bytes) -> None:
        """A question from there."""
        ...

    def names(self, exchange: Exchange, names: Names) -> None:
        """Names there changed."""
        ...

    def rung(self, exchange: Exchange, rung: Rung) -> None:
        """How far a message got there."""
        ...


class Links:
    """Every link by device.  The port of their exchanges.  All calls on the loop."""

    def __init__(
        self,
        book: Book,
        clock: Clock,
        load: Callable[[], Engine],
        draw: Callable[[], float],
        traffic: Traffic,
        *,
        keepalive: float,
    ) -> None:
        """Nothing is loaded, and nothing dialled, before start()."""
        self._keepalive = keepalive
        self.book = book
        self.turned = TurnedAway(book, clock)
        self._clock = clock
        self._load = load
        self._draw = draw
        self._traffic = traffic
        self._links: dict[Device, Link] = {}
        # Every one, by whom it is meant for, and where that dialled from.
        self._open: dict[Exchange, tuple[Device, str]] = {}
        self._carries: set[Exchange] = set()  # those that are up
        self._means: Means | None = None
        self._here: Here | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._broken: Verdict | None = None  # why no link at all can be kept up
        self._subscribers: list[Callable[[Device], None]] = []
        self._network = Network(self.wake)
        self._suspends = Suspends(clock, self._woke)
        book.subscribe(self._booked)

    # ---- the life of it ----

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Keep every link up from now on."""
        self._loop = loop
        for peering in self.book.all():
            self._begin(peering)

    async def stop(self) -> None:
        """End every link; the other ends are told, if they listen a moment."""
        self._network.detach()
        self._suspends.detach()
        links, self._links = self._links, {}
        for link in links.values():
            link.stop(End.STOPPING)
        for exchange in list(self._open):
            exchange.close(End.STOPPING)
        ends = [asyncio.ensure_future(link.gone()) for link in links.values()]
        if ends:
            _, late = await asyncio.wait(ends, timeout=STOP_DRAIN)
            for end in late:
                end.cancel()

    def sweep(self) -> None:
        """Find what a lost notice would have told."""
        if self._links:
            self._suspends.check()

    def wake(self) -> None:
        """The network changed, or time did: probe who is up, dial who waits."""
        for link in list(self._links.values()):
            link.wake()

    def revive(self) -> None:
        """Begin the links that could not be begun: a person may have mended why."""
        if self._broken is not None:
            for peering in self.book.all():
                if peering.device not in self._links:
                    self._begin(peering)
                    self._changed(peering.device)

    def subscribe(self, told: Callable[[Device], None]) -> Callable[[], None]:
        """Call told with each device whose link changed, or went; what is returned
        ends that."""
        self._subscribers.append(told)
        return lambda: self._subscribers.remove(told)

    # ---- what others ask ----

    def devices(self) -> list[Device]:
        """Every device that mail can be kept for: linked here, or over a link."""
        return [peering.device for peering in self.book.all()]

    def route(self, device: Device) -> Device | None:
        """The linked device whose connection carries the mail for device."""
        return self.book.route(device)

    def link(self, device: Device) -> Link | None:
        """The link to that device itself."""
        return self._links.get(device)

    def all(self) -> Iterable[Link]:
        """Every link, by device."""
        return [self._links[device] for device in sorted(self._links)]

    def up(self, device: Device) -> Exchange | None:
        """The exchange that carries the mail for device now."""
        way = self.route(device)
        link = None if way is None else self._links.get(way)
        return None if link is None else link.up

    def verdict(self, device: Device) -> Verdict:
        """How the way to device is."""
        way = self.route(device)
        link = None if way is None else self._links.get(way)
        if link is not None:
            return link.verdict
        kept = self.book.get(device)
        if way is None and kept is not None and kept.via is not None:
            words = f"{kept.via}, which it is linked over, is not linked itself"
            fix = f"homi link add {device} --via DEV"
            return Verdict(LinkState.UNREACHABLE, words, fix)
        return UNKNOWN if way is None or self._broken is None else self._broken

    def answer(self, wire: LineProtocol, given: str, origin: str) -> Exchange:
        """What takes the lines of a connection that came in for device given, from an
        address that is only shown; 68, 69, 77 where there is nothing to say to it."""
        try:
            peering = let_in(self.book, given)
            if self._here is None:
                why, here = self._broken or UNKNOWN, self.book.device
                raise Unavailable(f"{here}: {why.text}", hint=f"on {here}: {why.fix}")
            return self._made(wire, peering, dialled=False, origin=origin)
        except HomiError as error:
            self.turned.refused(given, origin, error)
            raise

    # ---- the port ----

    def known(self, device: str) -> str | None:
        """The pinned key of device."""
        peering = self.book.get(device)
        return peering.key or None if peering is not None else None

    def met(self, exchange: Exchange, peer: Peer) -> None:
        """Give it to its link, which may have a better one."""
        link = self._links.get(peer.device)
        if link is None:
            exchange.close(End.AUTH, no_link(self.book, peer.device))
            return
        if link.met(exchange):
            self.turned.forget(peer.device)
            self._carries.add(exchange)
            self._traffic.met(exchange, peer)

    def take(self, exchange: Exchange, mail: Mail, answered: Answered) -> None:
        """Mail from there."""
        self._traffic.take(exchange, mail, answered)

    def acked(self, exchange: Exchange, upto: int, refused: list[Not]) -> None:
        """Mail of ours is settled there."""
        self._traffic.acked(exchange, upto, refused)

    def asked(self, exchange: Exchange, req: Req, line: bytes) -> None:
        """A question from there."""
        self._traffic.asked(exchange, req, line)

    def names(self, exchange: Exchange, names: Names) -> None:
        """Names there changed."""
        self._traffic.names(exchange, names)

    def rung(self, exchange: Exchange, rung: Rung) -> None:
        """How far a message got there."""
        self._traffic.rung(exchange, rung)

    def ended(self, exchange: Exchange, reason: str, text: str) -> None:
        """Tell its link and what crossed it."""
        device, origin = self._open.pop(exchange, (None, ""))
        if exchange in self._carries:
            self._carries.discard(exchange)
            self._traffic.ended(exchange)
        elif device is not None and not exchange.dialled:
            self.turned.ended(device, origin, reason, text)
        link = None if device is None else self._links.get(device)
        if link is not None:
            link.ended(exchange, reason, text)

    # ---- inside ----

    def _booked(self, device: Device, peering: Peering | None) -> None:
        """What is kept of a device changed: its link begins anew, but where it is only
        about what the device is shown, or lets itself be shown."""
        old = self._links.get(device)
        if old is not None and peering is not None:
            shows = {"mirror": peering.mirror, "seats": peering.seats}
            if replace(old.peering, **shows) == peering:
                old.peering = peering
                return
        self._links.pop(device, None)
        self.turned.forget(device)
        if old is not None:
            paused = peering is not None and peering.paused
            old.stop(End.PAUSED if paused else End.CLOSED, "" if paused else "unlinked")
        if peering is not None and self._loop is not None:
            self._begin(peering)
        self._changed(device)

    def _begin(self, peering: Peering) -> None:
        """Keep the link of peering up; none of its own for one behind another."""
        if peering.via is not None or self._loop is None:
            return
        try:
            means = self._means or self._get_ready(self._loop)
        except HomiError as error:
            # Mail here goes on without links.
            broken = Verdict(LinkState.UNREACHABLE, error.text, error.hint)
            if broken != self._broken:
                log.error("no link can be kept up: %s", error.text)
            self._broken = broken
            return
        self._broken = None
        link = self._links[peering.device] = Link(peering, means, self._told)
        link.start()

    def _get_ready(self, loop: asyncio.AbstractEventLoop) -> Means:
        """Load what only links need, with the first of them."""
        engine = self._load()
        self._here = Here(
            self.book.device, engine.signer, self._clock, loop, self._keepalive
        )
        self._means = Means(
            loop=loop,
            clock=self._clock,
            public=engine.signer.public,
            dial=engine.dial,
            exchange=partial(self._made, dialled=True),
            draw=self._draw,
        )
        self._network.attach(loop)
        self._suspends.attach(loop)
        return self._means

    def _made(
        self,
        wire: Pipe | LineProtocol,
        peering: Peering,
        *,
        dialled: bool,
        origin: str = "",
    ) -> Exchange:
        """An exchange with that device, not begun."""
        if self._here is None:
            raise Usage("no link was begun")
        exchange = Exchange(
            self._here, wire, self, dialled=dialled, peer=peering.device
        )
        self._open[exchange] = peering.device, origin
        return exchange

    def _told(self, link: Link) -> None:
        """A link changed its state."""
        self._changed(link.peering.device)

    def _changed(self, device: Device) -> None:
        """Tell of it, and of those behind it."""
        behind = [one for one in self.devices() if self.route(one) == device]
        for told in list(self._subscribers):
            for each in {device, *behind}:
                told(each)

    def _woke(self, _jump: Jump) -> None:
        """Behind a suspend nothing is judged before it was asked again."""
        self.wake()

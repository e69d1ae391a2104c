"""The out queues that leave over one connection.

Owns what is under way on it and what its acks mean for the ledgers; an event lost
costs time only, since the pending sets are looked through again.  homi-protocol(7).
"""

import logging
from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

import msgspec

from homi.address import Name
from homi.clock import rfc3339
from homi.config import LINE_MAX_ALONE, SWEEP
from homi.envelope import Envelope, LedgerLine, MessageId, Reason, Rung
from homi.errors import HomiError
from homi.links.exchange import Exchange
from homi.links.frames import HEAD_MAX, Not, Refusal, Tail, mail_tail, whole_room
from homi.links.lanes import Next, Route
from homi.returns import Bounce, Record
from homi.store.mailbox import Item, Mailbox
from homi.turns import Counted, Turned
from homi.visible import visible

log = logging.getLogger("homi.links")

_REASONS = frozenset(Reason)
_RELAYED = Rung.RELAYED  # of nearly all: asked of its class, a member costs more


def _uncounted(_message: MessageId) -> Counted | None:
    """Where nothing counts turns."""
    return None


class Books(NamedTuple):
    """Where a feed reads and writes."""

    mailbox: Callable[[Name], Mailbox]
    record: Record
    bounce: Bounce
    draw: Callable[[], float]  # in [0, 1)
    turn: Turned = _uncounted


class Flight(msgspec.Struct, frozen=True, gc=False):
    """An envelope that was sent."""

    route: Route
    item: Item

    def ended(self, kept: bool) -> None:
        """Its end is recorded; where it could not be, the sweep finds it pending."""
        self.route.recorded(self.item.seq)
        if not kept:
            log.info("%s is sent again, its end could not be recorded", self.item.id)


class Feed:
    """Sends what waits for the devices behind one exchange."""

    def __init__(self, exchange: Exchange, books: Books) -> None:
        """exchange is proven.  Nothing is sent before route()."""
        self._exchange = exchange
        self._books = books
        self._clock = exchange.here.clock
        self._loop = exchange.here.loop
        peer = exchange.peer
        self._by = f"link {peer.device if peer else ''}"
        self._routes: dict[Name, Route] = {}
        self._held: set[Name] = set()
        self._ready: deque[Route] = deque()  # those that may have something to send
        self._flights: deque[Flight] = deque()  # in the order of their numbers
        self._acked = 0  # the number of the last the other end told of
        self._nots: dict[int, Not] = {}
        self._settling = False  # it is on its way
        self._chatty = False  # each that is settled gets a line of the log
        self._upto = 0  # all up to here are settled
        self._due: TimerHandle | None = None
        self._sweep: TimerHandle | None = None

    def route(self, places: Iterable[Name]) -> None:
        """Let exactly these out queues leave by this connection, from now on."""
        wanted = list(places)
        for place in wanted:
            if place not in self._routes:
                self._routes[place] = Route(self._books.mailbox(place))
        for place in self._routes.keys() - set(wanted):
            del self._routes[place]
        if self._sweep is None:
            self._sweep = self._loop.call_later(SWEEP, self._look)
        self._wake()

    def hold(self, places: Iterable[Name]) -> None:
        """Send nothing of these out queues before they are released."""
        self._held.update(places)

    def release(self, place: Name) -> None:
        """Let that out queue go; nothing happens where it does already."""
        if place in self._held:
            self._held.discard(place)
            self._wake()

    def again(
        self, place: Name, items: Iterable[Item], found: Callable[[], None]
    ) -> None:
        """Send what was over there and is lost; found: when all of it is settled."""
        if (route := self._routes.get(place)) is not None:
            route.again(items, found)
            self._wake()

    def hint(self, place: Name, item: Item) -> None:
        """There is a new envelope, or one that a person let go."""
        if (route := self._routes.get(place)) is not None:
            route.arrived(item)
            if route not in self._ready and place not in self._held:
                self._ready.append(route)
            self._pump()

    def flush(self, place: Name) -> None:
        """Try now whatever waits for a later moment in that out queue, and what was
        released of what waited beside its lane."""
        if (route := self._routes.get(place)) is not None:
            route.sweep()
            route.stir()
            self._wake()

    def acked(self, upto: int, refused: list[Not]) -> None:
        """Send more, then settle what was sent, all of it in its order."""
        self._acked = upto
        if refused:
            # More of a lane that must wait would only come back.
            self._nots = {each.n: each for each in refused}
            self._settle()
            return
        under_way = len(self._flights)
        self._wake()
        if len(self._flights) == under_way:
            self._settle()
        elif not self._settling:
            # Behind what is written now: the other end has work while the ledger is.
            self._settling = True
            self._loop.call_soon(self._settle)

    def stop(self) -> None:
        """The exchange is over: what is not acked stays pending."""
        self._settle()
        for timer in (self._due, self._sweep):
            if timer is not None:
                timer.cancel()
        self._routes.clear()
        self._ready.clear()

    def _settle(self) -> None:
        """Record what was acked; what that lets go follows."""
        self._settling = False
        nots, self._nots = self._nots, {}
        at = rfc3339(self._clock.wall())
        self._chatty = log.isEnabledFor(logging.DEBUG)
        while self._upto < self._acked:
            self._upto += 1
            flight = self._flights.popleft()
            refusal = nots.get(self._upto) if nots else None
            if refusal is None:
                self._stored(flight, at)
            elif refusal.permanent:
                self._bounced(flight, refusal)
            else:
                self._deferred(flight, refusal)
        self._wake()

    def _look(self) -> None:
        """Look through the pending sets for what a lost word told of."""
        self._sweep = self._loop.call_later(SWEEP, self._look)
        for route in self._routes.values():
            route.sweep()
        self._wake()

    def _wake(self) -> None:
        """Every route may have something to send."""
        self._ready = deque(
            route for place, route in self._routes.items() if place not in self._held
        )
        self._pump()

    def _pump(self) -> None:
        """Send while there is room, one of each out queue in turn."""
        now = self._clock.wall()
        ready, exchange = self._ready, self._exchange
        while ready and exchange.room:
            route = ready.popleft()
            found = route.next(now)
            if found is not None:
                ready.append(route)
                self._send(route, found)
            else:
                route.ahead.forget()
        if not ready:
            self._plan(now)

    def _plan(self, now: float) -> None:
        """Come back when the first waiting lane is due."""
        dues = [due for route in self._routes.values() if (due := route.due())]
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if dues:
            self._due = self._loop.call_later(max(0.0, min(dues) - now), self._wake)

    def _send(self, route: Route, found: Next) -> None:
        """Read one envelope and let it go."""
        item = found.item
        try:
            envelope = route.ahead.read(item)
        except HomiError as error:
            # Its neighbours go on; the sweep tries it again.
            log.error("%s %s", item.id, error.text)
            route.unread(item)
            return
        tail = mail_tail(_tail(envelope, found, self._books.turn(item.id)))
        flight = Flight(route, item)
        if len(tail) + HEAD_MAX > LINE_MAX_ALONE:
            text = (
                f"it makes a line of {len(tail)} bytes, a link takes {LINE_MAX_ALONE}"
            )
            self._bounced(
                flight, Refusal(code="bad-message", text=text, reason="too-large")
            )
            return
        self._flights.append(flight)
        self._exchange.mail(tail)

    def _stored(self, flight: Flight, at: str) -> None:
        """The other device has it: that ends it here."""
        route, item = flight.route, flight.item
        route.settled(item)
        if self._chatty:
            log.debug("%s to=%s via=%s status=relayed", item.id, item.to, self._by)
        line = LedgerLine(seq=item.seq, id=item.id, rung=_RELAYED, at=at, by=self._by)
        self._books.record(route.box.name, line, flight.ended, durable=True)

    def _bounced(self, flight: Flight, refusal: Refusal) -> None:
        """It can never be stored there: its sender is told."""
        route, item = flight.route, flight.item
        route.settled(item)
        text = _told(refusal)
        log.info("%s to=%s %s status=bounced (%s)", item.id, item.to, self._by, text)
        self._books.bounce(
            route.box.name,
            item,
            _reason(refusal),
            text,
            self._by,
            flight.ended,
        )

    def _deferred(self, flight: Flight, refusal: Refusal) -> None:
        """Not now: its lane waits, and its ledger says until when."""
        route, item = flight.route, flight.item
        now = self._clock.wall()
        until = route.refused(item, now, self._books.draw())
        if until is None:
            return  # it only waits behind the one that was refused
        text = _told(refusal)
        log.info("%s to=%s %s status=deferred (%s)", item.id, item.to, self._by, text)
        line = LedgerLine(
            seq=item.seq,
            id=item.id,
            rung=Rung.DEFERRED,
            at=rfc3339(now),
            reason=_reason(refusal),
            until=rfc3339(until),
            by=self._by,
        )
        self._books.record(route.box.name, line, _ignore, durable=False)


def _reason(refusal: Refusal) -> Reason | None:
    """Its reason, as far as it is a word of ours."""
    return Reason(refusal.reason) if refusal.reason in _REASONS else None


def _told(refusal: Refusal) -> str:
    """The other end's words, harmless to look at."""
    hint = f" ({refusal.hint})" if refusal.hint else ""
    return visible(f"{refusal.text or refusal.code}{hint}")[:1000]


def _tail(envelope: Envelope, found: Next, turn: Counted | None) -> Tail:
    """It as a mail frame."""
    via, hops = envelope.via, envelope.hops
    return Tail(
        to=found.item.to,
        hops=hops,
        at=envelope.at,
        verified=via.verified,
        room=None if via.room is None else whole_room(via.room, hops),
        first=found.first,
        turn=turn,
        # What follows a name may have been read before it moved.
        again=found.again or (via.repeat and bool(via.moved)),
        moved=via.moved,
        msg=envelope.msg,
    )


def _ignore(_kept: bool) -> None:
    """Evidence that could not be written costs a try too early."""

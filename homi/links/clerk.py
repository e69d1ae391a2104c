"""What callers ask of the links, and want of them: the doors' side of links.links.

Owns the row of a link and the course of a check.  homi-link(1) is the page.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec

from homi.address import Device, parse_name
from homi.clock import Clock, rfc3339
from homi.errors import Usage
from homi.linked import TURNED_AWAY, Checked, LinkRow, Turned
from homi.links import keys
from homi.links.book import Peering, behind
from homi.links.checks import PROBES, Check, Found, Probes
from homi.links.exchange import Exchange
from homi.links.link import Link
from homi.links.links import Links
from homi.links.state import LinkState
from homi.reports import Done
from homi.requests import AddLink, OrderLink

PATIENCE = 1.0  # s a listing waits for those it asked
ARRIVES = 35.0  # s a check waits for a link to come up: all that a dial may take


class Waiting(NamedTuple):
    """The mail that is kept here for a device."""

    pending: int
    oldest: str  # RFC 3339


class Clerk:
    """Fits doors.linking.Linked."""

    def __init__(
        self,
        links: Links,
        probes: Probes,
        clock: Clock,
        waiting: Callable[[Device], Waiting],
    ) -> None:
        """waiting tells what is kept here for a device."""
        self._links = links
        self._probes = probes
        self._clock = clock
        self._waiting = waiting

    # ---- how they are ----

    def now(self, device: str | None) -> list[LinkRow]:
        """Each link, or that one, as it is known to be; with all of them who else was
        turned away."""
        book = self._links.book
        turned = self._links.turned.rows()
        asked = book.all() if device is None else [book.need(device)]
        rows = [
            self._row(peering, turned.pop(peering.device, None)) for peering in asked
        ]
        others = turned if device is None else {}
        return rows + [_stranger(other, others[other]) for other in sorted(others)]

    def rows(self, device: str | None, done: Callable[[list[LinkRow]], None]) -> None:
        """The same, with a round trip of each that is up."""
        rows = self.now(device)
        loop = asyncio.get_running_loop()
        found: dict[str, float] = {}
        left = {row.device for row in rows if self._own(row.device) is not None}

        def finish() -> None:
            timer.cancel()
            done([_measured(row, found.get(row.device)) for row in rows])

        def came(device: str, seconds: float | None) -> None:
            if device not in left:
                return
            left.discard(device)
            if seconds is not None:
                found[device] = seconds * 1000
            if not left:
                finish()

        def late() -> None:
            left.clear()
            finish()

        timer = loop.call_later(PATIENCE, late)
        for name in sorted(left):
            if (exchange := self._own(name)) is not None:
                exchange.ping(partial(came, name))
        if not rows or not any(self._own(row.device) for row in rows):
            late()

    def _own(self, device: str) -> Exchange | None:
        """The exchange with that device itself."""
        link = self._links.link(Device(device))
        return None if link is None else link.up

    def _row(self, peering: Peering, turned: Turned | None) -> LinkRow:
        """What is known of one."""
        device = peering.device
        link = self._links.link(device)
        waiting = self._waiting(device)
        verdict = self._links.verdict(device)
        row = LinkRow(
            device=device,
            state=verdict.state,
            text=verdict.text,
            fix=verdict.fix,
            host=peering.host or "",
            via=peering.via or "",
            key=keys.fingerprint(peering.key) if peering.key else "",
            mirror=peering.mirror,
            seats=peering.seats,
            pending=waiting.pending,
            oldest=waiting.oldest,
            turned=turned,
        )
        return row if link is None else self._live(row, link)

    def _live(self, row: LinkRow, link: Link) -> LinkRow:
        """row with what only its own link knows."""
        up, now = link.up, self._clock.wall()
        peer = None if up is None else up.peer
        silent = 0.0 if up is None else up.here.loop.time() - up.heard
        return msgspec.structs.replace(
            row,
            since=rfc3339(link.since),
            next_try=rfc3339(link.next_try) if link.next_try else "",
            failures=link.failures,
            way="" if up is None else "dialled" if up.dialled else "accepted",
            heard="" if up is None else rfc3339(now - silent),
            offset_s=None if peer is None else round(peer.offset, 3),
            software="" if peer is None else peer.software,
            said=link.said,
        )

    # ---- what is wanted of them ----

    def add(self, request: AddLink) -> Done:
        """Keep what is given; what is not given stays as it was."""
        book = self._links.book
        device = Device(parse_name(request.device))
        before = book.get(device)
        fresh = Peering(device=device, at=rfc3339(self._clock.wall()))
        given: dict[str, str | bool | None] = {
            "key": request.key,
            "host": request.host,
            "home": request.home,
            "exe": request.exe,
            "mirror": request.mirror,
            "via": None if request.via is None else parse_via(request.via),
        }
        chosen = {
            key: None if key in ("host", "via") and not value else value
            for key, value in given.items()
            if value is not None
        }
        peering = msgspec.structs.replace(before or fresh, **chosen)
        peering = msgspec.structs.replace(
            peering, seats=_seats(before, peering, asked=request.seats)
        )
        if before is not None and peering == before:
            return Done(text=f"{device} is linked already")
        book.put(peering)
        return Done(text=f"{'changed' if before else 'linked'} {device}")

    def order(self, request: OrderLink) -> Done:
        """Remove, pause or resume a link."""
        book = self._links.book
        peering = book.need(request.device)
        device = peering.device
        if request.do == "rm":
            over = [one for one in behind(book.all(), device) if one != device]
            book.drop(device)
            text = f"removed {device}"
            if over:
                text += f", which {', '.join(over)} is linked over: its mail waits"
            return Done(text=text, pending=self._waiting(device).pending)
        if peering.via is not None:
            raise Usage(
                f"{device} has no link of its own, its mail goes over {peering.via}",
                hint=f"homi link {request.do} {peering.via}",
            )
        rests = request.do == "pause"
        if peering.paused != rests:
            book.put(msgspec.structs.replace(peering, paused=rests))
        elif not rests:
            self._links.revive()
            if (link := self._links.link(device)) is not None:
                link.wake(person=True)
        return Done(text=f"{request.do}d {device}")

    def check(self, device: str, done: Callable[[Checked], None]) -> None:
        """Three probes; a link that waits is dialled for them at once."""
        peering = self._links.book.need(device)
        self._links.revive()
        way = self._links.route(peering.device)
        link = None if way is None else self._links.link(way)
        if link is None:
            done(self._checked(peering.device, Found([], "")))
        elif link.up is not None:
            self._probe(peering.device, link.up, done)
        else:
            self._await(peering.device, link, done)

    def _await(
        self, device: Device, link: Link, done: Callable[[Checked], None]
    ) -> None:
        """Dial, and probe what comes up."""
        loop = asyncio.get_running_loop()
        failures = link.failures
        decided = False

        def decide() -> None:
            nonlocal decided
            if decided:
                return
            decided = True
            timer.cancel()
            forget()
            if link.up is not None:
                self._probe(device, link.up, done)
            else:
                done(self._checked(device, Found([], "")))

        def changed(which: Device) -> None:
            # Its change is told within that change: what comes of it is asked behind.
            if which == link.peering.device and (
                link.up is not None or link.failures != failures
            ):
                loop.call_soon(decide)

        timer = loop.call_later(ARRIVES, decide)
        forget = self._links.subscribe(changed)
        link.wake(person=True)
        if not link.dials:
            decide()

    def _probe(
        self, device: Device, exchange: Exchange, done: Callable[[Checked], None]
    ) -> None:
        """Over an exchange that is up."""
        loop = asyncio.get_running_loop()
        Check(
            self._probes,
            exchange,
            loop,
            self._clock,
            lambda found: done(self._checked(device, found)),
        )

    def _checked(self, device: Device, found: Found) -> Checked:
        """What is said of a check."""
        verdict = self._links.verdict(device)
        up = verdict.state is LinkState.UP
        return Checked(
            device=device,
            probes=PROBES,
            kept=len(found.ms),
            ms=found.ms,
            state=verdict.state,
            text=found.text or ("" if up else verdict.text),
            fix="" if up else verdict.fix,
        )


def _seats(before: Peering | None, now: Peering, *, asked: bool | None) -> bool:
    """Whether it may drive the seats here: what a person let the holder of one key do
    is not what another may.  Usage (64) for a device without a link of its own."""
    if asked and now.via is not None:
        raise Usage(
            f"{now.device} has no link of its own, its mail goes over {now.via}",
            hint="seats are driven over a link of one's own only",
        )
    if asked is not None:
        return asked
    same = before is not None and before.key == now.key and now.via is None
    return same and now.seats


def parse_via(given: str) -> str:
    """A device to go over; empty: over none."""
    return parse_name(given) if given else ""


def _stranger(device: str, turned: Turned) -> LinkRow:
    """A device that is not linked, and dials."""
    return LinkRow(
        device=device,
        state=TURNED_AWAY,
        text=turned.text,
        fix=turned.fix,
        since=turned.since,
        turned=turned,
    )


def _measured(row: LinkRow, ms: float | None) -> LinkRow:
    """row with its round trip."""
    return row if ms is None else msgspec.structs.replace(row, ms=round(ms, 3))

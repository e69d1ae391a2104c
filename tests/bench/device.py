"""One device of a link, as a process of its own: device.py ROLE ROOT FD COUNT.

ROLE is mini, which takes what comes, or what laptop does with COUNT messages: drain
sends them out of its out queue, single one after the other; blast and knock do the same
without a store of its own, as a client of mini would.  FD is its end of a socket.
Prints a JSON line of seconds.
"""

import asyncio
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import msgspec
import uvloop

import homi.config

homi.config.QUOTA_PENDING = homi.config.QUEUE_PENDING = 1 << 40
homi.config.QUOTA_BYTES = homi.config.QUEUE_BYTES = 1 << 60

from homi import ids  # noqa: E402 - the quotas must be lifted before
from homi.address import Device, Name  # noqa: E402
from homi.claims import State  # noqa: E402
from homi.clock import SystemClock  # noqa: E402
from homi.doors.wire import BigLine, LineProtocol, Outbox  # noqa: E402
from homi.envelope import LedgerLine, MessageId, Msg, Via, encode  # noqa: E402
from homi.links.exchange import Answered, Exchange  # noqa: E402
from homi.links.feed import Books, Feed  # noqa: E402
from homi.links.frames import Mail, Names, Not, Req, Rung, Tail, mail_tail  # noqa: E402
from homi.links.greeting import Here, Peer  # noqa: E402
from homi.links.identity import Identity  # noqa: E402
from homi.links.intake import Intake  # noqa: E402
from homi.names import Names as Claims  # noqa: E402
from homi.owners import Owners  # noqa: E402
from homi.postmaster import Postmaster, Result, Stamp, Submission  # noqa: E402
from homi.sessions import Sessions  # noqa: E402
from homi.store.disk import RealDisk  # noqa: E402
from homi.store.places import queue_of  # noqa: E402
from homi.store.quarantine import Quarantine  # noqa: E402
from homi.store.state import StateFile  # noqa: E402
from homi.store.store import DiskStore  # noqa: E402

SIZE = 1024  # bytes a message
HERE = Stamp(Via(door="control", uid=0, pid=1, verified=True))


class One:
    """A device with its store, and the port of its only exchange."""

    def __init__(self, name: str, other: str, root: Path, device_keys: Path) -> None:
        clock, config = SystemClock(), homi.config.Config(device=name)
        self.store = DiskStore.open(root, config, clock)
        claims = Claims(StateFile(str(root / "names.json"), RealDisk(), State))
        claims.claim(Name("ada"), None, 0.0)
        owners = Owners(claims, Sessions([root / "claude"], clock))
        owners.devices = lambda: [Device(other)]
        quarantine = Quarantine(str(root), RealDisk(), clock)
        self.postmaster = Postmaster(
            self.store, claims, owners, quarantine, clock, config
        )
        self.queue = queue_of(Device(other))
        loop = asyncio.get_running_loop()
        identity = Identity.load(device_keys / name)
        self._pinned = Identity.load(device_keys / other).public
        self.here = Here(Device(name), identity, clock, loop)
        self.exchange: Exchange | None = None
        self.feed: Feed | None = None
        self.up = loop.create_future()
        self.over = loop.create_future()
        self.settled = 0
        self.quiet = asyncio.Event()  # what was settled is recorded
        self.on_ack: Callable[[], None] = lambda: None
        self.postmaster.subscribe(
            lambda place, item: self.feed.hint(place, item) if self.feed else None
        )

    def handler(self, wire: LineProtocol) -> Exchange:
        """What takes the lines of wire."""
        name = self.here.device
        self.exchange = Exchange(self.here, wire, self, dialled=name == "laptop")
        return self.exchange

    def known(self, _device: str) -> str | None:
        return self._pinned

    def met(self, exchange: Exchange, peer: Peer) -> None:
        self.intake = Intake(exchange, peer, self.postmaster)
        mailbox, record = self.store.mailbox, self._record
        books = Books(mailbox, record, self.postmaster.bounce, lambda: 0.5)
        self.feed = Feed(exchange, books)
        self.up.set_result(None)

    def _record(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None],
        *,
        durable: bool,
    ) -> None:
        def told(kept: bool) -> None:
            done(kept)
            self.quiet.set()

        self.quiet.clear()
        self.store.record(name, line, told, durable=durable)

    def take(self, _exchange: Exchange, mail: Mail, answered: Answered) -> None:
        self.intake.take(mail, answered)

    def acked(self, _exchange: Exchange, upto: int, refused: list[Not]) -> None:
        assert not refused, refused[0]
        self.settled = upto
        if self.feed is not None and self.feed._routes:
            self.feed.acked(upto, refused)
        self.on_ack()

    def asked(self, exchange: Exchange, req: Req, line: bytes) -> None: ...

    def names(self, exchange: Exchange, names: Names) -> None: ...

    def rung(self, exchange: Exchange, rung: Rung) -> None: ...

    def ended(self, _exchange: Exchange, reason: str, text: str) -> None:
        if not self.over.done():
            self.over.set_result((reason, text))

    # what laptop does

    async def drain(self, count: int) -> float:
        """Seconds until what waits is settled, from the moment it may leave."""
        for begin in range(0, count, 1000):
            await asyncio.gather(
                *(self.accept(letter("ada@mini")) for _ in range(begin, begin + 1000))
            )
        assert self.feed is not None
        begun = time.perf_counter()
        self.feed.route([self.queue])
        await self.reach(count)
        return time.perf_counter() - begun

    async def blast(self, count: int) -> float:
        """The same out of nothing: what the receiver takes at the most."""
        tails = [tail_of(letter("ada@mini")) for _ in range(count)]
        tails.reverse()
        exchange = self.exchange
        assert exchange is not None

        def more() -> None:
            while tails and exchange.room:
                exchange.mail(tails.pop())

        self.on_ack = more
        begun = time.perf_counter()
        more()
        await self.reach(count)
        return time.perf_counter() - begun

    async def single(self, count: int) -> list[float]:
        """Seconds of each: accepted here, stored there, and told so; one begins when
        the one before is done with."""
        assert self.feed is not None
        self.feed.route([self.queue])
        times = []
        for _ in range(count):
            before = self.settled
            begun = time.perf_counter()
            await self.accept(letter("ada@mini"))
            await self.reach(before + 1)
            times.append(time.perf_counter() - begun)
            await self.quiet.wait()
        return times

    async def knock(self, count: int) -> list[float]:
        """The same out of nothing: one durable accept of a local client."""
        assert self.exchange is not None
        times = []
        for number in range(1, count + 1):
            begun = time.perf_counter()
            self.exchange.mail(tail_of(letter("ada@mini")))
            await self.reach(number)
            times.append(time.perf_counter() - begun)
        return times

    def accept(self, head: Msg) -> asyncio.Future[Result]:
        """One message of a local sender."""
        got: asyncio.Future[Result] = self.here.loop.create_future()
        sub = Submission(head, encode(head), HERE, head.to, got.set_result)
        self.postmaster.accept(sub)
        return got

    async def reach(self, count: int) -> None:
        """Wait until so many are settled there."""
        if self.settled >= count:
            return
        got = self.here.loop.create_future()
        before = self.on_ack

        def look() -> None:
            before()
            if self.settled >= count and not got.done():
                got.set_result(None)

        self.on_ack = look
        await got
        self.on_ack = before


def letter(to: str) -> Msg:
    """A message of about SIZE bytes."""
    text = "x" * (SIZE - 120)
    return Msg(id=MessageId(ids.new()), from_="bob", to=to, text=text)


def tail_of(head: Msg) -> bytes:
    """The frame that carries it, behind its number."""
    msg = msgspec.Raw(encode(head))
    return mail_tail(Tail(to="ada@mini", hops=("laptop",), verified=True, msg=msg))


async def main(role: str, root: Path, fd: int, count: int) -> None:
    """Be that device until the work is done."""
    loop = asyncio.get_running_loop()
    names = ("mini", "laptop") if role == "mini" else ("laptop", "mini")
    one = One(*names, root / names[0], root)
    one.store.start(loop)
    outbox = Outbox(loop, lambda: one.store.publishing)
    one.store.on_published(outbox.flush)
    wire = LineProtocol(outbox, BigLine(), one.handler)
    await loop.connect_accepted_socket(lambda: wire, socket.socket(fileno=fd))
    assert one.exchange is not None
    one.exchange.start()
    if role == "mini":
        await one.over
    else:
        await one.up
        print(json.dumps(await getattr(one, role)(count)), flush=True)
        one.exchange.close("stopping")
    await one.store.aclose()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(
            main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
        )
    os._exit(0)

"""Twenty devices as one process: far.py SOCKET KEYS KIND,… COUNT PID.

Each comes to the daemon at SOCKET as `link serve` does, with the key in KEYS/dNNNN and
a connection of its own.  KIND is what it does with mail: good takes it, dead stops
reading, refusing has no room, slow takes a while for each, idle gets none.  Prints
the seconds from the first mail to the last of the good ones, which get COUNT in all,
what the daemon, PID, spent meanwhile, and how many came to any of them.
"""

import asyncio
import os
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import uvloop

from homi.address import Device
from homi.clock import SystemClock
from homi.dial import Dial
from homi.doors.wire import BigLine, LineProtocol, Outbox
from homi.errors import Usage
from homi.links.exchange import Answered, Exchange
from homi.links.frames import Mail, Names, Not, Refusal, Req, Rung
from homi.links.greeting import Here, Peer
from homi.links.identity import Identity
from tests.bench import kit

HELLO = b'{"verb":"link","i":1,"peer":"%b"}\n'
FULL = Refusal(code="not-reached", text="no room", reason="quota")
SLOW = 0.5  # s a window
LATE = 120.0  # s for all of it


class Tally:
    """What the good ones got, and all."""

    def __init__(self, count: int, daemon: int) -> None:
        self.left = count
        self.came = 0
        self.begun = 0.0
        self._daemon = daemon
        self._spent = 0.0
        loop = asyncio.get_running_loop()
        self.over: asyncio.Future[tuple[float, float]] = loop.create_future()

    def one(self) -> None:
        """One more came."""
        if not self.begun:
            self._spent = kit.cpu(self._daemon)
            self.begun = time.perf_counter()
        self.left -= 1
        if not self.left:
            seconds = time.perf_counter() - self.begun
            self.over.set_result((seconds, kit.cpu(self._daemon) - self._spent))


class Far:
    """One device: the port of its only exchange."""

    def __init__(self, name: str, kind: str, here: Path, tally: Tally) -> None:
        loop = asyncio.get_running_loop()
        self._kind, self._tally, self._loop = kind, tally, loop
        self._laptop = (here / "laptop.pub").read_text()
        identity = Identity.load(here / name)
        self._here = Here(Device(name), identity, SystemClock(), loop)
        self.transport: asyncio.Transport | None = None

    async def come(self, path: str, wire: LineProtocol) -> None:
        """Ask for the exchange, then say hello."""
        with Dial(path) as dial:
            dial.ask(HELLO % self._here.device.encode())
            sock = socket.socket(fileno=os.dup(dial.socket.fileno()))
            rest = dial.rest()
        sock.setblocking(False)
        made = self._loop.connect_accepted_socket(lambda: wire, sock)
        self.transport, _ = await made
        if rest:
            wire.data_received(rest)
        self.exchange.start()

    def handler(self, wire: LineProtocol) -> Exchange:
        """What takes the lines."""
        laptop = Device("laptop")
        self.exchange = Exchange(self._here, wire, self, dialled=True, peer=laptop)
        return self.exchange

    def known(self, _device: str) -> str | None:
        return self._laptop

    def met(self, _exchange: Exchange, _peer: Peer) -> None: ...

    def take(self, _exchange: Exchange, _mail: Mail, answered: Answered) -> None:
        self._tally.came += 1
        if self._kind == "good":
            self._tally.one()
            answered(None)
        elif self._kind == "refusing":
            answered(FULL)
        elif self._kind == "slow":
            self._loop.call_later(SLOW, answered, None)
        elif self.transport is not None:
            self.transport.pause_reading()

    def acked(self, exchange: Exchange, upto: int, refused: list[Not]) -> None: ...

    def asked(self, exchange: Exchange, req: Req, _line: bytes) -> None:
        exchange.reply(req.i, Usage("no question is known here"))

    def names(self, exchange: Exchange, names: Names) -> None: ...

    def rung(self, exchange: Exchange, rung: Rung) -> None: ...

    def ended(self, _exchange: Exchange, reason: str, text: str) -> None:
        if self._kind == "good" and not self._tally.over.done():
            error = RuntimeError(f"the link ended: {reason} {text}")
            self._tally.over.set_exception(error)


async def main(
    path: str, keys: Path, kinds: list[str], count: int, daemon: int
) -> None:
    """Be these devices until the good ones have everything."""
    tally, outbox = Tally(count, daemon), Outbox(asyncio.get_running_loop())
    for number, kind in enumerate(kinds):
        far = Far(f"d{number:04d}", kind, keys, tally)
        await far.come(path, LineProtocol(outbox, BigLine(), far.handler))
    seconds, spent = await asyncio.wait_for(tally.over, LATE)
    print(seconds, spent, tally.came, flush=True)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        socket_path, folder, listed, number, pid = sys.argv[1:]
        kinds = listed.split(",")
        runner.run(main(socket_path, Path(folder), kinds, int(number), int(pid)))
    os._exit(0)

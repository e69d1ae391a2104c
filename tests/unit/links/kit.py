"""Two ends of a link in one process: a loop whose time is turned, pipes, ports."""

import heapq
import itertools
import tempfile
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import cast

from homi.address import Device
from homi.clock import SystemClock
from homi.links.exchange import Answered, Exchange
from homi.links.frames import Mail, Names, Not, Req, Rung
from homi.links.greeting import Here, Peer
from homi.links.identity import Identity


class Turned(SystemClock):
    """A wall clock that is set."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def wall(self) -> float:
        return self.now


class Handle:
    """What call_later gives back."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class TurnedLoop:
    """The part of a loop that an exchange uses; nothing runs before it is told."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._soon: deque[Callable[[], object]] = deque()
        self._later: list[tuple[float, int, Handle, Callable[[], object]]] = []
        self._count = itertools.count()

    def time(self) -> float:
        return self.now

    def call_soon(self, what: Callable[..., object], *args: object) -> Handle:
        self._soon.append(lambda: what(*args))
        return Handle()

    def call_later(
        self, delay: float, what: Callable[..., object], *args: object
    ) -> Handle:
        handle = Handle()
        entry = (self.now + delay, next(self._count), handle, lambda: what(*args))
        heapq.heappush(self._later, entry)
        return handle

    def turn(self) -> bool:
        """Run what is ready; whether there was anything."""
        ready, self._soon = self._soon, deque()
        for what in ready:
            what()
        return bool(ready)

    def pass_time(self, seconds: float) -> None:
        """Let so much time go by, timers in their order."""
        end = self.now + seconds
        while self._later and self._later[0][0] <= end:
            due, _, handle, what = heapq.heappop(self._later)
            self.now = max(self.now, due)
            if not handle.cancelled:
                what()
            while self.turn():
                pass
        self.now = end


class Wire:
    """Keeps what was sent until the test carries it over."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.closed = False

    def answer(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        self.sent.append(line)

    def close(self) -> None:
        self.closed = True

    def taken(self) -> list[bytes]:
        """What was sent since, without line feeds."""
        sent, self.sent = self.sent, []
        return [line[:-1] for line in sent]


class Noted:
    """A port that keeps what it is told, and answers mail when it is asked to."""

    def __init__(self, keys: dict[str, str]) -> None:
        self.keys = keys
        self.peers: list[Peer] = []
        self.mail: list[Mail] = []
        self.answers: list[Answered] = []
        self.acks: list[tuple[int, list[Not]]] = []
        self.questions: list[tuple[Req, bytes]] = []
        self.hints: list[Names | Rung] = []
        self.ends: list[tuple[str, str]] = []
        self.at_once = True

    def known(self, device: str) -> str | None:
        return self.keys.get(device)

    def met(self, _exchange: Exchange, peer: Peer) -> None:
        self.peers.append(peer)

    def take(self, _exchange: Exchange, mail: Mail, answered: Answered) -> None:
        self.mail.append(mail)
        if self.at_once:
            answered(None)
        else:
            self.answers.append(answered)

    def acked(self, _exchange: Exchange, upto: int, refused: list[Not]) -> None:
        self.acks.append((upto, refused))

    def asked(self, _exchange: Exchange, req: Req, line: bytes) -> None:
        self.questions.append((req, line))

    def names(self, _exchange: Exchange, names: Names) -> None:
        self.hints.append(names)

    def rung(self, _exchange: Exchange, rung: Rung) -> None:
        self.hints.append(rung)

    def ended(self, _exchange: Exchange, reason: str, text: str) -> None:
        self.ends.append((str(reason), text))


def _identities() -> dict[str, Identity]:
    """One for each device of the tests; made once, as each costs a sync."""
    found = {}
    for name in ("laptop", "mini", "max"):
        with tempfile.TemporaryDirectory() as folder:
            found[name] = Identity.load(Path(folder))
    return found


IDENTITIES = _identities()
KEYS = {name: identity.public for name, identity in IDENTITIES.items()}


class End:
    """One end: its exchange, its port and its wire."""

    def __init__(
        self,
        loop: TurnedLoop,
        device: str,
        peer: str | None,
        *,
        dialled: bool,
        port: type[Noted] = Noted,
    ) -> None:
        self.loop = loop
        self.wire = Wire()
        self.port = port({k: v for k, v in KEYS.items() if k != device})
        here = Here(
            Device(device), IDENTITIES[device], Turned(), cast(AbstractEventLoop, loop)
        )
        self.exchange = Exchange(
            here,
            self.wire,
            self.port,
            dialled=dialled,
            peer=None if peer is None else Device(peer),
        )

    def feed(self, *lines: bytes) -> None:
        for line in lines:
            self.exchange.line(line)
        while self.loop.turn():
            pass


class Pair:
    """A dialler and an answerer."""

    def __init__(self, *, meet: bool = True) -> None:
        self.loop = TurnedLoop()
        self.laptop = End(self.loop, "laptop", "mini", dialled=True)
        self.mini = End(self.loop, "mini", "laptop", dialled=False)
        self.ends = (self.laptop, self.mini)
        if meet:
            for end in self.ends:
                end.exchange.start()
            self.carry()
            assert self.laptop.port.peers
            assert self.mini.port.peers

    def carry(self) -> None:
        """Carry everything over, both ways, until nobody has more to say."""
        busy = True
        while busy:
            self.loop.now += 0.001
            busy = self.loop.turn()
            for here, there in (self.ends, self.ends[::-1]):
                lines = here.wire.taken()
                busy = busy or bool(lines)
                there.feed(*lines)

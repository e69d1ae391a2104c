"""What two devices tell each other beside mail: names, hints and answers.

Owns the putting together of these, and the questions this device asks; every one has a
time limit, and nothing here holds mail up.  homi-protocol(7).
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from homi.address import Device, Name
from homi.clock import Clock, rfc3339
from homi.company import Guest, RoomChanged, RoomRows
from homi.envelope import MessageId
from homi.errors import HomiError, NotReached, Unavailable, from_wire
from homi.far import FarName, FarNames, FarRow, FarRungs, Steps, untold
from homi.links import frames
from homi.links.answering import (
    Answering,
    Asker,
    Grant,
    Reply,
)
from homi.links.exchange import Exchange
from homi.links.frames import Names, Res
from homi.links.hints import AT_ONCE, Hints
from homi.links.known import KnownNames
from homi.links.mirroring import Mirroring
from homi.links.telling import Telling
from homi.links.traffic import Question

GATHER = 0.25  # s: what changes together is told together
SAVE = 2.0  # s: known.json is a hint and may be behind
DRAINING = 0.5  # s between two looks at whether a queue still gets shorter
LIMIT = 5.0  # s another device has for an answer

Answer = TypeVar("Answer", bound=msgspec.Struct)
# What is looked up in the files, beside the loop: by whose key, in which places (None:
# in all), and the way back.
Look = Callable[[str, list[MessageId], list[Name] | None, Reply], None]


class Ways(Protocol):
    """The links, as far as they are asked here."""

    def up(self, device: Device) -> Exchange | None:
        """The exchange that carries the mail for device now."""
        ...

    def devices(self) -> Iterable[Device]:
        """Every linked device."""
        ...

    def over(self, device: Device) -> Device | None:
        """The device whose connection leads to device; None: its own does, or none."""
        ...

    def state(self, device: Device) -> str:
        """How the way to device is, in a word."""
        ...

    def grants(self, device: Device) -> frozenset[Grant]:
        """What device may ask here."""
        ...


class Parts(NamedTuple):
    """What gossip is about."""

    telling: Telling
    known: KnownNames
    mirroring: Mirroring
    hints: Hints


class Gossip:
    """The part of the traffic between devices that is no mail."""

    def __init__(
        self,
        parts: Parts,
        clock: Clock,
        ways: Ways,
        rows: Callable[[], list[FarName]],
        looks: tuple[Look, Look],
    ) -> None:
        """rows: the names of this device as another is shown them; looks: how far
        messages are, and what became of one."""
        self._parts = parts
        self._clock = clock
        self._ways = ways
        self._met: dict[Device, Exchange] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.answering = Answering(ways.grants)
        rungs, steps = looks
        answer = self.answering.done_by
        self.questions: dict[str, Question] = {
            "ls": answer(
                Grant.NAMES, lambda _asker, _line, reply: reply(FarNames(rows()))
            ),
            "rungs": answer(Grant.TRACE, partial(self._looked, rungs)),
            "trace": answer(Grant.TRACE, partial(self._looked, steps)),
        }

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask and tell from now on."""
        self._loop = loop

    def devices(self) -> Iterable[Device]:
        """Every linked device."""
        return self._ways.devices()

    def exchanges(self) -> list[Exchange]:
        """Those that are up."""
        return list(self._met.values())

    # ---- the traffic ----

    def met(self, exchange: Exchange) -> None:
        """Two devices met: tell our names, and ask, soon, what became of what was
        sent."""
        if (peer := exchange.peer) is None:
            return
        self._met[peer.device] = exchange
        self._parts.mirroring.link(peer.device, up=True)
        self._parts.telling.met(exchange)
        if asked := list(self._parts.hints.open(peer.device)):
            self._inquire(exchange, peer.device, asked)

    def ended(self, exchange: Exchange) -> None:
        """It carries nothing any more."""
        peer = exchange.peer
        if peer is not None and self._met.get(peer.device) is exchange:
            del self._met[peer.device]
            self._parts.mirroring.link(peer.device, up=False)

    def names(self, exchange: Exchange, names: Names) -> None:
        """Names there changed."""
        if (peer := exchange.peer) is None:
            return
        now = rfc3339(self._clock.wall())
        if self._parts.known.take(peer.device, names, now):
            self._parts.mirroring.learned(peer.device)

    def rung(self, exchange: Exchange, rung: frames.Rung) -> None:
        """How far a message got there."""
        if exchange.peer is not None:
            self._parts.hints.learn(exchange.peer.device, rung)

    def _inquire(
        self,
        exchange: Exchange,
        device: Device,
        asked: list[list[str]],
        waited: int | None = None,
    ) -> None:
        """Ask about each of these lists, as soon as what waits for device is gone or
        gets no less: whoever looks into its files takes in mail half as fast."""
        if self._met.get(device) is not exchange:
            return
        waits = self._parts.hints.waiting(device)
        if waits and self._loop and (waited is None or waits < waited):
            again = partial(self._inquire, exchange, device, asked, waits)
            self._loop.call_later(DRAINING, again)
            return
        for ids in asked:
            self._ask(exchange, "rungs", {"ids": ids}, self._rungs(device))

    def _rungs(self, device: Device) -> Callable[[frames.Res | None], None]:
        """What is done with what a device answers about messages of ours."""

        def answered(res: Res | None) -> None:
            found = read(res, FarRungs)
            for told in found.rungs[:AT_ONCE] if isinstance(found, FarRungs) else ():
                self._parts.hints.take(device, told)

        return answered

    # ---- what people ask ----

    def far(self, device: Device, done: Callable[[FarRow], None]) -> None:
        """The names of a device, from itself if it answers in time, else as known."""
        told = self._parts.known.of(device)
        row = FarRow(
            device=device,
            state=self._ways.state(device),
            at=told.at,
            names=[
                FarName(name, one.generation, one.live)
                for name, one in sorted(told.names.items())
            ],
        )

        def answered(res: Res | None) -> None:
            found = read(res, FarNames)
            if isinstance(found, FarNames):
                now = rfc3339(self._clock.wall())
                done(
                    msgspec.structs.replace(row, asked=True, at=now, names=found.names)
                )
            else:
                done(msgspec.structs.replace(row, why=found.text))

        exchange = self._met.get(device)
        if exchange is None:
            via = self._ways.over(device) or ""
            why = untold(via) if via else ""
            done(msgspec.structs.replace(row, why=why, via=via))
            return
        self._ask(exchange, "ls", {}, answered)

    def steps(
        self, device: Device, message: MessageId, done: Callable[[Steps], None]
    ) -> None:
        """What became of a message that was sent to, or over, a device."""
        exchange = self._ways.up(device)
        over = None if exchange is None else exchange.peer

        def answered(res: Res | None) -> None:
            found = read(res, Steps)
            if isinstance(found, Steps):
                name = device if over is None else over.device
                done(msgspec.structs.replace(found, device=name, asked=True))
            else:
                done(Steps(device, why=found.text))

        if exchange is None:
            done(Steps(device, why=f"the link is {self._ways.state(device)}"))
            return
        self._ask(exchange, "trace", {"ids": [message]}, answered)

    def _looked(self, look: Look, asker: Asker, line: bytes, reply: Reply) -> None:
        """Answer from the files what became of the messages of who asks: no others
        than where they are, since files take as long as they are behind."""
        ids = [MessageId(one) for one in _ids(line).ids[:AT_ONCE]]
        look(asker.key, ids, self._parts.hints.places(ids), reply)

    def rooms(
        self,
        device: Device,
        asked: Guest,
        done: Callable[[msgspec.Struct | HomiError], None],
    ) -> None:
        """What a device answers about its rooms; it is asked over a link of its own
        only, since it believes whom that leads to."""

        def answered(res: Res | None) -> None:
            found: msgspec.Struct | HomiError
            found = read(res, RoomRows if asked.do == "ls" else RoomChanged)
            if isinstance(found, HomiError) and res is not None:
                found = _there(device, found)
            done(found)

        exchange = self._met.get(device)
        if exchange is None:
            state = self._ways.state(device)
            over = self._ways.over(device)
            why = f"it is linked over {over} only" if over else state
            text = (
                f"the rooms of {device} are kept there, and it cannot be asked: {why}"
            )
            # Its mail may well come through: a check of the way would find it well.
            hint = f"on {device}: homi room" if over else f"homi link check {device}"
            done(NotReached(text, hint=hint, reason="link-down"))
            return
        fields = msgspec.to_builtins(asked)
        self._ask(exchange, "room", fields, answered)

    def reached(self, device: Device) -> bool:
        """Whether a link of its own to that device is up."""
        return device in self._met

    def ask(
        self,
        device: Device,
        verb: str,
        fields: dict[str, object],
        answered: Callable[[Res | None], None],
        limit: float,
    ) -> None:
        """Ask that device itself; answered is called once, with None where no answer
        came in so many seconds, or no link of its own is up."""
        exchange = self._met.get(device)
        if exchange is None:
            answered(None)
        else:
            self._ask(exchange, verb, fields, answered, limit)

    def _ask(
        self,
        exchange: Exchange,
        verb: str,
        fields: dict[str, object],
        answered: Callable[[Res | None], None],
        limit: float = LIMIT,
    ) -> None:
        """Ask; answered is called once, with None where no answer came in time."""
        if self._loop is None:
            answered(None)
            return
        left = [answered]

        def once(res: Res | None) -> None:
            timer.cancel()
            for waiting in left[:]:
                left.clear()
                waiting(res)

        timer = self._loop.call_later(limit, once, None)
        exchange.ask(verb, fields, once)


class _Ids(msgspec.Struct):
    """The field of what is asked about messages."""

    ids: list[str] = []


_ids = msgspec.json.Decoder(_Ids).decode


def _there(device: Device, error: HomiError) -> HomiError:
    """What a device says against it, in words for who is at this one."""
    fix = error.hint
    hint = f"homi room ls @{device}" if fix.startswith("homi ") else fix
    return from_wire(error.code, f"{device} says: {error.text}", hint, error.reason)


def read(res: Res | None, kind: type[Answer]) -> Answer | HomiError:
    """What an answer holds; else why there is none."""
    if res is None:
        return Unavailable("no answer in time")
    if res.error is not None:
        error = res.error
        return from_wire(error.code, error.text, error.hint, error.reason)
    try:
        return msgspec.json.decode(res.ok, type=kind)
    except (msgspec.DecodeError, RecursionError):
        return Unavailable("it gave an answer this homi cannot read")

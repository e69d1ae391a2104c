"""Two devices over a pipe that loses, doubles, turns round and cuts what it carries.

Owns a world in turned time: stores that die with what is under way, links that are
built again over them, and the sum that must come out at the end.
"""

import asyncio
import random
import selectors
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec

from homi import ids
from homi.address import Device, Name
from homi.claims import State
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import (
    LedgerLine,
    MessageId,
    Msg,
    Rung,
    Via,
    decode_envelope,
    encode,
)
from homi.links.exchange import Answered, Exchange
from homi.links.feed import Books, Feed
from homi.links.frames import Mail as MailFrame
from homi.links.frames import Names as NamesFrame
from homi.links.frames import Not, Req
from homi.links.frames import Rung as RungFrame
from homi.links.greeting import Here, Peer
from homi.links.intake import Intake
from homi.names import Names
from homi.owners import Owners
from homi.postmaster import Postmaster, Result, Stamp, Submission
from homi.sessions import Sessions
from homi.store.base import Mail
from homi.store.disk import RealDisk
from homi.store.mailbox import Item
from homi.store.memory import MemoryStore
from homi.store.places import queue_of
from homi.store.quarantine import Quarantine
from homi.store.state import StateFile
from tests.unit.links.kit import IDENTITIES, KEYS

WRITERS = ("ada", "bob", "cid")
EPOCH = 1_800_000_000.0


class Skipping(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    """Waits for nothing: time is turned on instead."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> list[object]:
        found = super().select(0)
        if not found and timeout:
            self.now += timeout
        return list(found)


class TurnedLoop(asyncio.SelectorEventLoop):
    """A loop that never sleeps."""

    def __init__(self) -> None:
        self.selector = Skipping()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


class LoopClock(SystemClock):
    """Wall time that goes with the loop's."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def wall(self) -> float:
        return EPOCH + self._loop.time()


class MortalStore(MemoryStore):
    """Commits in batches, some of which fail; a crash keeps a part of one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, draw: random.Random) -> None:
        super().__init__()
        self._loop = loop
        self._draw = draw
        self._batch: list[Callable[[bool], None]] = []

    def submit(self, mail: Mail) -> None:
        if not mail.barred:
            self.mailbox(mail.place).expect(1, len(mail.tail))

        def commit(alive: bool) -> None:
            if not alive:
                mail.done = lambda _mail: None
            self._commit(mail)

        self._enter(commit)

    def record(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None] | None = None,
        *,
        durable: bool = False,
    ) -> None:
        self._enter(
            lambda alive: self._append(name, line, done if alive else None, False)
        )

    def crash(self) -> None:
        """What was under way is there in part, and nobody is told."""
        batch, self._batch = self._batch, []
        for commit in batch[: self._draw.randint(0, len(batch))]:
            commit(False)
        self.closed_text = ""
        for box in (*self.mailboxes(), *self.queues()):
            box.coming = box.coming_bytes = 0

    def _enter(self, commit: Callable[[bool], None]) -> None:
        if not self._batch:
            self._loop.call_later(self._draw.random() * 0.01, self._sync, self._batch)
        self._batch.append(commit)

    def _sync(self, batch: list[Callable[[bool], None]]) -> None:
        if batch is not self._batch:
            return  # of a life that ended
        self._batch = []
        if not self.closed_text and self._draw.random() < 0.01:
            self.closed_text = "a write failed"
            self._loop.call_later(self._draw.random(), self._open)
        for commit in batch:
            commit(True)

    def _open(self) -> None:
        self.closed_text = ""


class Device_:
    """One device: what lasts, and the life it has now."""

    def __init__(self, world: "World", name: str, other: str, root: Path) -> None:
        self.world = world
        self.name, self.other = name, other
        self.root = root
        root.mkdir()
        self.clock = LoopClock(world.loop)
        self.store = MortalStore(world.loop, world.draw)
        self.port: Port | None = None
        self.start()

    def start(self) -> None:
        """A daemon over what was kept."""
        file = StateFile(str(self.root / "names.json"), RealDisk(), State)
        names = Names(file)
        for writer in WRITERS:
            if names.get(Name(writer)) is None:
                names.claim(Name(writer), None, 0.0)
        owners = Owners(names, Sessions([self.root / "claude"], self.clock))
        owners.devices = lambda: [Device(self.other)]
        self.postmaster = Postmaster(
            self.store,
            names,
            owners,
            Quarantine(str(self.root), RealDisk()),
            self.clock,
            Config(device=self.name),
        )
        self.postmaster.subscribe(self._hint)

    def kill(self) -> None:
        """Dead, and started again."""
        port, self.port = self.port, None
        if port is not None:
            port.dead = True
            port.pipe.cut()
        self.store.crash()
        self.start()

    def _hint(self, place: Name, item: Item) -> None:
        lost = self.world.draw.random() < self.world.lost_hints
        if self.port is not None and self.port.feed is not None and not lost:
            self.port.feed.hint(place, item)

    def send(
        self, writer: str, to: str, text: str, done: Callable[[Result], None]
    ) -> None:
        head = Msg(
            id=MessageId(ids.derived(self.name, text)), from_=writer, to=to, text=text
        )
        stamp = Stamp(Via(door="control", uid=0, pid=1, verified=True))
        self.postmaster.accept(Submission(head, encode(head), stamp, to, done))

    def queue(self) -> dict[int, Item]:
        return self.store.mailbox(queue_of(Device(self.other))).pending

    def texts(self, name: str) -> list[tuple[str, str]]:
        """(sender, text) of all that was ever stored for name, in order."""
        lines = bytes(self.store.inboxes[Name(name)]).splitlines()
        found = [decode_envelope(line) for line in lines]
        heads = [msgspec.json.decode(envelope.msg, type=Msg) for envelope in found]
        return [(head.from_, head.text) for head in heads]


class Port:
    """What stands above one exchange of one life of a device."""

    def __init__(self, device: Device_, pipe: "Pipe", *, dialled: bool) -> None:
        self.device = device
        self.pipe = pipe
        self.dead = False
        self.feed: Feed | None = None
        self.intake: Intake | None = None
        here = Here(
            Device(device.name), IDENTITIES[device.name], device.clock, pipe.world.loop
        )
        self.out: list[bytes] = []
        self.exchange = Exchange(
            here, self, self, dialled=dialled, peer=Device(device.other)
        )

    # the wire

    def answer(self, line: bytes) -> None:
        if not self.out:
            self.pipe.world.loop.call_soon(self._flush)
        self.out.append(line)

    def _flush(self) -> None:
        out, self.out = self.out, []
        if not self.dead:
            self.pipe.carry(self, out)

    def close(self) -> None:
        self.pipe.world.loop.call_soon(self.pipe.cut)

    # the port

    def known(self, device: str) -> str | None:
        return KEYS.get(device)

    def met(self, exchange: Exchange, peer: Peer) -> None:
        if self.dead:
            return
        device = self.device
        device.port = self
        self.intake = Intake(exchange, peer, device.postmaster)
        postmaster = device.postmaster

        def record(
            name: Name,
            line: LedgerLine,
            done: Callable[[bool], None],
            *,
            durable: bool,
        ) -> None:
            device.store.record(name, line, done, durable=durable)

        books = Books(
            device.store.mailbox, record, postmaster.bounce, device.world.draw.random
        )
        self.feed = Feed(exchange, books)
        self.feed.route([queue_of(Device(device.other))])

    def take(self, _exchange: Exchange, mail: MailFrame, answered: Answered) -> None:
        assert self.intake is not None
        self.intake.take(mail, answered)

    def acked(self, _exchange: Exchange, upto: int, refused: list[Not]) -> None:
        assert self.feed is not None
        self.feed.acked(upto, refused)

    def asked(self, exchange: Exchange, req: Req, line: bytes) -> None: ...

    def names(self, exchange: Exchange, names: NamesFrame) -> None: ...

    def rung(self, exchange: Exchange, rung: RungFrame) -> None: ...

    def ended(self, _exchange: Exchange, reason: str, text: str) -> None:
        if self.feed is not None:
            self.feed.stop()
        if self.device.port is self:
            self.device.port = None
        self.pipe.world.ends[f"{reason}"] += 1


class Pipe:
    """One connection.  Bytes come in order, but what a frame is may be spoilt."""

    def __init__(self, world: "World", left: Device_, right: Device_) -> None:
        self.world = world
        self.ends = (
            Port(left, self, dialled=True),
            Port(right, self, dialled=False),
        )
        self._rest = {id(end): b"" for end in self.ends}
        self._times = {id(end): 0.0 for end in self.ends}
        self.down = False
        for end in self.ends:
            end.exchange.start()

    def carry(self, sender: Port, lines: list[bytes]) -> None:
        """Bring lines over, in pieces, some of them spoilt."""
        if self.down:
            return
        draw, world = self.world.draw, self.world
        receiver = self.ends[sender is self.ends[0]]
        data = b"".join(spoilt(lines, draw, world.spoil))
        while data:
            size = draw.choice((len(data), draw.randint(1, len(data))))
            piece, data = data[:size], data[size:]
            now = world.loop.time()
            at = max(now, self._times[id(receiver)]) + draw.random() * 0.002
            self._times[id(receiver)] = at
            world.loop.call_at(at, self._arrive, receiver, piece)

    def _arrive(self, receiver: Port, piece: bytes) -> None:
        if self.down or receiver.dead:
            return
        *lines, rest = (self._rest[id(receiver)] + piece).split(b"\n")
        self._rest[id(receiver)] = rest
        for line in lines:
            if line and not self.down and not receiver.dead:
                receiver.exchange.line(line)

    def cut(self) -> None:
        """Gone, with what was on the way; both ends are told, if they live."""
        if self.down:
            return
        self.down = True
        for end in self.ends:
            if not end.dead:
                end.exchange.lost()
        self.world.ended()


def spoilt(lines: list[bytes], draw: random.Random, odds: float) -> list[bytes]:
    """The same lines, or what a bad way makes of them."""
    found = list(lines)
    if draw.random() < odds:
        i = draw.randrange(len(found))
        match draw.randrange(5):
            case 0:
                del found[i]
            case 1:
                found.insert(i, found[i])
            case 2:
                draw.shuffle(found)
            case 3:
                found[i] = found[i][: draw.randrange(len(found[i]))]
            case _:
                found[i] = found[i][: draw.randrange(len(found[i]))] + b"\n"
    return found


class World:
    """Two devices and the way between them."""

    def __init__(self, root: Path, seed: int, loop: asyncio.AbstractEventLoop) -> None:
        self.draw = random.Random(seed)
        self.loop = loop
        self.spoil = 0.02
        self.lost_hints = 0.05
        self.ends: Counter[str] = Counter()
        self.kills = 0
        self.laptop = Device_(self, "laptop", "mini", root / "laptop")
        self.mini = Device_(self, "mini", "laptop", root / "mini")
        self.devices = (self.laptop, self.mini)
        self._dial()

    def _dial(self) -> None:
        left, right = self.devices if self.draw.random() < 0.5 else self.devices[::-1]
        self.pipe = Pipe(self, left, right)

    def ended(self) -> None:
        self.loop.call_later(self.draw.random() * 0.5, self._dial)

    def kill(self) -> None:
        self.kills += 1
        self.draw.choice(self.devices).kill()

    def trouble(self) -> None:
        """A mailbox that is full for a while, a clock that jumps, a cut."""
        device = self.draw.choice(self.devices)
        match self.draw.randrange(3):
            case 0:
                device.store.free = 0
                self.loop.call_later(self.draw.random() * 3, self._room, device)
            case 1:
                self.pipe.cut()
            case _:
                self.pipe.ends[0].exchange.probe(5.0)

    def _room(self, device: Device_) -> None:
        device.store.free = 1 << 40


async def run(world: World, messages: int, kills: int) -> dict[str, list[str]]:
    """Let each side write so many messages; what each lane was given, in order.

    A message that is not known to be stored is sent again, under its id, before the
    next of its lane.
    """
    given: dict[str, list[str]] = {}
    writers = [
        _write(world, device, writer, to, messages // len(WRITERS) // 2, given)
        for device in world.devices
        for writer in WRITERS
        for to in WRITERS[:2]
    ]
    tasks = [asyncio.ensure_future(writer) for writer in writers]
    often = messages / len(WRITERS) / 2 * 0.08 / kills  # s: while they still write
    for _ in range(kills):
        await asyncio.sleep(world.draw.random() * often)
        world.kill()
        if world.draw.random() < 0.5:
            world.trouble()
    await asyncio.gather(*tasks)
    world.spoil = 0.0
    for _ in range(100):
        if not any(device.queue() for device in world.devices):
            break
        await asyncio.sleep(60.0)
    return given


async def _write(
    world: World,
    device: Device_,
    writer: str,
    to: str,
    count: int,
    given: dict[str, list[str]],
) -> None:
    """One lane's sender."""
    lane = given.setdefault(f"{device.name}/{writer}>{to}", [])
    for number in range(count):
        text = f"{writer}>{to} {number}"
        address = f"{to}@{device.other}"
        while not await _sent(world, device, writer, address, text):
            pass
        lane.append(text)
        if world.draw.random() < 0.1:
            await asyncio.sleep(world.draw.random() * 0.5)


async def _sent(world: World, device: Device_, writer: str, to: str, text: str) -> bool:
    """Whether it is known to be stored here."""
    got: asyncio.Future[Result] = world.loop.create_future()
    device.send(writer, to, text, lambda r: None if got.done() else got.set_result(r))
    try:
        async with asyncio.timeout(1.0):
            kept = (await got).kept
    except TimeoutError:
        return False  # it died over it
    if not kept:
        await asyncio.sleep(0.05)
    return kept


def judge(world: World, given: dict[str, list[str]]) -> None:
    """Each stored exactly once at the far side, in order per lane; nothing waits."""
    for device in world.devices:
        left = list(device.queue().values())
        assert not left, f"{device.name} keeps {left[0].rung} {left[0].reason}"
        far = world.devices[device is world.laptop]
        for to in WRITERS[:2]:
            texts = far.texts(to)
            for writer in WRITERS:
                came = [text for sender, text in texts if sender == writer]
                lane = f"{device.name}/{writer}>{to}"
                assert came == given[lane], _apart(lane, came, given[lane])
        ledger = device.store.ledgers[queue_of(Device(device.other))]
        bounced = [line for line in ledger if line.rung is Rung.BOUNCED]
        assert bounced == []


def _apart(lane: str, came: list[str], given: list[str]) -> str:
    """Where two lists part."""
    at = next(
        (i for i, (a, b) in enumerate(zip(came, given, strict=False)) if a != b),
        min(len(came), len(given)),
    )
    return f"{lane} at {at}: {came[at : at + 4]} came, {given[at : at + 4]} were given"

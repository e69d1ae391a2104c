"""Random histories: sessions that tell the truth about what they have, late.

A Client is the model of an agent process: its queue, its conversation, the lines
of its transcript nobody has read yet.  It checks what no letter may ever meet.
"""

import asyncio
import random

import msgspec

from homi.address import Name
from homi.courier.rules import process_of
from homi.envelope import MessageId, Reason, SessionRef
from homi.legs.base import (
    Blocked,
    Deferred,
    Evidence,
    Ignored,
    Letter,
    ModelFailed,
    NoProof,
    Offered,
    Outcome,
    Receipt,
    Seen,
    Taken,
)
from homi.sessions import Session
from tests.unit.courier.twins import ADA, Offer, Slot, World, session

EVE = Name("eve")
SENDERS = ("bob", "cat", "dan")
SILENCE = 5.0  # s: as the real witness waits before it concludes


class Client:
    """One agent process, as it really is."""

    def __init__(self, record: Session) -> None:
        self.record = record
        self.queue: list[MessageId] = []
        self.held: list[MessageId] = []
        self.unread: list[tuple[SessionRef, Evidence]] = []  # of its transcript
        self.proves = True


class Street(Slot):
    """The leg and every process behind it."""

    def __init__(self, world: World, rng: random.Random) -> None:
        super().__init__()
        self.world = world
        self.rng = rng
        self.clients: dict[int, Client] = {}
        self.arrived: set[MessageId] = set()  # bytes of it may have been read
        self.proven: set[MessageId] = set()  # by the transcript of a dead process
        self.wrong: list[str] = []
        self.calm = False  # the last part of a history: no more mishaps

    def has(self, client: Client, message: MessageId) -> bool:
        said = self.world.scribe.conversations.get(client.record.session_id, ())
        return message in client.queue or message in client.held or message in said

    async def offer(self, letter: Letter, session: Session) -> Outcome:
        message = letter.msg.id
        now = asyncio.get_running_loop().time()
        self.offers.append(Offer(session, letter, now))
        client = self.clients.get(session.pid)
        if client is not None and self.has(client, message):
            self.wrong.append(f"{message} twice in {session.pid}")
        if message in self.proven:
            self.wrong.append(f"{message} in {session.pid} though it was answered")
        if message in self.arrived and not letter.repeat:
            self.wrong.append(f"{message} again in {session.pid} without the mark")
        await asyncio.sleep(self.rng.choice((0.0, 0.0, 0.01)))
        client = self.clients.get(session.pid)
        if client is None or (not self.calm and self.rng.random() < 0.05):
            return Deferred(Reason.UNREACHABLE, 1.0)
        self.arrived.add(message)
        self._receive(client, session, message)
        await asyncio.sleep(self.rng.choice((0.0, 0.0, 0.01)))
        if not self.calm and self.rng.random() < 0.03:
            return Deferred(Reason.UNREACHABLE, 35.0, unclear=True)
        return Offered()

    def _receive(self, client: Client, sent_to: Session, message: MessageId) -> None:
        """What the client does with the line: mostly its queue."""
        if sent_to.session_id != client.record.session_id:
            return  # for another conversation: dropped in silence
        fate = 1.0 if self.calm else self.rng.random()
        if fate < 0.05:
            why = self.rng.choice(("rate-limited", "duplicate", "queue-full"))
            self._receipt(client, message, "dropped", why)
        elif fate < 0.12:
            client.held.append(message)
            self._receipt(client, message, "held")
        elif fate < 0.14:
            self._receipt(client, message, "refused")
        elif fate < 0.16:
            client.unread.append((client.record.ref, Blocked(message)))
        else:
            client.queue.append(message)

    def _receipt(
        self, client: Client, message: MessageId, status: str, why: str = ""
    ) -> None:
        """A little later, and only to the very process that sent the letter."""
        courier, ref = self.world.courier, client.record.ref

        def tell() -> None:
            if self.world.courier is courier:
                courier.evidence(ref, Receipt(message, status, why))

        loop = asyncio.get_running_loop()
        loop.call_later(self.rng.choice((0.0, 0.05)), tell)

    def settle_held(self, client: Client) -> None:
        """Its user answers the dialog."""
        if not client.held:
            return
        message = client.held.pop(0)
        if self.calm or self.rng.random() < 0.5:
            client.queue.append(message)
            self._receipt(client, message, "delivered")
        else:
            self._receipt(client, message, self.rng.choice(("denied", "expired")))

    def turn(self, client: Client) -> None:
        """A turn takes what waits; mostly the model answers."""
        said = self.world.scribe.conversations.setdefault(
            client.record.session_id, set()
        )
        ref = client.record.ref
        for message in client.queue:
            said.add(message)
            client.unread.append((ref, Taken(message)))
        client.queue.clear()
        failed = not self.calm and self.rng.random() < 0.2
        kind = ModelFailed if failed else Seen
        client.unread += [(ref, kind(message)) for message in sorted(said)]

    def read(self, client: Client) -> None:
        """The witness reads the transcript's new lines."""
        lines, client.unread = client.unread, []
        for ref, evidence in lines:
            if client.proves:
                self._tell(ref, evidence)

    def conclude(self, client: Client) -> None:
        """The witness says what silence means, having read all there is."""
        self.read(client)
        ref, now = client.record.ref, asyncio.get_running_loop().time()
        for message, at in list(self.silences.get(process_of(ref), {}).items()):
            if now - at < SILENCE or (client.proves and self.has(client, message)):
                continue
            said = Ignored(message) if client.proves else NoProof(message)
            self._tell(ref, said)

    @property
    def silences(self) -> dict[tuple[int, str], dict[MessageId, float]]:
        return self.world.scribe.since

    def _tell(self, ref: SessionRef, evidence: Evidence) -> None:
        if evidence.id in self.world.scribe.watched.get(process_of(ref), ()):
            self.world.courier.evidence(ref, evidence)


class History:
    """One random life of a daemon and its sessions."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.world = World(slot=lambda world: Street(world, self.rng))
        self.street: Street = self.world.slot
        self.pid = 100
        self.sent = 0
        self.senders: dict[MessageId, str] = {}

    async def live(self, steps: int) -> None:
        """Steps of anything, then a calm end in which all mail is answered."""
        await self.world.start()
        for _ in range(steps):
            await self.rng.choice(self.DEEDS)(self)
            if self.rng.random() < 0.7:
                await self.world.after(self.rng.choice((0.0, 0.005, 0.5, 3.0, 20.0)))
        await self._end()

    async def _send(self) -> None:
        for _ in range(self.rng.choice((1, 1, 3, 8))):
            self.sent += 1
            item = await self.world.mail(
                f"letter {self.sent}",
                self.rng.choice(SENDERS),
                self.rng.choice((ADA, ADA, EVE)),
                ttl_s=60 if self.rng.random() < 0.1 else None,
            )
            self.senders[item.id] = item.sender

    async def _come(self) -> None:
        """A new session, perhaps in a conversation that was left."""
        name = self.rng.choice((ADA, EVE))
        if self.world.town.owner(name) is not None:
            return
        self.pid += 1
        record = session(self.pid, name=name, address=name)
        left = sorted(self.world.scribe.conversations)
        living = {c.record.session_id for c in self.street.clients.values()}
        left = [c for c in left if c not in living]
        if left and self.rng.random() < 0.4:
            record = msgspec.structs.replace(record, session_id=self.rng.choice(left))
        client = self.street.clients[self.pid] = Client(record)
        client.proves = self.rng.random() < 0.85
        self.world.town.come(record, name)

    async def _die(self) -> None:
        client = self._any()
        if client is None:
            return
        pid = client.record.pid
        watched = self.world.scribe.watched.get(process_of(client.record.ref), {})
        lines = client.unread if client.proves else []
        told = [each for each in lines if each[1].id in watched]
        self.world.scribe.at_end += told
        self.street.proven |= {said.id for _, said in told if isinstance(said, Seen)}
        del self.street.clients[pid]
        self.world.town.die(pid)

    async def _move(self) -> None:
        """Its record changes: busy, idle, /clear, another name and back."""
        client = self._any()
        if client is None:
            return
        deed = self.rng.choice(("busy", "idle", "clear", "leave", "return"))
        change = {"busy": {"status": "busy"}, "idle": {"status": "idle"}}.get(deed, {})
        town, record = self.world.town, client.record
        if deed == "clear":
            change = {"session_id": f"{record.session_id}+{self.rng.random():.6f}"}
        client.record = msgspec.structs.replace(record, **change)
        town.change(client.record)
        names = town.names_of(record.ref)
        if deed == "leave" and names:
            town.give(names[0], 0)
        elif deed == "return" and not names and town.owner(record.address) is None:
            town.give(record.address, record.pid)

    async def _turns(self) -> None:
        if client := self._any():
            self.street.turn(client)

    async def _reads(self) -> None:
        if client := self._any():
            self.street.read(client)

    async def _concludes(self) -> None:
        if client := self._any():
            self.street.conclude(client)

    async def _answers(self) -> None:
        if client := self._any():
            self.street.settle_held(client)

    async def _restart(self) -> None:
        # What was read and not yet recorded dies with the daemon.
        for name in (ADA, EVE):
            self.street.proven -= set(self.world.pending(name))
        await self.world.restart()

    async def _sweep(self) -> None:
        self.world.courier.sweep()

    async def _fail(self) -> None:
        self.world.store.fail_next = self.rng.choice((1, 2))
        await self.world.after(0.01)
        self.world.store.fail_next = 0

    DEEDS = (
        _send,
        _send,
        _send,
        _come,
        _come,
        _die,
        _move,
        _move,
        _turns,
        _turns,
        _reads,
        _reads,
        _concludes,
        _answers,
        _restart,
        _sweep,
        _fail,
    )

    def _any(self) -> Client | None:
        clients = list(self.street.clients.values())
        return self.rng.choice(clients) if clients else None

    async def _end(self) -> None:
        """Whoever lives dies; two good sessions come and answer everything."""
        self.street.calm = True
        while self.street.clients:
            await self._die()
        for name in (ADA, EVE):
            self.pid += 1
            record = session(self.pid, name=name, address=name)
            self.street.clients[self.pid] = Client(record)
            self.world.town.come(record, name)
        for _ in range(120):
            await self.world.after(10.0)
            self.world.courier.sweep()
            for client in self.street.clients.values():
                self.street.turn(client)
                self.street.read(client)
            if not self.world.pending(ADA) and not self.world.pending(EVE):
                break
        await self.world.after(1.0)
        await self.world.stop()

"""In-memory twins of what the courier works with, and a loop whose time is turned.

Each twin keeps the promises of the Protocol it stands for; nothing here sleeps.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from homi.address import Name
from homi.clock import parse_rfc3339, rfc3339
from homi.courier.courier import Courier
from homi.courier.rules import process_of
from homi.envelope import (
    Kind,
    LedgerLine,
    MessageId,
    Msg,
    Rung,
    SessionRef,
    Via,
    decode_envelope,
    decode_msg,
    encode,
)
from homi.ids import shape
from homi.legs.base import Evidence, Letter, Offered, Outcome, Taken
from homi.postmaster import Result, Submission
from homi.sessions import Session
from homi.settings import Settings
from homi.store.base import Kept, Mail
from homi.store.mailbox import Item
from homi.store.memory import MemoryStore

START = parse_rfc3339("2026-11-29T22:00:00.000Z")
ADA = Name("ada")


class _Turning(selectors.SelectSelector):
    """Waits for nothing: where it would, the time is turned on instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise AssertionError("the loop waits for an event that cannot come")
        self.now += max(timeout, 0.0)
        return super().select(0)


class TurningLoop(asyncio.SelectorEventLoop):
    """An event loop in which hours pass at once."""

    def __init__(self) -> None:
        self._turning = _Turning()
        super().__init__(self._turning)
        self._clock_resolution = 1e-9

    def time(self) -> float:
        return self._turning.now


def turn(main: Coroutine[Any, Any, None]) -> None:
    """Run main in turned time."""
    with asyncio.Runner(loop_factory=TurningLoop) as runner:
        runner.run(main)


class TurnedClock:
    """Reads the turned loop."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        return START + self.monotonic()

    def boot(self) -> float:
        return self.monotonic()


def session(pid: int, *, start: str = "1", **fields: object) -> Session:
    """A live session with a conversation of its own."""
    given = {
        "session_id": f"conversation-{pid}",
        "name": "ada",
        "address": ADA,
        "socket": f"/run/{pid}.sock",
        "status": "idle",
    } | fields
    return Session(pid=pid, start=start, **given)


class Town:
    """Who lives and who owns: sessions and owners in one."""

    def __init__(self) -> None:
        self.live: dict[int, Session] = {}
        self.owned: dict[Name, int] = {}
        self.couriers: list[Courier] = []
        self.unlisted: set[tuple[int, str]] = set()  # live, with a torn record
        self.deaf = False  # every notice is lost

    def by_ref(self, ref: SessionRef) -> Session | None:
        found = self.live.get(ref.pid)
        return found if found is not None and found.start == ref.start else None

    def owner(self, name: Name) -> Session | None:
        return self.live.get(self.owned.get(name, 0))

    def names_of(self, ref: SessionRef) -> list[Name]:
        return sorted(n for n, pid in self.owned.items() if pid == ref.pid)

    def alive(self, pid: int, start: str) -> bool:
        listed = self.by_ref(SessionRef(pid, start)) is not None
        return listed or (pid, start) in self.unlisted

    def come(self, new: Session, *names: Name) -> Session:
        """A session starts and owns these names."""
        self.live[new.pid] = new
        self._session(None, new)
        for name in names:
            self.give(name, new.pid)
        return new

    def change(self, new: Session) -> Session:
        """Its record changes."""
        old = self.live[new.pid]
        self.live[new.pid] = new
        self._session(old, new)
        return new

    def give(self, name: Name, pid: int) -> None:
        """Another session has the name; 0: none."""
        old = self.owner(name)
        if pid:
            self.owned[name] = pid
        else:
            self.owned.pop(name, None)
        if not self.deaf:
            for courier in self.couriers:
                courier.on_owner(name, old, self.owner(name))

    def die(self, pid: int) -> None:
        """The process ends; owners hear of it first, as in the daemon."""
        old = self.live.pop(pid)
        for name in [n for n, p in self.owned.items() if p == pid]:
            del self.owned[name]
            if not self.deaf:
                for courier in self.couriers:
                    courier.on_owner(name, old, None)
        self._session(old, None)

    def _session(self, old: Session | None, new: Session | None) -> None:
        if not self.deaf:
            for courier in self.couriers:
                courier.on_session(old, new)


class Scribe:
    """A witness: tells what the test says the transcripts hold."""

    def __init__(self) -> None:
        self.conversations: dict[str, set[MessageId]] = {}
        self.watched: dict[tuple[int, str], dict[MessageId, Letter]] = {}
        self.silences: list[tuple[int, MessageId]] = []
        self.since: dict[tuple[int, str], dict[MessageId, float]] = {}  # of silence
        self.finished: list[int] = []
        self.forgotten: list[tuple[int, MessageId]] = []
        self.changes: list[Session] = []
        self.at_end: list[tuple[SessionRef, Evidence]] = []  # read at finish
        self.sink: Callable[[SessionRef, Evidence], None] = lambda _s, _e: None
        self.slow = 0.0  # s a finish takes

    def taken_before(self, session: Session, message: MessageId) -> bool:
        return message in self.conversations.get(session.session_id, ())

    def watch(self, session: Session, letter: Letter) -> None:
        given = self.watched.setdefault(process_of(session.ref), {})
        given[letter.msg.id] = letter
        self.since.get(process_of(session.ref), {}).pop(letter.msg.id, None)

    def offered(self, session: Session, message: MessageId) -> None:
        if session.pid in self.finished:
            return
        assert message in self.watched[process_of(session.ref)]
        self.silences.append((session.pid, message))
        now = asyncio.get_running_loop().time()
        self.since.setdefault(process_of(session.ref), {})[message] = now

    def changed(self, session: Session) -> None:
        self.changes.append(session)

    def forget(self, session: SessionRef, message: MessageId) -> None:
        self.watched.get(process_of(session), {}).pop(message, None)
        self.since.get(process_of(session), {}).pop(message, None)
        self.forgotten.append((session.pid, message))

    async def finish(self, session: Session) -> None:
        if self.slow:
            await asyncio.sleep(self.slow)
        for ref, evidence in self.at_end:
            if ref.pid == session.pid:
                self.sink(ref, evidence)
        self.watched.pop(process_of(session.ref), None)
        self.finished.append(session.pid)

    def take(self, session: Session, message: MessageId) -> None:
        """The letter stands in the conversation, and the sink hears of it."""
        self.conversations.setdefault(session.session_id, set()).add(message)
        self.sink(session.ref, Taken(message))


class Offer:
    """One hand-over as the leg saw it."""

    def __init__(self, session: Session, letter: Letter, at: float) -> None:
        self.pid = session.pid
        self.process = process_of(session.ref)
        self.conversation = session.session_id
        self.id = letter.msg.id
        self.text = letter.msg.text
        self.sender = letter.msg.from_
        self.repeat = letter.repeat
        self.letter = letter
        self.at = at


class Slot:
    """A leg that keeps what it was given and answers what the test laid out."""

    name = "slot"
    client = "claude"

    def __init__(self) -> None:
        self.offers: list[Offer] = []
        self.answers: dict[str, list[Outcome | Exception | asyncio.Event]] = {}
        self.then: Callable[[Session, Letter], None] = lambda _s, _l: None
        self.deaf_to: set[int] = set()

    def serves(self, session: Session) -> bool:
        return session.pid not in self.deaf_to

    def proofs(self, session: Session) -> frozenset[Rung]:
        return frozenset({Rung.OFFERED, Rung.SEEN})

    async def offer(self, letter: Letter, session: Session) -> Outcome:
        now = asyncio.get_running_loop().time()
        self.offers.append(Offer(session, letter, now))
        self.then(session, letter)
        laid = self.answers.get(letter.msg.text)
        answer = laid.pop(0) if laid else Offered()
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            return Offered()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def texts(self) -> list[str]:
        """What was offered, in order."""
        return [offer.text for offer in self.offers]


class World:
    """A courier with its twins, on one store."""

    def __init__(self, slot: Callable[["World"], Slot] | None = None) -> None:
        self.clock = TurnedClock()
        self.store = MemoryStore()
        self.town = Town()
        self.scribe = Scribe()
        self.slot = slot(self) if slot else Slot()
        self.refuses = False  # the postmaster takes nothing
        self.digest_from: int | None = None  # no digests, where a test wants none
        self.settings: dict[Name, Settings] = {}
        self.told: list[tuple[MessageId, Name, str, str]] = []
        self.lines: list[tuple[Name, LedgerLine]] = []
        self.courier = self._hire()
        self.task: asyncio.Task[None] | None = None
        self.hints = True
        self._next = 0

    def _hire(self) -> Courier:
        courier = Courier(
            self.store,
            self.town,
            self.town,
            [self.slot],
            self.scribe,
            lambda address, _session, _ask: (f"/sock/{address}", f"/sock/{address}"),
            self.clock,
            lambda item, name, step, text: self.told.append(
                (item.id, name, step, text)
            ),
            self._accept,
            settings=lambda name: self.settings.get(
                name, Settings(digest=self.digest_from)
            ),
            is_alive=self.town.alive,
        )
        courier.subscribe(lambda name, _item, line: self.lines.append((name, line)))
        self.scribe.sink = courier.evidence
        self.town.couriers = [courier]
        return courier

    def _accept(self, sub: Submission) -> None:
        """The postmaster's part: commit, answer, hint."""
        if self.refuses:
            sub.done(Result(sub.head.id, kept=False))
            return
        at = rfc3339(self.clock.wall()).encode()
        to, via = Name(sub.to), sub.stamp.json
        tail = b'"at":"%b","to":"%b","via":%b,"msg":%b}\n' % (
            *(at, to.encode(), via, sub.msg),
        )

        def done(mail: Mail) -> None:
            kept = mail.kept in (Kept.STORED, Kept.KNOWN)
            sub.done(Result(mail.id, kept=kept, to=to, seq=mail.seq))
            item = self.store.mailbox(to).pending.get(mail.seq)
            if item is not None and self.hints:
                self.courier.hint(to, item)

        stamp = sub.stamp
        self.store.submit(
            Mail(to, stamp.origin, sub.head, stamp.via, sub.msg, tail, done)
        )

    async def start(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self.courier.run())
        await self.rest()

    async def stop(self) -> None:
        await self.courier.stop()
        if self.task is not None:
            await self.task

    async def restart(self) -> None:
        """Kill the courier as SIGKILL would and start another from the ledger."""
        self.kill()
        self.store = replayed(self.store)
        self.scribe.watched.clear()
        self.scribe.since.clear()
        self.courier = self._hire()
        await self.start()

    def kill(self) -> None:
        """Everything in memory is gone at once; nothing is finished."""
        for task in list(self.courier._tasks):
            task.cancel()
        for tended in self.courier._names.values():
            if tended.timer is not None:
                tended.timer.cancel()
        if self.task is not None:
            self.task.cancel()
            self.task = None

    async def rest(self) -> None:
        """Until nothing is left to do at this moment."""
        loop = asyncio.get_running_loop()
        quiet = 0
        while quiet < 3:
            ready = len(loop._ready)  # type: ignore[attr-defined]
            await asyncio.sleep(0)
            quiet = quiet + 1 if ready == 0 else 0

    async def after(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)
        await self.rest()

    async def mail(
        self,
        text: str,
        sender: str = "bob",
        to: Name = ADA,
        *,
        kind: Kind = Kind.MAIL,
        ttl_s: int | None = None,
        device: str | None = None,
        message: str | None = None,
        repeat: bool = False,
    ) -> Item:
        """Store one letter and hint of it."""
        self._next += 1
        head = Msg(
            id=MessageId(message or shape(self._next)),
            from_=sender,
            to=to,
            text=text,
            kind=kind,
            ttl_s=ttl_s,
        )
        via = Via(door="control", uid=1, device=device, repeat=repeat)
        tail = b'"at":"%b","to":"%b","via":%b,"msg":%b}\n' % (
            rfc3339(self.clock.wall()).encode(),
            to.encode(),
            encode(via),
            encode(head),
        )
        done = asyncio.get_running_loop().create_future()
        self.store.submit(
            Mail(to, f"uid:{sender}", head, via, encode(head), tail, done.set_result)
        )
        kept = await done
        assert kept.kept is Kept.STORED
        item = self.store.mailbox(to).pending[kept.seq]
        if self.hints:
            self.courier.hint(to, item)
        return item

    async def mails(self, count: int, sender: str = "bob") -> list[Item]:
        """Several letters of one sender, then rest."""
        items = [await self.mail(f"{sender} {i}", sender) for i in range(count)]
        await self.rest()
        return items

    def ledger(self, name: Name = ADA) -> list[LedgerLine]:
        return self.store.ledgers.get(name, [])

    def rungs(self, item: Item, name: Name = ADA) -> list[str]:
        """Every rung the ledger has of an envelope, in order."""
        return [line.rung.value for line in self.ledger(name) if line.seq == item.seq]

    def now(self, item: Item) -> Item:
        """The item as the present store knows it."""
        return self.store.mailbox(ADA).pending[item.seq]

    def pending(self, name: Name = ADA) -> list[MessageId]:
        return [item.id for item in self.store.mailbox(name).pending.values()]


def replayed(store: MemoryStore) -> MemoryStore:
    """The store as a new process finds it: the inboxes and ledgers, read again."""
    fresh = MemoryStore()
    fresh._known = dict(store._known)
    for name, inbox in store.inboxes.items():
        _replay_inbox(fresh, name, bytes(inbox))
        box = fresh.mailbox(name)
        for line in store.ledgers.get(name, []):
            fresh.ledgers[name].append(line)
            box.apply(line)
        for item in box.pending.values():
            if item.rung is Rung.INTENT:
                box.doubt(item)
    return fresh


def _replay_inbox(fresh: MemoryStore, name: Name, inbox: bytes) -> None:
    from_lines = fresh.mailbox(name)
    fresh.inboxes[name] += inbox
    offset = 0
    for line in inbox.splitlines(keepends=True):
        envelope = decode_envelope(line)
        head = decode_msg(bytes(envelope.msg))
        from_lines.arrived(
            envelope.seq, offset, len(line), head, envelope.via, envelope.at
        )
        offset += len(line)


@contextmanager
def lost_hints(world: World) -> Iterator[None]:
    """Every notice to the courier is lost."""
    world.hints, world.town.deaf = False, True
    yield
    world.hints, world.town.deaf = True, False

"""Which processes have letters of ours, and whether they still live.

Owns the count of what a session has unproven, and the reading to the end of a
process that is gone: its mail is nobody else's before that is done.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Protocol

from homi.address import Name
from homi.clock import Clock
from homi.config import UNPROVEN_MAX
from homi.courier.pace import Process
from homi.courier.rules import CLEAR_SETTLE, Where, in_hands, process_of
from homi.envelope import MessageId, Reason, SessionRef
from homi.legs.base import Witness
from homi.sessions import Session
from homi.store.base import Store
from homi.store.mailbox import Item

log = logging.getLogger("homi.courier")

FINISH_LIMIT = 5.0  # s a transcript's last lines may take

Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Living(Protocol):
    """What the courier asks of sessions."""

    def by_ref(self, ref: SessionRef) -> Session | None:
        """The live session of that process."""
        ...


class Hands:
    """Who was given what.  A hint of the ledgers: rebuilt from them at a start."""

    def __init__(
        self,
        store: Store,
        sessions: Living,
        witness: Witness,
        alive: Callable[[int, str], bool],
        spawn: Spawn,
        ended: Callable[[Process, set[Name]], None],
        clock: Clock,
    ) -> None:
        """ended is told a dead process and whose mail it had, once it is read."""
        self._store = store
        self._sessions = sessions
        self._witness = witness
        self._alive = alive
        self._spawn = spawn
        self._ended = ended
        self._clock = clock
        self._given: dict[Process, dict[MessageId, set[Name]]] = {}
        self._listed: dict[Process, set[Name]] = {}  # whose letters it got a digest of
        self._known: dict[Process, Session] = {}  # watched, and not yet finished
        self._ending: set[Process] = set()
        self._settles: dict[Process, float] = {}
        self._order: dict[Process, dict[str, int]] = {}  # conversations, as they came
        self._unclear: dict[Process, set[MessageId]] = {}
        self.again: set[tuple[MessageId, Process]] = set()  # ignored once there

    def give(self, session: Session, name: Name, message: MessageId) -> None:
        """The session is about to have the letter, or has it."""
        process = process_of(session.ref)
        self._meet(session)
        self._given.setdefault(process, {}).setdefault(message, set()).add(name)

    def told(self, session: Session, name: Name) -> None:
        """The session has a digest of that mailbox: its end concerns the letters."""
        self._meet(session)
        self._listed.setdefault(process_of(session.ref), set()).add(name)

    def has(self, ref: SessionRef, name: Name, message: MessageId) -> bool:
        """Whether the letter is watched in that process."""
        return name in self._given.get(process_of(ref), {}).get(message, ())

    def take(self, ref: SessionRef, name: Name, message: MessageId) -> None:
        """The letter is no more that process's concern."""
        given = self._given.get(process_of(ref), {})
        names = given.get(message)
        if names is None:
            return
        names.discard(name)
        if not names:
            del given[message]
            self._unclear.get(process_of(ref), set()).discard(message)
            self._witness.forget(ref, message)
            self.again.discard((message, process_of(ref)))

    def drop(self, name: Name, message: MessageId) -> None:
        """The letter is finished, whoever had it."""
        for process, given in list(self._given.items()):
            if name in given.get(message, ()):
                self.take(SessionRef(*process), name, message)

    def session(self, ref: SessionRef) -> Session | None:
        """The live session of that process, as its record is now."""
        return self._sessions.by_ref(ref)

    def names_of(self, ref: SessionRef) -> set[Name]:
        """The mailboxes that process has letters of."""
        given = self._given.get(process_of(ref), {})
        names = {name for names in given.values() for name in names}
        return names | self._listed.get(process_of(ref), set())

    def names_for(self, ref: SessionRef, message: MessageId) -> list[Name]:
        """The mailboxes evidence about message may be for."""
        names = self._given.get(process_of(ref), {}).get(message)
        if names:
            return sorted(names)
        boxes = self._store.mailboxes()
        return [box.name for box in boxes if box.find(message) is not None]

    def room(self, session: Session) -> int:
        """How many more letters the session may have now."""
        queued, taken, failing = 0, 0, False
        for item in self._items(process_of(session.ref)):
            if item.taken:
                taken += 1
                failing = failing or item.reason is Reason.MODEL_UNAVAILABLE
            elif item.reason is not Reason.NO_PROOF:
                queued += 1
        # While its model fails the letters would only pile up in the conversation;
        # one at a time makes the request that finds out.  The same holds where all
        # stands unanswered in a conversation that nobody goes on with.
        room = 1 - queued if failing else UNPROVEN_MAX - queued - taken
        return max(room, 1) if not queued and session.status == "idle" else room

    def count(self, session: Session) -> int:
        """How many letters it has in its hands."""
        return sum(1 for _ in self._items(process_of(session.ref)))

    def changed(self, old: Session, new: Session) -> None:
        """Its record changed: tell who reads along."""
        process = process_of(new.ref)
        if process not in self._known:
            return
        self._meet(new)
        if old.session_id != new.session_id:
            self._settles[process] = self._clock.wall() + CLEAR_SETTLE
        self._witness.changed(new)
        for message in self._unclear.pop(process, ()):
            # It lives and moves: what it was sent in a stupor it has read or not.
            self._witness.offered(new, message)

    def stale(self, told: SessionRef, given: SessionRef | None) -> bool:
        """Whether told comes from a conversation the process left before given, the
        last hand-over: it is about an earlier one."""
        order = self._order.get(process_of(told), {})
        if given is None or process_of(given) != process_of(told):
            return False
        return order.get(told.id, -1) < order.get(given.id, -1)

    def wonder(self, session: Session, message: MessageId) -> None:
        """The hand-over had no end.  Silence says something from its next move on."""
        self._unclear.setdefault(process_of(session.ref), set()).add(message)

    def settles(self, ref: SessionRef | None) -> float | None:
        """Wall seconds until which its last change of conversation is fresh."""
        return None if ref is None else self._settles.get(process_of(ref))

    def where(self, ref: SessionRef | None, owner: Session | None) -> Where:
        """Where that process is; one newly gone is read to its end from here on."""
        if ref is None:
            return Where.NOBODY
        process = process_of(ref)
        if process in self._ending:
            return Where.ENDING
        if owner is not None and process_of(owner.ref) == process:
            return Where.HERE
        if self._sessions.by_ref(ref) is not None:
            return Where.ELSEWHERE
        if process in self._known:
            self.end(process)
            return Where.ENDING
        # A record may be torn or gone while the process is on its way out.
        return Where.ELSEWHERE if self._alive(*process) else Where.GONE

    def end(self, process: Process) -> None:
        """The process is gone: read what it wrote, then free its mail."""
        session = self._known.pop(process, None)
        if session is not None:
            self._ending.add(process)
            self._spawn(self._finish(process, session))

    def gone(self) -> list[Process]:
        """Processes that are watched and live no more: a notice got lost."""
        found = self._known.items()
        return [p for p, s in found if self._sessions.by_ref(s.ref) is None]

    async def _finish(self, process: Process, session: Session) -> None:
        try:
            async with asyncio.timeout(FINISH_LIMIT):
                await self._witness.finish(session)
        except TimeoutError:
            log.warning("pid=%d not read to its end in time", session.pid)
        finally:
            names = self.names_of(session.ref)
            self._given.pop(process, None)
            self._listed.pop(process, None)
            self._ending.discard(process)
            self._settles.pop(process, None)
            self._order.pop(process, None)
            self._unclear.pop(process, None)
            self.again = {pair for pair in self.again if pair[1] != process}
            self._ended(process, names)

    def _meet(self, session: Session) -> None:
        """Keep the record, and which conversation came after which."""
        process = process_of(session.ref)
        known = self._known.get(process)
        self._known[process] = session
        order = self._order.setdefault(process, {})
        if known is None or known.session_id != session.session_id:
            order[session.session_id] = max(order.values(), default=-1) + 1

    def _items(self, process: Process) -> Iterator[Item]:
        """The letters the process has in its hands."""
        for message, names in self._given.get(process, {}).items():
            for name in names:
                item = self._store.mailbox(name).find(message)
                if item is None or item.session is None or not in_hands(item):
                    continue
                if process_of(item.session) == process:
                    yield item

"""Proves what became of letters by the queue and the history of Codex threads.

Owns when a thread is looked at, what is concluded, and the taking back of what is
queued and not wanted any more.  homi-legs(7) says what is proven when.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from homi.clock import Clock
from homi.codex.server import Server, Servers
from homi.codex.thread import Entry, Failed, Row, Turn, Unreachable
from homi.codex.watch import SERVER
from homi.envelope import Kind, MessageId, Reason, SessionRef
from homi.legs.base import (
    Evidence,
    EvidenceSink,
    Ignored,
    Letter,
    NoProof,
    Receipt,
    Seen,
    Stopped,
    Taken,
    Waiting,
)
from homi.sessions import Session

log = logging.getLogger("homi.codex")

POLL = 2.0  # s between two looks while a letter is open
POLL_QUIET = 10.0  # s, when nothing happened for QUIET
QUIET = 60.0  # s
# Between the queue and the history a letter is in neither for a moment.
MISSING = 30.0  # s until it is believed
PAUSED = 1.5  # s at rest over what waits: a person stopped it, it is not just late

COMPLETED, FAILED, INTERRUPTED = "completed", "failed", "interrupted"
WHY = {FAILED: Reason.MODEL_UNAVAILABLE, INTERRUPTED: Reason.INTERRUPTED}

# The letter, its session, the answer's text, told whether it is kept.
Answer = Callable[[Letter, Session, str, Callable[[bool], None]], None]


class Case:
    """One letter in the hands of a thread."""

    __slots__ = (
        "done",
        "idle",
        "letter",
        "missing",
        "offered",
        "told",
        "turn",
    )

    def __init__(self, letter: Letter) -> None:
        """Nothing is known of it."""
        self.letter = letter
        self.offered = False
        self.turn = ""  # that holds it
        self.missing: float | None = None  # since when it was in neither place
        self.idle: float | None = None  # since when it waits in a thread at rest
        self.told: Evidence | None = None
        self.done = False  # nothing more is to be found out


class Book:
    """One thread under watch."""

    def __init__(self, session: Session, now: float) -> None:
        """No letter yet."""
        self.session = session
        self.cases: dict[MessageId, Case] = {}
        self.stir = asyncio.Event()
        self.moved = now
        self.task: asyncio.Task[None] | None = None

    @property
    def open_cases(self) -> dict[MessageId, Case]:
        """Those of which something may still be found out."""
        return {m: case for m, case in self.cases.items() if not case.done}


class ThreadWitness:
    """The Witness of Codex.  On the loop's thread."""

    def __init__(self, sink: EvidenceSink, clock: Clock, servers: Servers) -> None:
        """answer is to be set: it stores what a thread said at the end of a turn."""
        self._sink = sink
        self._clock = clock
        self._servers = servers
        self.answer: Answer = _unstored
        self._books: dict[str, Book] = {}  # by start
        self._tasks: set[asyncio.Task[None]] = set()

    # ---- what the courier asks ----

    def taken_before(self, session: Session, message: MessageId) -> bool:
        """Not known without a question: the leg looks before it adds."""
        return False

    def watch(self, session: Session, letter: Letter) -> None:
        """Report evidence of letter from now on; call before it is queued."""
        book = self._books.get(session.start)
        if book is None:
            book = Book(session, self._clock.monotonic())
            self._books[session.start] = book
        book.session = session
        book.cases[letter.msg.id] = Case(letter)

    def offered(self, session: Session, message: MessageId) -> None:
        """It was queued; from now on its absence says something."""
        book = self._books.get(session.start)
        case = None if book is None else book.cases.get(message)
        if book is None or case is None:
            return
        case.offered = True
        self._stir(book)

    def changed(self, session: Session) -> None:
        """Its status changed."""
        book = self._books.get(session.start)
        if book is not None:
            book.session = session
            self._stir(book)

    def forget(self, session: SessionRef, message: MessageId) -> None:
        """No more evidence of it is wanted; what still waits is taken back."""
        book = self._books.get(session.start)
        case = None if book is None else book.cases.pop(message, None)
        if book is None or case is None:
            return
        if not case.turn and book.session.entrypoint == SERVER:
            self._spawn(self._withdraw(book.session, message))

    async def finish(self, session: Session) -> None:
        """Nobody has the thread open any more: look a last time."""
        book = self._books.pop(session.start, None)
        if book is None:
            return
        if book.task is not None:
            book.task.cancel()
        if book.open_cases:
            await self._look(book)

    def close(self) -> None:
        """Look at nothing any more."""
        for book in self._books.values():
            if book.task is not None:
                book.task.cancel()
        for task in self._tasks:
            task.cancel()

    # ---- looking ----

    def _stir(self, book: Book) -> None:
        """Look now, and then as long as something is open."""
        book.stir.set()
        book.moved = self._clock.monotonic()
        if book.task is None or book.task.done():
            book.task = self._spawn(self._follow(book))

    async def _follow(self, book: Book) -> None:
        """Look, wait, look again."""
        while book.open_cases:
            book.stir.clear()
            await self._look(book)
            quiet = self._clock.monotonic() - book.moved > QUIET
            try:
                async with asyncio.timeout(POLL_QUIET if quiet else POLL):
                    await book.stir.wait()
            except TimeoutError:
                continue

    async def _look(self, book: Book) -> None:
        """Ask the app server, and tell what follows from it."""
        session = book.session
        if session.entrypoint != SERVER:
            for message, case in book.open_cases.items():
                if case.offered:
                    case.done = True
                    self._tell(book, case, NoProof(message))
            return
        server, cases = self._servers.of(session.config_dir), book.open_cases
        wanted = {message for message, case in cases.items() if not case.turn}
        try:
            idle = (await server.thread(session.session_id)).status.word == "idle"
            # The queue first: what leaves it meanwhile is in the history then.
            rows = await server.rows(session.session_id) if wanted else []
            entries = await self._entries(server, session.session_id, wanted)
            turns = await server.turns(session.session_id)
        except (Unreachable, Failed) as error:
            log.debug("thread=%s not looked at: %s", session.session_id, error)
            return
        queued = {row.client_user_message_id for row in rows}
        _find({m: c for m, c in cases.items() if m not in queued}, entries)
        for message, case in cases.items():
            if case.turn:
                await self._judge(book, server, message, turns)
            else:
                self._waiting(book, message, rows, idle=idle)

    async def _entries(
        self, server: Server, thread: str, wanted: set[MessageId]
    ) -> list[Entry]:
        return await server.history(thread, wanted) if wanted else []

    async def _judge(
        self, book: Book, server: Server, message: MessageId, turns: list[Turn]
    ) -> None:
        """What is proven of a letter that stands in the history."""
        case = book.cases.get(message)
        if case is None:
            return
        if not isinstance(case.told, Stopped):
            self._tell(book, case, Taken(message))
        at = next((n for n, turn in enumerate(turns) if turn.id == case.turn), None)
        if at is None:
            return
        status = turns[at].status
        if status == COMPLETED:
            await self._ended(book, server, case)
        elif status in WHY and any(turn.status == COMPLETED for turn in turns[:at]):
            # A later turn was made of a history that holds it.
            self._seen(book, case)
        elif status in WHY:
            self._tell(book, case, Stopped(message, WHY[status]))

    async def _ended(self, book: Book, server: Server, case: Case) -> None:
        """Its turn was completed: the model has read it, and of an ask, answered."""
        if case.letter.msg.kind is not Kind.ASK:
            self._seen(book, case)
            return
        try:
            said = await server.said(book.session.session_id, case.turn)
        except (Unreachable, Failed):
            return  # at the next look
        words = [one.item.text for one in said if one.item.type == "agentMessage"]
        text = words[-1] if words else ""
        if not text.strip():
            self._seen(book, case)
            return

        def kept(done: bool) -> None:
            if done and case.letter.msg.id in book.cases:
                self._seen(book, case)

        case.done = True
        self.answer(case.letter, book.session, text, kept)

    def _seen(self, book: Book, case: Case) -> None:
        case.done = True
        self._tell(book, case, Seen(case.letter.msg.id))

    def _waiting(
        self, book: Book, message: MessageId, rows: list[Row], *, idle: bool
    ) -> None:
        """What follows for a letter that no turn holds."""
        case, now = book.cases.get(message), self._clock.monotonic()
        if case is None:
            return
        if any(row.client_user_message_id == message for row in rows):
            case.missing = None
            case.idle = (case.idle or now) if idle else None
            paused = case.idle is not None and now - case.idle >= PAUSED
            queued = Receipt(message, "delivered")
            self._tell(book, case, Waiting(message) if paused else queued)
            return
        case.idle = None
        case.missing = case.missing or now
        if case.offered and now - case.missing >= MISSING:
            case.done = True
            self._tell(book, case, Ignored(message))

    # ---- telling and taking back ----

    def _tell(self, book: Book, case: Case, evidence: Evidence) -> None:
        """Say it once."""
        if case.told != evidence:
            case.told = evidence
            book.moved = self._clock.monotonic()
            self._sink(book.session.ref, evidence)

    async def _withdraw(self, session: Session, message: MessageId) -> None:
        """Take a letter that is finished out of the queue, if it is still there."""
        server = self._servers.of(session.config_dir)
        try:
            for row in await server.rows(session.session_id):
                if row.client_user_message_id == message:
                    await server.withdraw(session.session_id, row.id)
                    log.info("%s status=taken back", message)
        except (Unreachable, Failed) as error:
            log.warning("%s not taken back: %s", message, error)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._reaped)
        return task

    def _reaped(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()) is not None:
            log.error("a look at a thread failed", exc_info=bug)


def _find(cases: dict[MessageId, Case], entries: list[Entry]) -> None:
    """Note which turn holds each letter: the first, of a letter that was given twice
    the last."""
    for entry in entries:
        case = cases.get(MessageId(entry.item.client_id or ""))
        if case is not None and not case.turn and entry.item.type == "userMessage":
            case.turn = entry.turn_id


def _unstored(
    _letter: Letter, _session: Session, _text: str, told: Callable[[bool], None]
) -> None:
    """Nobody stores answers."""
    told(True)

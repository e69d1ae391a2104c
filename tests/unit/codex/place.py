"""A name bound to a thread of a stand-in app server, and what is told of it."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from homi.address import Name
from homi.claims import Body
from homi.clock import SystemClock
from homi.codex.server import Servers
from homi.codex.watch import CodexWatch
from homi.envelope import MessageId, SessionRef
from homi.legs.base import Evidence, Letter
from homi.legs.codex import CodexLeg
from homi.legs.threads import ThreadWitness
from homi.sessions import Session, Sessions
from tests.standin.codex import AppServer, Conversation
from tests.unit.legs.lines import letter
from tests.unit.names.test_names import NOW, names_at

BOB = Name("bob")


class Clock(SystemClock):
    """Goes on by itself, and further when it is told to."""

    def __init__(self) -> None:
        self.more = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.more


class Post:
    """What stands between a name and its thread.  On the loop's thread."""

    def __init__(self, root: Path, codex: AppServer, thread: Conversation) -> None:
        self.codex = codex
        self.thread = thread
        self.clock = Clock()
        self.told: list[Evidence] = []
        self.back: list[MessageId] = []
        self.ours: set[MessageId] = set()
        self.answers: list[str] = []
        self.names = names_at(root)
        self.sessions = Sessions([], self.clock)
        self.servers = Servers()
        self.watch = CodexWatch(
            self.names,
            self.sessions,
            self.servers,
            lambda _name, message: message in self.ours,
            lambda _session, message: self.back.append(message),
        )
        self.witness = ThreadWitness(self._take, self.clock, self.servers)
        self.witness.answer = self._answer
        self.leg = CodexLeg(self.servers, self.names)
        self.names.claim(BOB, None, NOW)
        self.bind()

    def bind(self, **options: object) -> None:
        """Let the name have the thread."""
        home, thread = str(self.codex.home), self.thread
        body = Body(
            client="codex", id=thread.id, home=home, cwd=thread.cwd, options=options
        )
        self.names.embody(BOB, body)

    def start(self) -> None:
        """Watch."""
        self.watch.start(asyncio.get_running_loop())

    def end(self) -> None:
        """Nothing is left."""
        self.watch.stop()
        self.witness.close()
        self.servers.close()

    @property
    def session(self) -> Session | None:
        """The thread, as it stands."""
        return self.sessions.by_ref(SessionRef(0, f"codex:{self.thread.id}"))

    async def stands(self, **fields: str) -> Session:
        """Wait until it stands so."""

        def so() -> bool:
            found = self.session
            return found is not None and all(
                getattr(found, key) == value for key, value in fields.items()
            )

        await until(so)
        assert self.session is not None
        return self.session

    async def fell(self) -> None:
        """Wait until it cannot be reached."""
        await until(lambda: self.session is None)

    async def give(self, text: str = "hello", **fields: Any) -> MessageId:  # noqa: ANN401
        """Hand a letter over as the courier does; its id."""
        sent = letter(text, **fields)
        await self.offer(sent)
        return sent.msg.id

    async def offer(self, sent: Letter) -> object:
        """The same with a letter there is; the outcome."""
        session = await self.stands()
        self.witness.watch(session, sent)
        outcome = await self.leg.offer(sent, session)
        self.witness.offered(session, sent.msg.id)
        self.ours.add(sent.msg.id)
        return outcome

    async def hears(self, evidence: Evidence) -> None:
        """Wait for that evidence."""
        await until(lambda: evidence in self.told)

    def _take(self, _session: SessionRef, evidence: Evidence) -> None:
        self.told.append(evidence)

    def _answer(
        self,
        _letter: Letter,
        _session: Session,
        text: str,
        told: Callable[[bool], None],
    ) -> None:
        self.answers.append(text)
        told(True)


async def until(holds: Callable[[], object], patience: float = 60.0) -> None:
    """Wait until it holds; the loop goes on meanwhile."""
    async with asyncio.timeout(patience):
        for _ in iter(lambda: bool(holds()), True):
            await asyncio.sleep(0.005)


def again(sent: Letter, **fields: Any) -> Letter:  # noqa: ANN401
    """The letter once more, with these fields."""
    return msgspec.structs.replace(sent, **fields)

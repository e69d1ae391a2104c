"""Which threads that names are bound to can be reached, and how each is.

Owns the look at each bound thread: at a notice of its app server, and now and then
without.  What is left of homi's in the queue of a thread that nobody has open is taken
back: it would run later, unseen.  homi-codex(1).
"""

import asyncio
import logging
from collections.abc import Callable

from msgspec.structs import replace

from homi.address import Name
from homi.bodies import session_of
from homi.claims import Body, Claim
from homi.codex.server import Server, Servers
from homi.codex.thread import CLIENT, Lost, Status, Unreachable
from homi.codex.thread import Failed as Refusal
from homi.codex.writer import takes_mail, writer
from homi.envelope import MessageId, Reason
from homi.names import Names
from homi.sessions import Session, Sessions

log = logging.getLogger("homi.codex")

POLL = 10.0  # s: a net under the notices
AGAIN_FIRST, AGAIN_MAX = 1.0, 15.0  # s between two looks for a server
SERVER, QUEUE = "app-server", "queue"  # how a thread is reached: its entrypoint

# Whether the mailbox of the name has, or had, that message.
Ours = Callable[[Name, MessageId], bool]
# A letter was taken back from that session.
Back = Callable[[Session, MessageId], None]


class CodexWatch:
    """Tells sessions of every bound thread that some client has open."""

    def __init__(
        self, names: Names, sessions: Sessions, servers: Servers, ours: Ours, back: Back
    ) -> None:
        """Subscribes to names."""
        self._names = names
        self._sessions = sessions
        self._servers = servers
        self._ours = ours
        self._back = back
        self._why: dict[Name, Reason] = {}
        self._standing: dict[Name, Session] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by home
        self._stir: dict[str, asyncio.Event] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        names.subscribe(self._changed)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch from now on."""
        self._loop = loop
        self.sweep()

    def stop(self) -> None:
        """Watch nothing more; tells nothing."""
        self._loop = None
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()

    def sweep(self) -> None:
        """Look at every bound thread again."""
        for claim in self._names.all():
            self._changed(claim.name, claim)

    def why(self, name: Name) -> Reason | None:
        """Why the thread of name cannot be reached; None: it can, or it has none."""
        return self._why.get(name)

    def _changed(self, name: Name, claim: Claim | None) -> None:
        """A claim changed or ended."""
        body = claim.body if claim is not None else None
        stood = self._standing.get(name)
        bound = body is not None and body.client == CLIENT
        if stood is not None and (body is None or body.ref != stood.ref):
            self._fall(name, None)
        if not bound:
            self._why.pop(name, None)
        elif body is not None and self._loop is not None:
            self._tend(body.home)

    def _tend(self, home: str) -> None:
        """See that somebody looks there, and now."""
        if home in self._tasks:
            self._stir[home].set()
            return
        assert self._loop is not None
        self._stir[home] = asyncio.Event()
        self._servers.of(home).subscribe(
            lambda _thread, _status: self._stir[home].set()
        )
        task = self._loop.create_task(self._look_after(home), name=f"codex {home}")
        self._tasks[home] = task
        task.add_done_callback(_ended)

    async def _look_after(self, home: str) -> None:
        """Look, wait, look again, as long as the daemon lives."""
        again, stir = AGAIN_FIRST, self._stir[home]
        while True:
            stir.clear()
            bodies = self._bodies(home)
            reached = True
            for name, body in bodies:
                reached = await self._look(name, body) and reached
            again = AGAIN_FIRST if reached else min(again * 2, AGAIN_MAX)
            delay = POLL if reached else again
            try:
                async with asyncio.timeout(delay if bodies else None):
                    await stir.wait()
            except TimeoutError:
                continue

    def _bodies(self, home: str) -> list[tuple[Name, Body]]:
        """The names bound to threads there."""
        return [
            (claim.name, claim.body)
            for claim in self._names.all()
            if claim.body and (claim.body.client, claim.body.home) == (CLIENT, home)
        ]

    async def _look(self, name: Name, body: Body) -> bool:
        """Let one thread stand or fall; whether its server answered."""
        server = self._servers.of(body.home)
        try:
            thread = await server.thread(body.id)
        except (Unreachable, Lost):
            self._beside(name, body, Reason.UNREACHABLE)
            return False
        except Refusal as error:  # a thread that is gone, say
            log.info("%s thread=%s status=not-loaded (%s)", name, body.id, error)
            self._beside(name, body, Reason.NOT_LOADED)
            return True
        if not self._still(name, body):
            return True
        if not thread.status.loaded:
            await self._take_back(name, body, server)
            self._beside(name, body, Reason.NOT_LOADED)
            return True
        self._stand(name, _session_of(name, body, thread.status, server.agent))
        return True

    def _beside(self, name: Name, body: Body, why: Reason) -> None:
        """No app server has the thread: another process may, with a server of its own
        that takes what the client keeps."""
        if not self._still(name, body):
            return
        if takes_mail(writer(body.home, body.id)):
            self._stand(name, _session_of(name, body, None, ""))
        else:
            self._fall(name, why)

    def _still(self, name: Name, body: Body) -> bool:
        """Whether the name is bound to it, after a wait."""
        claim = self._names.get(name)
        return claim is not None and claim.body is not None and claim.body == body

    def _stand(self, name: Name, session: Session) -> None:
        self._why.pop(name, None)
        if self._standing.get(name) != session:
            log.info(
                "%s thread=%s status=%s",
                name,
                session.session_id,
                session.status or "?",
            )
        self._standing[name] = session
        self._sessions.stand(session)

    def _fall(self, name: Name, why: Reason | None) -> None:
        session = self._standing.pop(name, None)
        if why is not None:
            self._why[name] = why
        if session is not None:
            log.info("%s thread=%s status=gone (%s)", name, session.session_id, why)
            self._sessions.fall(session.ref)

    async def _take_back(self, name: Name, body: Body, server: Server) -> None:
        """Whatever of ours is queued for a thread that nobody has open."""
        session = self._standing.get(name) or _session_of(name, body, None, "")
        try:
            for row in await server.rows(body.id):
                message = MessageId(row.client_user_message_id or "")
                ours = bool(message) and self._ours(name, message)
                if ours and await server.withdraw(body.id, row.id):
                    log.info("%s to=%s status=taken back", message, name)
                    self._back(session, message)
        except (Unreachable, Refusal) as error:
            log.warning("%s thread=%s not taken back: %s", name, body.id, error)


def _session_of(name: Name, body: Body, status: Status | None, agent: str) -> Session:
    """A thread as a session; status None: another process has it."""
    flags = [] if status is None else status.active_flags
    return replace(
        session_of(name, body),
        status="" if status is None else status.word,
        waiting_for=", ".join(flags),
        version=agent,
        entrypoint=QUEUE if status is None else SERVER,
    )


def _ended(task: asyncio.Task[None]) -> None:
    """A bug must not pass in silence."""
    if not task.cancelled() and (bug := task.exception()) is not None:
        log.error("%s failed", task.get_name(), exc_info=bug)

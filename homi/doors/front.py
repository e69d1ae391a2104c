"""Names in front: their sessions go by another name, so that the name stays listed.

Owns asking a session to be called NAME-live, and NAME again; what it is called is its
own record's to say, and what is listed is numbers' to decide.  homi-address(7).
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from homi.address import Name
from homi.claims import Claim
from homi.names import Names
from homi.owners import Owners
from homi.routing import fronted_by, live_name
from homi.sessions import Session, Sessions

log = logging.getLogger("homi.front")

SHOWN = 5.0  # s for a session to write the name it was given into its record
AGAIN = 0.5  # s until it is asked once more within that time
TRIES = 3  # in a FIGHT: a session that wants its name back gets it then
FIGHT = 60.0  # s
STOP = 1.0  # s for a request in flight to end

Rename = Callable[[Session, str], Awaitable[bool]]
Process = tuple[int, str]


class Front:
    """Every name in front, and the sessions that are asked to stand behind."""

    def __init__(
        self,
        names: Names,
        owners: Owners,
        sessions: Sessions,
        rename: Rename,
        *,
        shown: float = SHOWN,
    ) -> None:
        """Build it after owners, which it asks; nobody is asked before start()."""
        self._names = names
        self._owners = owners
        self._sessions = sessions
        self._rename = rename
        self._shown = shown
        self._fronted: set[Name] = set()
        self._asked: dict[Process, deque[float]] = {}
        self._news: dict[Process, asyncio.Event] = {}  # of those that are being asked
        self._wanted: set[Name] = set()  # names on their way to a session
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.notes: dict[str, str] = {}  # why a name is not listed all the same
        names.subscribe(self._on_name)
        sessions.subscribe(self._on_session)

    def start(self) -> None:
        """Ask those who must be asked, from now on."""
        self._loop = asyncio.get_running_loop()
        self._fronted = {claim.name for claim in self._names.all() if claim.front}
        self.sweep()

    async def stop(self) -> None:
        """Ask nobody more; sessions keep the names they have."""
        self._loop = None
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=STOP)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def sweep(self) -> None:
        """Look at every name in front again."""
        for name in sorted(self._fronted):
            self._look(name)

    def _on_name(self, name: Name, claim: Claim | None) -> None:
        """A claim was made, changed or ended."""
        if self._loop is None:
            return
        if claim is not None and claim.front:
            self._fronted.add(name)
            self._look(name)
        elif name in self._fronted:
            self._fronted.discard(name)
            self.notes.pop(name, None)
            self._give_back(name)

    def _on_session(self, old: Session | None, new: Session | None) -> None:
        """A session came, changed or ended."""
        either = new or old
        if self._loop is None or either is None:
            return
        process = (either.pid, either.start)
        if (news := self._news.get(process)) is not None:
            news.set()
        if new is None:
            self._asked.pop(process, None)
        for name in {each.address for each in (old, new) if each is not None}:
            if name in self._fronted:
                self._look(name)

    def _look(self, name: Name) -> None:
        """Ask every session that still goes by the name itself."""
        bare = self._owners.bare(name)
        if not bare:
            self.notes.pop(name, None)
        for session in bare:
            self._ask(session, name, self._free(name))

    def _give_back(self, name: Name) -> None:
        """The name is in front no more: its first session is called so again."""
        behind = [
            session
            for session in self._sessions.live.values()
            if session.address is not None
            and session.can_own
            and fronted_by(session.address) == name
            and self._names.get(session.address) is None
        ]
        if behind and not self._sessions.by_address(name):
            first = min(behind, key=lambda session: (session.since, session.pid))
            self._ask(first, name, name)

    def _free(self, name: Name) -> Name:
        """The first name for a session behind it that none has or is given now."""
        number = 1
        while True:
            wanted = live_name(name, number)
            if wanted not in self._wanted and not self._sessions.by_address(wanted):
                return wanted
            number += 1

    def _ask(self, session: Session, name: Name, wanted: Name) -> None:
        """Ask once, unless it is being asked, or was too often of late."""
        process = (session.pid, session.start)
        if self._loop is None or process in self._news:
            return
        now = self._loop.time()
        asked = self._asked.setdefault(process, deque())
        while asked and now - asked[0] >= FIGHT:
            asked.popleft()
        if wanted != name and len(asked) >= TRIES:
            self._aside(
                session, name, f"keeps the name, asked {TRIES} times in a minute"
            )
            return
        asked.append(now)
        self._news[process] = asyncio.Event()
        self._wanted.add(wanted)
        task = self._loop.create_task(
            self._asking(session, name, wanted), name=f"front {name}"
        )
        self._tasks.add(task)
        task.add_done_callback(self._reaped)

    async def _asking(self, session: Session, name: Name, wanted: Name) -> None:
        """Ask, and ask again, until its record shows another name."""
        process = (session.pid, session.start)
        news = self._news[process]
        try:
            async with asyncio.timeout(self._shown):
                while self._called(session) == session.address:
                    news.clear()
                    await self._rename(session, wanted)
                    # A session that just began passes a request over in silence.
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(news.wait(), AGAIN)
        except TimeoutError:
            log.debug("%s: no news of pid=%d", name, session.pid)
        finally:
            del self._news[process]
            self._wanted.discard(wanted)
        called = self._called(session)
        if called == session.address:
            self._aside(session, name, f"did not take the name {wanted}")
        elif called is not None:
            log.info("%s: pid=%d is called %s", name, session.pid, called)

    def _called(self, session: Session) -> Name | None:
        """What the process is called now; None where it is gone, or nothing."""
        now = self._sessions.by_ref(session.ref)
        return None if now is None else now.address

    def _aside(self, session: Session, name: Name, why: str) -> None:
        """Say that homi is not in front of the name, and why."""
        note = f"not in front: session {session.pid} {why}"
        if name in self._fronted and self.notes.get(name) != note:
            self.notes[name] = note
            log.warning("%s %s", name, note)

    def _reaped(self, task: asyncio.Task[None]) -> None:
        """One request less; a bug in it is told."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed", task.get_name(), exc_info=error)

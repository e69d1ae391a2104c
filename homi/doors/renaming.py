"""Running sessions that are asked to go by another name.

Owns the asking; what one is called is its own record's to say, and only that counts.
homi-spawn(1).
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from homi.address import Name
from homi.legs.claude import rename
from homi.sessions import Session, Sessions

log = logging.getLogger("homi.names")

SHOWN = 5.0  # s for a session to write the name it was given into its record
AGAIN = 0.5  # s until it is asked once more: one that just began heeds nothing

Rename = Callable[[Session, str], Awaitable[bool]]


class Renaming:
    """Every session that is being asked.  On the loop's thread."""

    def __init__(
        self, sessions: Sessions, ask: Rename = rename, *, shown: float = SHOWN
    ) -> None:
        """Subscribes to sessions."""
        self._sessions = sessions
        self._ask = ask
        self._shown = shown
        self._news: dict[tuple[int, str], asyncio.Event] = {}  # of those asked
        self._tasks: set[asyncio.Task[None]] = set()
        sessions.subscribe(self._session)

    def change(
        self,
        session: Session,
        name: Name,
        told: Callable[[Session | None], None] = lambda _session: None,
    ) -> None:
        """Ask that very process to go by name; told what it is then, None: it ended."""
        task = asyncio.get_running_loop().create_task(
            self._change(session, name, told), name=f"rename {session.pid}"
        )
        self._tasks.add(task)
        task.add_done_callback(self._reaped)

    async def _change(
        self, session: Session, name: Name, told: Callable[[Session | None], None]
    ) -> None:
        """Ask, and ask again, until its record says so or the time is over."""
        news = self._news.setdefault((session.pid, session.start), asyncio.Event())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._shown):
                while (now := self._sessions.by_ref(session.ref)) is not None:
                    if now.address == name:
                        break
                    news.clear()
                    await self._ask(now, name)
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(AGAIN):
                            await news.wait()
        self._news.pop((session.pid, session.start), None)
        found = self._sessions.by_ref(session.ref)
        log.info("pid=%d is called %s", session.pid, found and found.address)
        told(found)

    def _session(self, old: Session | None, new: Session | None) -> None:
        """A session changed: who waits for that one looks again."""
        either = new or old
        assert either is not None
        if (news := self._news.get((either.pid, either.start))) is not None:
            news.set()

    def _reaped(self, task: asyncio.Task[None]) -> None:
        """One request less; a bug in it is told."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed", task.get_name(), exc_info=error)

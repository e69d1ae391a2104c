"""Control frames at our sockets: the clients' own word on letters given to them.

Owns which frames are evidence and whose; what follows from it is the courier's.
homi-legs(7) has the statuses.
"""

import asyncio
import logging
from collections.abc import Callable

from homi.envelope import MessageId, SessionRef
from homi.legs.base import Receipt
from homi.peers.frame import Control
from homi.peers.process import start_time
from homi.sessions import Session, Sessions

log = logging.getLogger("homi.peer")

# s: a session that ends takes its record away before its last receipts are read.
REMEMBERED = 10.0


class Receipts:
    """Turns status frames of live sessions into evidence."""

    def __init__(
        self, sessions: Sessions, tell: Callable[[SessionRef, Receipt], None]
    ) -> None:
        """tell gets each receipt with the session that wrote it."""
        self._sessions = sessions
        self._tell = tell
        self._ended: dict[int, Session] = {}
        sessions.subscribe(self._changed)

    def take(self, frame: Control, pid: int) -> None:
        """Report what the frame proves; anything else is passed over."""
        about = frame.about
        if not about:
            log.debug("peer pid=%d control %s passed over", pid, frame.action[:40])
            return
        session = self._sessions.by_pid(pid) or self._just_ended(pid)
        if session is None:
            log.warning("peer pid=%d receipt of no session passed over", pid)
            return
        for message in about:
            receipt = Receipt(
                id=MessageId(message),
                status=frame.status,
                drop_reason=frame.drop_reason,
            )
            self._tell(session.ref, receipt)

    def _just_ended(self, pid: int) -> Session | None:
        """The session that was this process until a moment ago."""
        session = self._ended.get(pid)
        if session is None or start_time(pid) not in (None, session.start):
            return None
        return session

    def _changed(self, old: Session | None, new: Session | None) -> None:
        """Remember for a while who ended."""
        if old is not None and new is None:
            self._ended[old.pid] = old
            loop = asyncio.get_running_loop()
            loop.call_later(REMEMBERED, self._forget, old)

    def _forget(self, session: Session) -> None:
        if self._ended.get(session.pid) is session:
            del self._ended[session.pid]

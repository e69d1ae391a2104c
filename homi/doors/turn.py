"""The way of a peer's line to the store: at once, or in turn while it is stuck.

Owns the last look before a commit begins: a sender that has given up is not
stored, one that waited too long is refused.  homi-protocol(7) has the rules.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from homi.config import PEER_SETTLE
from homi.doors.look import Connection
from homi.postmaster import Result, Submission

log = logging.getLogger("homi.peer")

STALL = 0.5  # s without an answer: what comes now waits here, where it can be refused


class Turn:
    """Submissions that are with the postmaster, and those that wait for it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        accept: Callable[[Submission], None],
        *,
        stall: float = STALL,
        patience: float = PEER_SETTLE,
    ) -> None:
        """accept answers each submission through its done, which must be done()."""
        self._loop = loop
        self._accept = accept
        self._stall = stall
        self._patience = patience
        self._flying = 0
        self._progress = 0.0  # when the postmaster last answered, or began to work
        self._waiting: deque[tuple[float, Connection, Submission]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._ended = False
        self._idle: asyncio.Future[None] | None = None

    def take(self, connection: Connection, submission: Submission) -> None:
        """Submit the connection's line, or let it wait until the store moves."""
        now = self._loop.time()
        if self._ended:
            self._refuse(connection, submission, "stopping")
        elif self._flying and (self._waiting or now - self._progress > self._stall):
            self._waiting.append((now, connection, submission))
            self._watch()
        else:
            self._begin(connection, submission, now)

    def done(self, connection: Connection, result: Result) -> None:
        """The postmaster's answer: let the sender know, then serve who waits."""
        self._flying -= 1
        self._progress = self._loop.time()
        if result.kept:
            connection.settle()
        else:
            connection.refuse()
        while self._waiting and not self._ended:
            since, waiting, submission = self._waiting.popleft()
            self._begin(waiting, submission, since)
        if not self._flying and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def finish(self, seconds: float, *, refuse: bool = True) -> None:
        """Begin nothing any more; wait this long for what is with the postmaster.
        refuse: who waits is told; else another homi goes on with them."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        while refuse and self._waiting:
            _since, connection, submission = self._waiting.popleft()
            self._refuse(connection, submission, "stopping")
        if not self._flying:
            return
        self._idle = self._loop.create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._idle
        except TimeoutError:
            log.warning("peer %d lines not answered by the store", self._flying)

    def _begin(
        self, connection: Connection, submission: Submission, since: float
    ) -> None:
        """Submit, unless the sender has its verdict already or soon will."""
        if connection.closed:
            return
        if connection.hung_up():
            log.warning("%s status=refused (its sender gave up)", submission.head.id)
            connection.close()
            return
        now = self._loop.time()
        if now - since >= self._patience:
            self._refuse(connection, submission, "waited too long")
            return
        if not self._flying:
            self._progress = now
        self._flying += 1
        self._accept(submission)

    def _refuse(self, connection: Connection, submission: Submission, why: str) -> None:
        """Tell the sender that it failed."""
        if not connection.closed:
            log.warning("%s status=refused (%s)", submission.head.id, why)
            connection.refuse()

    def _watch(self) -> None:
        """See to it that who waits is refused in time, the store moving or not."""
        if self._timer is None:
            due = self._waiting[0][0] + self._patience
            self._timer = self._loop.call_at(due, self._expire)

    def _expire(self) -> None:
        """Refuse who waited too long; look again when the next one has."""
        self._timer = None
        now = self._loop.time()
        while self._waiting and now - self._waiting[0][0] >= self._patience:
            _since, connection, submission = self._waiting.popleft()
            self._refuse(connection, submission, "waited too long")
        if self._waiting:
            self._watch()

"""Programs that another took the place of: each ended once it has nothing to do.

Owns when one is ended, by which means, and that it is done over a crash; which those
are is in spawns.json.  homi-spawn(1).
"""

import asyncio
import logging
from functools import partial

from homi.errors import HomiError
from homi.peers import process
from homi.pidwatch import PidWatch
from homi.sessions import Session, Sessions
from homi.spawn.beside import Beside
from homi.spawn.programs import Means, Programs
from homi.spawn.state import Run, Spawns

log = logging.getLogger("homi.spawn")

GRACE = 5.0  # s for a program to end, before the next means
_FREE = ("idle", "")  # a client without a record tells no status


class Endings:
    """What is to be ended.  On the loop's thread."""

    def __init__(
        self, spawns: Spawns, sessions: Sessions, programs: Programs, beside: Beside
    ) -> None:
        """Subscribes to sessions; nothing is ended before start()."""
        self._spawns = spawns
        self._sessions = sessions
        self._programs = programs
        self._beside = beside
        self._pids = PidWatch(self._gone)
        self._under_way: set[int] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        sessions.subscribe(self._session)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on from what the file says."""
        self._loop = loop
        self._pids.attach(loop)
        self.sweep()

    def stop(self) -> None:
        """End nothing more."""
        self._loop = None
        self._pids.detach()

    def sweep(self) -> None:
        """End whoever has nothing to do, and forget who is gone."""
        for run in self._spawns.retired:
            session = session_of(self._sessions, run)
            if not process.alive(run.pid, run.start):
                self._gone(run.pid)
            elif run.now or session is None or session.status in _FREE:
                self.end(run)

    def end(self, run: Run) -> None:
        """Have one end now."""
        if self._loop is None or run.pid in self._under_way:
            return
        if not self._pids.watch(run.pid, run.start):
            self._gone(run.pid)
            return
        self._under_way.add(run.pid)
        log.info("pid=%d status=ending", run.pid)
        self._by(run, *Means)

    def _by(self, run: Run, means: Means, *harder: Means) -> None:
        """Try that, unless it is gone meanwhile."""
        if self._loop is not None and run.pid in self._under_way:
            work = partial(self._programs.end, run, means)
            self._beside(work, partial(self._done, run, harder))

    def _done(
        self, run: Run, harder: tuple[Means, ...], what: HomiError | None
    ) -> None:
        """It was told to; the sweep tries again where that failed."""
        if isinstance(what, HomiError):
            self._under_way.discard(run.pid)
            log.warning("not ended: %s", what.text)
        elif harder and self._loop is not None:
            self._loop.call_later(GRACE, partial(self._by, run, *harder))

    def _gone(self, pid: int) -> None:
        """It need not be ended any more."""
        self._under_way.discard(pid)
        self._spawns.ended(pid)

    def _session(self, old: Session | None, new: Session | None) -> None:
        """One of them may have come to rest."""
        if self._loop is not None and self._spawns.retired:
            self.sweep()


def same(one: Session, other: Session) -> bool:
    """Whether both are that very process."""
    return (one.pid, one.start) == (other.pid, other.start)


def session_of(sessions: Sessions, run: Run) -> Session | None:
    """The live session that a program is; None: there is none."""
    every = [*sessions.live.values(), *sessions.bodies()]
    return next((session for session in every if is_of(session, run)), None)


def is_of(session: Session, run: Run) -> bool:
    """Whether the session is that program, or one that it wraps."""
    if not session.listed:
        return bool(run.seat) and session.session_id == run.seat
    if not run.pid or not session.can_own or not process.alive(run.pid, run.start):
        return False
    return session.pid == run.pid or run.pid in process.ancestors(session.pid)

"""Proves what became of letters by the transcripts that sessions keep.

Owns when a transcript is looked at, who is told, and what was learnt of each kind
of session.  Reading is legs.reading's, judging legs.verdict's.  homi-legs(7) says
what is proven when.
"""

import asyncio
import logging
import os
from collections.abc import Callable

from homi.clock import Clock
from homi.envelope import MessageId, Rung, SessionRef
from homi.legs.base import EvidenceSink, Letter
from homi.legs.notices import Notices
from homi.legs.reading import Reading, taken_before
from homi.legs.verdict import Case, Doubt, Maker
from homi.peers.frame import address_of
from homi.peers.process import start_time
from homi.sessions import Session

RECORD_SETTLE = 0.15  # s: a record changes up to 0.1 before its lines are on disk
# A net under the notices, only while time can change a conclusion.
NET = 1.0  # s
NET_QUIET = 10.0  # s, without a sign of life for QUIET
QUIET = 60.0  # s
LEARNT_MAX = 1024  # transcripts remembered, the oldest forgotten first
LAST_LINES = 0.2  # s after a death: what it wrote is in the page cache by then

Process = tuple[int, str]

_log = logging.getLogger(__name__)


class _Watch:
    """A process under watch: what is read of it, and what wakes the reading."""

    def __init__(self, reading: Reading, look: Callable[["_Watch"], None]) -> None:
        self.reading = reading
        self.ended = False
        self.folders: set[str] = set()
        self._look = look
        self._timer: asyncio.TimerHandle | None = None
        self._at = 0.0  # when the timer is due, by the loop's clock

    def soon(self, delay: float) -> None:
        """Look in delay seconds, or earlier where that is due already."""
        loop = asyncio.get_running_loop()
        due = loop.time() + delay
        if self._timer is not None:
            if self._at <= due:
                return
            self._timer.cancel()
        # Kept here: what uvloop gives for a call due at once has no when().
        self._at = due
        self._timer = loop.call_later(delay, self._due)

    def hint(self, name: str) -> None:
        """Something of that name moved in one of the folders."""
        if self.reading.concerns(name):
            self.soon(0.0)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._look(self)


class ClaudeWitness:
    """The Witness of Claude Code.  On the loop's thread."""

    def __init__(
        self, sink: EvidenceSink, clock: Clock, ours: Maker | None = None
    ) -> None:
        """ours: whether a process is, or was, the daemon that made an offer; it
        matters because any process of the user can write a frame with our id."""
        self._sink = sink
        self._clock = clock
        self._ours = ours or _this_daemon()
        self._notices = Notices()
        self._open: dict[Process, _Watch] = {}
        self._learnt: dict[tuple[str, str], Doubt | None] = {}  # None: proves
        self._searched: tuple[Process, MessageId] | None = None

    def taken_before(self, session: Session, message: MessageId) -> bool:
        """Whether the session's conversation holds the id already (offer not)."""
        found = taken_before(session, message, self._ours)
        self._searched = None if found else (_process(session.ref), message)
        return found

    def watch(self, session: Session, letter: Letter) -> None:
        """Report evidence of letter from now on; call before the bytes go out."""
        now = self._clock.monotonic()
        process = _process(session.ref)
        watch = self._open.get(process)
        if watch is None:
            watch = _Watch(Reading(session, self._ours, now), self._look)
            self._open[process] = watch
        watch.reading.update(session, now)
        socket = letter.line_socket or letter.reply_socket
        address = address_of(socket) if socket else ""
        case = Case(letter.msg.id, address, self._ours, now, pulled=letter.pulled)
        # A repeat may be taken in between the search and now.
        searched = not letter.repeat and self._searched == (process, letter.msg.id)
        self._searched = None
        watch.reading.add(case, searched=searched)
        # Not here: the caller is not ready for evidence before it has offered.
        watch.soon(0.0)

    def offered(self, session: Session, message: MessageId) -> None:
        """The hand-over ended cleanly; the conclusions about silence may start."""
        watch = self._open.get(_process(session.ref))
        case = None if watch is None else watch.reading.cases.get(message)
        if watch is None or case is None:
            return
        case.offered = watch.reading.stirred = self._clock.monotonic()
        watch.soon(NET)

    def changed(self, session: Session) -> None:
        """Its record changed: status, conversation id, folder."""
        watch = self._open.get(_process(session.ref))
        if watch is not None:
            watch.reading.update(session, self._clock.monotonic())
            watch.soon(RECORD_SETTLE)

    def forget(self, session: SessionRef, message: MessageId) -> None:
        """No more evidence of it is wanted from that session."""
        watch = self._open.get(_process(session))
        if watch is None:
            return
        watch.reading.drop(message)
        if not watch.reading.cases and not watch.ended:
            self._close(watch)

    async def finish(self, session: Session) -> None:
        """The process is gone: read to the end, report, watch it no more."""
        watch = self._open.get(_process(session.ref))
        if watch is None:
            return
        watch.ended = True
        try:
            await asyncio.sleep(LAST_LINES)
            while watch.reading.read():
                self._tell(watch)
                await asyncio.sleep(0)
            self._tell(watch)
        finally:
            self._close(watch)
            self._learnt.pop(_kind(session), None)

    def close(self) -> None:
        """Look at nothing any more."""
        for watch in list(self._open.values()):
            self._close(watch)
        self._notices.close()

    def proofs(self, session: Session) -> frozenset[Rung]:
        """What can be proven of letters to session, as far as it was learnt."""
        if self.doubt(session) is None:
            return frozenset({Rung.OFFERED, Rung.SEEN})
        return frozenset({Rung.OFFERED})

    def doubt(self, session: Session) -> Doubt | None:
        """Why its transcript proves nothing; None: it does, or nobody knows yet."""
        return self._learnt.get(_kind(session))

    def _look(self, watch: _Watch) -> None:
        """Read what is new, conclude, tell, and see to the next look."""
        reading = watch.reading
        more = reading.read()
        if not more and not watch.ended:
            matched = self._matched(reading)
            reading.conclude(self._clock.monotonic(), matched=matched)
        self._tell(watch)
        if self._open.get(_process(reading.session.ref)) is not watch:
            return
        self._place(watch)
        if more:
            watch.soon(0.0)
        elif reading.waits:
            quiet = self._clock.monotonic() - reading.stirred >= QUIET
            watch.soon(NET_QUIET if quiet else NET)

    def _matched(self, reading: Reading) -> bool:
        """Whether letters were found by id before, in this conversation or in one that
        is still read: a /clear leaves one without a line, and drops what was on its
        way to the one before."""
        if self.doubt(reading.session) is not None:
            return False
        version = reading.session.version
        known = (self._learnt.get((version, c), Doubt.FORMAT) for c in reading.read_in)
        return any(doubt is None for doubt in known)

    def _tell(self, watch: _Watch) -> None:
        """Hand on what was found, of letters somebody still asks about."""
        reading = watch.reading
        found, reading.found = reading.found, []
        if found or reading.doubt is not None:
            self._learn(reading)
        for each in found:
            if each.evidence.id in reading.cases:
                self._sink(each.session, each.evidence)

    def _learn(self, reading: Reading) -> None:
        """Keep what the session's transcript was found to be; say a doubt once."""
        kind = _kind(reading.session)
        while len(self._learnt) >= LEARNT_MAX:
            del self._learnt[next(iter(self._learnt))]
        if reading.doubt is None:
            if reading.matched:
                self._learnt[kind] = None
        elif self._learnt.get(kind) is None:
            self._learnt[kind] = reading.doubt
            _log.warning(
                "pid=%d version=%s seen cannot be proven (%s)",
                reading.session.pid,
                reading.session.version,
                reading.doubt,
            )

    def _place(self, watch: _Watch) -> None:
        """Take notices of the folders its files are in by now."""
        folders = watch.reading.folders()
        for folder in watch.folders - folders:
            self._notices.unwatch(folder, watch.hint)
            watch.folders.discard(folder)
        fresh = False
        for folder in folders - watch.folders:
            if self._notices.watch(folder, watch.hint):
                watch.folders.add(folder)
                fresh = True
        if fresh:
            # What moved before the notice was placed told nobody.
            watch.soon(0.0)

    def _close(self, watch: _Watch) -> None:
        """Watch that process no more."""
        watch.stop()
        for folder in watch.folders:
            self._notices.unwatch(folder, watch.hint)
        watch.folders.clear()
        self._open.pop(_process(watch.reading.session.ref), None)


def _process(ref: SessionRef) -> Process:
    """The identity that /clear does not change."""
    return ref.pid, ref.start


def _kind(session: Session) -> tuple[str, str]:
    """What is learnt of a transcript holds for one version and one conversation."""
    return session.version, session.session_id


def _this_daemon() -> Maker:
    """Whether a process is this one, or one that is gone: an earlier daemon, for all
    that can be known.  Another that lives wrote a frame with an id of ours."""
    own = (os.getpid(), start_time(os.getpid()))

    def ours(pid: int, start: str) -> bool:
        if pid == own[0]:
            return not start or start == own[1]
        now = start_time(pid)
        return now is None or bool(start and now != start)

    return ours

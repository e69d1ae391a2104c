"""Who lives: the agent sessions of this device, and notices of their changes.

Owns the judgement that a record stands for a live process.  Events are hints: a
lost one is made good by rescan().  homi-legs(7) has the record's format.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from homi.address import RESERVED, Name, fold
from homi.clock import Clock
from homi.envelope import CLAUDE, Reason, SessionRef
from homi.folders import FolderWatch
from homi.peers import process, registry
from homi.peers.registry import Record, Torn
from homi.peers.sockets import stands_for_a_name
from homi.pidwatch import PidWatch

TORN_AGAIN = 0.005  # s: a record is rewritten in place in less
TORN_TRIES = 5  # then its writer's next event or the sweep has it read again
PID_MAX = 1 << 22  # no system gives a higher one: such a record is some planter's
# Kinds of process that take no turns of their own.
_SERVANTS = frozenset({"daemon", "daemon-worker", "spare"})


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A live agent process, as its own record describes it."""

    pid: int
    start: str  # field 22 of /proc/<pid>/stat, or the system's own text
    session_id: str = ""  # the conversation: /clear changes it, pid and start stay
    name: str = ""  # as the session writes it
    address: Name | None = None  # the name folded; None: nothing left, or reserved
    cwd: str = ""
    socket: str = ""  # empty: it has none, nothing can be handed to it
    status: str = ""  # idle | busy | waiting | ""
    waiting_for: str = ""
    version: str = ""
    entrypoint: str = ""
    kind: str = ""
    config_dir: str = ""  # the folder that holds sessions/ and projects/
    since: int = 0  # ms since the epoch, its own clock: when it took its name
    status_at: int = 0  # the same: since when its status is that
    hidden: bool = False  # spare or parked: its own client does not list it
    client: str = CLAUDE  # whose session it is; another's is told by stand()
    shut: Reason | None = None  # why nothing may be given to it now

    @property
    def ref(self) -> SessionRef:
        """The identity a ledger line keeps."""
        return SessionRef(self.pid, self.start, self.session_id)

    @property
    def can_own(self) -> bool:
        """Whether a name can belong to it: it can be written to and takes turns."""
        reachable = bool(self.socket) or not self.listed
        return reachable and not self.hidden and self.kind not in _SERVANTS

    @property
    def listed(self) -> bool:
        """Whether it has a record of its own, so that others find it by its name."""
        return self.client == CLAUDE


Subscriber = Callable[[Session | None, Session | None], None]


class Sessions:
    """The live sessions of every watched registry.  All calls on the loop's thread."""

    def __init__(
        self, config_dirs: list[Path], clock: Clock, *, notices: bool = True
    ) -> None:
        """Nothing is read before attach() or rescan().  notices False polls, as
        systems do that have no inotify and no pidfd."""
        self.live: dict[int, Session] = {}
        # In order of appearance; the place of one config folder named twice is one.
        self._configs = list(dict.fromkeys(os.path.realpath(d) for d in config_dirs))
        self._clock = clock
        self._domain = process.pid_domain()
        self._addresses: dict[Name, dict[int, None]] = {}
        self._bodies: dict[str, Session] = {}  # by start: those without a record
        # Processes that work for one of those: pid to their start and that one's.
        self.workers: dict[int, tuple[str, str]] = {}
        self._subscribers: list[Subscriber] = []
        self._events: deque[tuple[Session | None, Session | None]] = deque()
        self._telling = False
        self._torn: dict[tuple[str, int], int] = {}
        self._timers: dict[tuple[str, int], asyncio.TimerHandle] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        folders = [_folder(config) for config in self._configs]
        self._folders = FolderWatch(folders, self._changed, notices=notices)
        self._pids = PidWatch(self._gone, pidfds=notices)

    def by_pid(self, pid: int) -> Session | None:
        """The live session that is this process."""
        return self.live.get(pid)

    def by_ref(self, ref: SessionRef) -> Session | None:
        """The live session of that pid and start time, whatever its conversation."""
        if not ref.pid:
            return self._bodies.get(ref.start)
        found = self.live.get(ref.pid)
        return found if found is not None and found.start == ref.start else None

    def worked_for(self, pid: int) -> Session | None:
        """The session without a record that this very process works for."""
        start, body = self.workers.get(pid, ("", ""))
        return self._bodies.get(body) if body and process.alive(pid, start) else None

    def by_address(self, name: Name) -> list[Session]:
        """The live sessions of that folded name, the one that had it first first."""
        return [self.live[pid] for pid in self._addresses.get(name, ())]

    def stand(self, body: Session) -> None:
        """A session without a record (pid 0) lives, or is as told now."""
        old = self._bodies.get(body.start)
        if old != body:
            self._bodies[body.start] = body
            self._events.append((old, body))
            self._tell()

    def fall(self, ref: SessionRef) -> None:
        """One that stand() told of can be reached no more."""
        if (old := self._bodies.pop(ref.start, None)) is not None:
            self._events.append((old, None))
            self._tell()

    def bodies(self) -> list[Session]:
        """Every live session without a record."""
        return list(self._bodies.values())

    def subscribe(self, callback: Subscriber) -> None:
        """Call back with (None, new), (old, new) or (old, None), in order."""
        self._subscribers.append(callback)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch from now on, and read what is there: it is told as having appeared."""
        self._loop = loop
        self._pids.attach(loop)
        self._folders.attach(loop)
        for session in list(self.live.values()):
            if not self._pids.watch(session.pid, session.start):
                self._settle(session, None)
        self.rescan()

    def detach(self) -> None:
        """Watch no more; tells nothing.  attach() may follow."""
        self._folders.detach()
        self._pids.detach()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._torn.clear()
        self._loop = None

    def rescan(self) -> None:
        """Read everything again, for a notice that got lost."""
        self._folders.verify()
        self._scan(self._configs)

    def _changed(self, folder: str, names: list[str] | None) -> None:
        """A folder's notice: some files changed, or anything may have (None)."""
        config = os.path.dirname(folder)
        if names is None:
            self._scan([config])
            return
        for name in names:
            number = registry.record_number(name)
            if number is not None and number <= PID_MAX:
                self._read(config, number)

    def _scan(self, configs: list[str]) -> None:
        """Read every record of these folders: ends first, then by age of the name."""
        found = [
            (config, number, record)
            for config in configs
            for number, record in registry.read_records(
                _folder(config), PID_MAX
            ).items()
        ]
        there = {(config, number) for config, number, _ in found}
        for session in list(self.live.values()):
            here = (session.config_dir, session.pid)
            removed = session.config_dir in configs and here not in there
            if removed or not process.alive(session.pid, session.start):
                self._settle(session, None)
        for config, number, record in sorted(found, key=_age):
            self._take(config, number, record)

    def _read(self, config: str, number: int) -> None:
        """Look at one record now."""
        self._take(config, number, registry.read_record(_folder(config), number))

    def _take(self, config: str, number: int, record: Record | Torn | None) -> None:
        """Let one record, as it was read, have its effect."""
        if isinstance(record, Torn):
            self._read_again(config, number)
            return
        self._torn.pop((config, number), None)
        old = self.live.get(number)
        if old is not None and old.config_dir != config:
            # A stale record of that number elsewhere; the first one stands for it.
            return
        start = None if record is None else self._start(number, record, old)
        if record is None or start is None:
            self._settle(old, None)
            return
        if old is not None and old.start != start:
            self._settle(old, None)
            old = None
        if old is None and not self._pids.watch(number, start):
            return
        self._settle(old, self._session(config, start, record, number, old))

    def _start(self, pid: int, record: Record, old: Session | None) -> str | None:
        """The start time of the live process the record speaks of; None: no session.

        Of a foreign pid domain the pid means nothing here; without one it counts.
        """
        if record.pid_domain is not None and record.pid_domain != self._domain:
            return None
        if old is not None and record.proc_start in (None, old.start):
            return old.start  # its end is told by the pid watch
        start = process.start_time(pid)
        return start if record.proc_start in (None, start) else None

    def _session(
        self, config: str, start: str, record: Record, pid: int, old: Session | None
    ) -> Session:
        """The record as the rest of homi sees it."""
        since = record.name_since or record.started_at
        if not since:
            since = int(self._clock.wall() * 1000) if old is None else old.since
        return Session(
            pid=pid,
            start=start,
            session_id=record.session_id,
            name=record.name,
            address=_address(record.name),
            cwd=record.cwd,
            # Mail for it would come in at a door of ours again, for ever.
            socket="" if stands_for_a_name(record.socket) else record.socket,
            status=record.status,
            waiting_for=record.waiting_for,
            version=record.version,
            entrypoint=record.entrypoint,
            kind=record.kind,
            config_dir=config,
            since=since,
            status_at=record.status_at,
            hidden=record.hidden,
        )

    def _gone(self, pid: int) -> None:
        """The process ended; its record may stay, and means nothing any more."""
        if (old := self.live.get(pid)) is not None:
            self._settle(old, None)

    def _read_again(self, config: str, number: int) -> None:
        """Read a torn record once more in a moment, a few times at most."""
        key = (config, number)
        tries = self._torn.get(key, 0)
        if self._loop is None or key in self._timers:
            return
        if tries >= TORN_TRIES:
            del self._torn[key]
            return
        self._torn[key] = tries + 1
        self._timers[key] = self._loop.call_later(TORN_AGAIN, self._retry, *key)

    def _retry(self, config: str, number: int) -> None:
        """The moment is over."""
        self._timers.pop((config, number), None)
        self._read(config, number)

    def _settle(self, old: Session | None, new: Session | None) -> None:
        """Let new stand for old, and tell it when that is a change."""
        if old == new:
            return
        if old is not None and (new is None or new.address != old.address):
            self._unlist(old)
        if new is None:
            assert old is not None
            self._pids.forget(old.pid)
            del self.live[old.pid]
        else:
            self.live[new.pid] = new
            if new.address is not None:
                self._addresses.setdefault(new.address, {})[new.pid] = None
        self._events.append((old, new))
        self._tell()

    def _unlist(self, old: Session) -> None:
        """Take a session out of the index of its address."""
        if old.address is None:
            return
        pids = self._addresses[old.address]
        del pids[old.pid]
        if not pids:
            del self._addresses[old.address]

    def _tell(self) -> None:
        """Tell the events in order, also when a subscriber causes the next one."""
        if self._telling:
            return
        self._telling = True
        try:
            while self._events:
                old, new = self._events.popleft()
                for callback in self._subscribers:
                    callback(old, new)
        finally:
            self._telling = False


def _folder(config: str) -> str:
    """The registry of one config folder."""
    return os.path.join(config, "sessions")


def _address(name: str) -> Name | None:
    """The address of a session's name.  A reserved one is none: a session that calls
    itself 'owner' must not write, or be written to, as the person."""
    folded = fold(name)
    return None if folded in RESERVED else folded


def _age(found: tuple[str, int, Record | Torn]) -> tuple[int, int]:
    """Who took its name first comes first; its own clock says when."""
    _, number, record = found
    if isinstance(record, Torn):
        return 0, number
    return record.name_since or record.started_at, number

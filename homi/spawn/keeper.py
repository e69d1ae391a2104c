"""The programs that homi started for names: begun, proven ready, missed, replaced.

Owns the order of the steps, each on disk before the next: what was ordered, what runs,
what it takes the place of.  A program is ready when its own record is there, or its
seat stands; no time proves anything.  homi-spawn(1) is the page.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from homi.address import Name
from homi.claims import Claim
from homi.clock import Clock
from homi.errors import HomiError, NoSuchName, NotReached
from homi.names import Names
from homi.owners import Owners
from homi.peers import process
from homi.pidwatch import PidWatch
from homi.sessions import Session, Sessions
from homi.spawn import rule
from homi.spawn.beside import Beside, in_a_thread
from homi.spawn.calling import Calling
from homi.spawn.endings import Endings, is_of, same
from homi.spawn.programs import Programs
from homi.spawn.refusals import check_again, check_free
from homi.spawn.state import Run, Spawned, Spawns, tolerant

log = logging.getLogger("homi.spawn")

# What a new order for the same name leaves as it is.
_COUNTED = ("starts", "failures", "said", "run", "old")

Told = Callable[[Spawned | HomiError], None]


class Keeper:
    """Every program that was started for a name.  On the loop's thread."""

    def __init__(
        self,
        spawns: Spawns,
        names: Names,
        sessions: Sessions,
        owners: Owners,
        clock: Clock,
        programs: Programs,
        beside: Beside = in_a_thread,
    ) -> None:
        """Subscribes to sessions; nothing is started before start()."""
        self.spawns = spawns
        self.findings = spawns.findings
        self.pending: Callable[[Name], bool] = lambda _name: False
        self.over: Callable[[Name], None] = lambda _name: None  # its program ended
        self.calling = Calling(spawns, names, sessions)
        self._names = names
        self._sessions = sessions
        self._owners = owners
        self._clock = clock
        self._programs = programs
        self._beside = beside
        self._pids = PidWatch(self._ended)
        self._endings = Endings(spawns, sessions, programs, beside)
        self._told: dict[Name, list[Told]] = {}
        self.loop: asyncio.AbstractEventLoop | None = None  # None: nothing is started
        sessions.subscribe(self._session)
        names.subscribe(self._claimed)

    # ---- life ----

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch what runs, and find what a crash hid."""
        self.loop = loop
        self._pids.attach(loop)
        self._endings.start(loop)
        for spawned in self.spawns.all():
            if spawned.brief:
                self.dismiss(spawned.name)
            else:
                self._resume(spawned)

    def stop(self) -> None:
        """Start and end nothing more; what runs goes on without us."""
        self.loop = None
        self._pids.detach()
        self._endings.stop()

    def sweep(self) -> None:
        """Look at every program again."""
        self._endings.sweep()
        self.calling.sweep()
        for spawned in self.spawns.all():
            run = spawned.run
            if run is not None and run.pid and not process.alive(run.pid, run.start):
                self._over(spawned)

    # ---- orders ----

    def order(self, spawned: Spawned, told: Told) -> None:
        """Keep how a name is started, and start it: CannotCreate (73) where somebody
        has the name.  With on_mail it is started when mail waits and nobody has it."""
        name = spawned.name
        if not spawned.on_mail:
            self.free(name)
        before = self.spawns.get(name)
        if before is not None:
            kept = {key: getattr(before, key) for key in _COUNTED}
            spawned = replace(spawned, **kept)
        if spawned.on_mail:
            told(self.spawns.put(spawned))
            self.over(name)
        else:
            self.begin(spawned, name, told)

    def free(self, name: Name) -> None:
        """CannotCreate (73) where somebody has the name, or is on the way."""
        check_free(name, self.spawns.get(name), self._owners.owner(name))

    def join(self, name: Name, told: Told) -> None:
        """Tell what comes of the start that is under way."""
        self._told.setdefault(name, []).append(told)

    def again(
        self, name: Name, told: Told, order: str = "", *, anew: bool, now: bool
    ) -> None:
        """Start the name's program once more, and end the one before when that is
        ready and, but with now, idle; anew: what failed before counts no more.
        67, 73."""
        spawned = self.spawns.get(name)
        if spawned is None:
            raise NoSuchName(
                f"nobody told how {name} is started", hint=f"homi spawn {name}"
            )
        check_again(spawned, self._owners.owner(name))
        run = spawned.run
        old = None if run is None else replace(run, now=now)
        failures = 0 if anew else spawned.failures
        spawned = replace(spawned, failures=failures, old=old, order=order)
        called = name if run is None else self.calling.successor(name)
        self.begin(spawned, called, told)

    def forget(self, name: Name, *, end: bool) -> Spawned:
        """Start the name no more; end: and have what runs end now.  67."""
        spawned = self.spawns.get(name)
        if spawned is None:
            raise NoSuchName(f"homi does not start {name}", hint="homi spawn")
        runs = [run for run in (spawned.run, spawned.old) if run is not None]
        open_ = [run for run in runs if run.seat] if end else []
        self.spawns.forget(name, open_)
        self._tell(name, NotReached(f"{name} is started no more"))
        for run in open_:
            self._endings.end(run)
        return spawned

    # ---- a start ----

    def dismiss(self, name: Name) -> None:
        """End what was started for somebody who is gone, and its name with it."""
        if self.spawns.get(name) is not None:
            with tolerant():
                self.forget(name, end=True)
                if self._names.get(name) is not None:
                    self._names.release(name)

    def begin(self, spawned: Spawned, called: Name, told: Told) -> None:
        """Count it, then have it started."""
        name, now = spawned.name, self._clock.wall()
        run = Run(at=now, called=called)
        starts = [*rule.recent(spawned.starts, now), now]
        spawned = self.spawns.put(replace(spawned, run=run, starts=starts))
        self.join(name, told)
        log.info("%s client=%s status=starting", name, spawned.client)
        work = partial(self._programs.open, spawned, run)
        self._beside(work, partial(self._opened, name, run))

    def _opened(self, name: Name, run: Run, result: Run | HomiError | None) -> None:
        """It runs, or it could not be started."""
        spawned = self.spawns.get(name)
        if self.loop is None:
            return  # it is found at the next start
        if spawned is None or spawned.run is None or spawned.run.at != run.at:
            if isinstance(result, Run):  # nobody wants it any more
                self._endings.end(result)
            return
        if result is None:
            result = NotReached("the daemon ended while it was started")
        if isinstance(result, HomiError):
            self._failed(spawned, result)
            return
        self._begun(self.spawns.note(replace(spawned, run=result)), result)

    def _begun(self, spawned: Spawned, run: Run) -> None:
        """It runs: its name is bound to it, and its end is watched."""
        if not run.ready:
            self._embody(spawned, run)
        if not self._pids.watch(run.pid, run.start):
            self._over(spawned)
        elif not run.ready:
            self._look_for(spawned)

    def _embody(self, spawned: Spawned, run: Run) -> None:
        """Bind the name to a program that has no record of its own."""
        body = self._programs.body(spawned, run)
        if self._names.get(spawned.name) is not None and body is not None:
            with tolerant():
                self._names.embody(spawned.name, body)

    def _resume(self, spawned: Spawned) -> None:
        """Go on with what a daemon before this one started."""
        run, old = spawned.run, spawned.old
        if run is None:
            return
        if old is not None and not self._pids.watch(old.pid, old.start):
            spawned = self.spawns.note(replace(spawned, old=None))
        if not run.seat:
            work = partial(self._programs.find, spawned, run)
            self._beside(work, partial(self._opened, spawned.name, run))
        else:
            self._begun(spawned, run)

    def _look_for(self, spawned: Spawned) -> None:
        """Its session may be there already."""
        run = spawned.run
        for session in [*self._sessions.live.values(), *self._sessions.bodies()]:
            if run is not None and is_of(session, run):
                self._ready(spawned, run, session)
                return

    def _ready(self, spawned: Spawned, run: Run, session: Session) -> None:
        """It can be written to: it has the name from now on."""
        name, old = spawned.name, spawned.old
        run = replace(run, ready=self._clock.wall())
        spawned = replace(spawned, run=run, old=None, said="")
        self.spawns.note(spawned, retire=old)
        owner = self._owners.owner(name)
        other = owner is None or not same(owner, session)
        if session.listed and other and self._names.get(name) is not None:
            with tolerant():
                self._names.bind(name, session.ref)
        log.info("%s pid=%d status=ready", name, run.pid)
        self._tell(name, spawned)
        self._endings.sweep()

    def _failed(self, spawned: Spawned, error: HomiError) -> None:
        """Nothing runs that was to; what ran before stays."""
        name, failed = spawned.name, spawned.run
        run = spawned.old and replace(spawned.old, now=False)
        failures = spawned.failures + 1
        spawned = replace(
            spawned, run=run, old=None, failures=failures, said=error.text
        )
        self.spawns.note(spawned)
        log.warning("%s status=failed (%s)", name, error.text)
        claim = self._names.get(name)
        body = None if claim is None else claim.body
        if run is not None and body and failed and body.id == failed.seat:
            self._embody(spawned, run)
        self._tell(name, error)
        self.over(name)

    # ---- an end ----

    def _ended(self, pid: int) -> None:
        """A watched program is gone."""
        for spawned in self.spawns.all():
            run, old = spawned.run, spawned.old
            if old is not None and old.pid == pid:
                self.spawns.note(replace(spawned, old=None))
            elif run is not None and run.pid == pid:
                self._over(spawned)
        self.calling.sweep()

    def _over(self, spawned: Spawned) -> None:
        """What ran for a name does no more."""
        name, run = spawned.name, spawned.run
        assert run is not None
        lived = self._clock.wall() - run.ready if run.ready else 0.0
        if not run.ready:
            hint = f"homi seat read {name} has its last words; PATH was {spawned.path}"
            text = f"the program of {name} ended before it could be written to"
            self._failed(spawned, NotReached(text, hint=hint, reason="dead"))
            return
        vain = lived < rule.STEADY and self.pending(name)
        failures = spawned.failures + 1 if vain else 0
        said = f"it ended after {lived:.0f} s with its mail unread" if vain else ""
        self.spawns.note(replace(spawned, run=None, failures=failures, said=said))
        log.info("%s pid=%d status=ended", name, run.pid)
        self.over(name)

    # ---- notices ----

    def _session(self, old: Session | None, new: Session | None) -> None:
        """A session came, changed or went."""
        if self.loop is None:
            return
        if new is not None:
            for spawned in self.spawns.all():
                run = spawned.run
                if run is not None and not run.ready and is_of(new, run):
                    self._ready(spawned, run, new)
        if new is None or old is None or old.address != new.address:
            self.calling.sweep()

    def _claimed(self, name: Name, claim: Claim | None) -> None:
        """A name that was released is started no more; one that moved may come back."""
        gone = claim is None and self._names.departures.moved(name) is None
        if gone and self.spawns.get(name) is not None:
            with tolerant():
                self.forget(name, end=False)

    def _tell(self, name: Name, what: Spawned | HomiError) -> None:
        """Tell everybody who waits for the start of a name."""
        for told in self._told.pop(name, []):
            told(what)

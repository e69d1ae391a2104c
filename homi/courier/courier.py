"""The courier: wakes the drain of each name, and keeps them apart.

Owns the tasks, their timers and their end.  Each event is a hint: losing one
costs time until the next sweep, never mail.  homi-overview(7) has the figure.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from homi.address import BUILT_IN, Name
from homi.clock import Clock
from homi.config import STOP_DRAIN, SWEEP
from homi.courier.digests import Accept
from homi.courier.drain import Drain
from homi.courier.hands import Hands, Living
from homi.courier.ledger import Ledger, Watcher
from homi.courier.means import Means, Owning, Tell
from homi.courier.offering import Offering, ReplySocket, SettingsOf
from homi.courier.orders import Job
from homi.courier.outlook import Outlook, outlook
from homi.courier.pace import Process
from homi.courier.pull import brief
from homi.courier.rules import Where, in_hands, process_of
from homi.envelope import FINISHED, LedgerLine, Reason, Rung, SessionRef
from homi.errors import Unavailable
from homi.legs.base import Evidence, Leg, Witness
from homi.legs.hook import Sheet
from homi.peers.process import alive
from homi.sessions import Session
from homi.settings import DEFAULTS
from homi.store.base import Store
from homi.store.mailbox import Item
from homi.store.places import device_of

log = logging.getLogger("homi.courier")

RESTART_FIRST = 1.0  # s before a drain that failed is tried again
RESTART_MAX = 60.0  # s
CANCEL_LIMIT = 0.5  # s for cancelled tasks to end
OUTLIVE_FIRST = 0.25  # s until a process is looked at that outlives its record

Shown = tuple[Rung, Reason | None, float | None]  # rung, reason, until (wall seconds)


class _Tended:
    """A drain with its task and its timer."""

    __slots__ = ("drain", "failures", "resting", "task", "timer")

    def __init__(self, drain: Drain) -> None:
        self.drain = drain
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.failures = 0
        self.resting = False  # it failed; only its timer starts it again


class Courier:
    """Hands every name's pending mail to the session that owns it."""

    def __init__(  # noqa: PLR0913  one place puts it together
        self,
        store: Store,
        owners: Owning,
        sessions: Living,
        legs: list[Leg],
        witness: Witness,
        reply_socket: ReplySocket,
        clock: Clock,
        tell: Tell,
        accept: Accept,
        *,
        settings: SettingsOf = lambda _name: DEFAULTS,
        awaited: Callable[[Item], bool] = lambda _item: False,
        is_alive: Callable[[int, str], bool] = alive,
    ) -> None:
        """tell(item, its mailbox, step, text) sends a notice to the item's sender."""
        self._store = store
        self._clock = clock
        self._is_alive = is_alive
        self._names: dict[Name, _Tended] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running = False
        self._stopped = asyncio.Event()
        self._witness = witness
        self._legs = legs
        self._hands = Hands(
            store, sessions, witness, is_alive, self._spawn, self._read_out, clock
        )
        self.offering = Offering(
            store, legs, witness, reply_socket, self._hands, clock, settings
        )
        self._ledger = Ledger(store, clock)
        self._owners = owners
        self._means = Means(
            store=store,
            owners=owners,
            hands=self._hands,
            ledger=self._ledger,
            offering=self.offering,
            clock=clock,
            tell=tell,
            accept=accept,
            settings=settings,
            stopping=lambda: not self._running,
            awaited=awaited,
        )

    # ---- life ----

    async def run(self) -> None:
        """Drain until stop().  sessions must have read what is there before this."""
        if self._stopped.is_set():
            return  # a start that failed: the end came before the beginning
        self._running = True
        self.sweep()
        try:
            await self._stopped.wait()
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Start nothing more; an offer in flight may end in time; then run() ends."""
        self._running = False
        for tended in self._names.values():
            if tended.timer is not None:
                tended.timer.cancel()
        tasks = self._tasks - {asyncio.current_task()}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=STOP_DRAIN)
            for task in late:
                log.warning("%s did not end in time", task.get_name())
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=CANCEL_LIMIT)
        self._stopped.set()

    def subscribe(self, watcher: Watcher) -> None:
        """Call watcher(name, item, line) after each line the courier records."""
        self._ledger.subscribe(watcher)

    # ---- events ----

    def hint(self, name: Name, item: Item) -> None:
        """New mail.  Cheap where it changes nothing: the accept path calls it."""
        tended = self._names.get(name)
        if tended is None:
            if device_of(name):
                return  # a link drains it
            tended = self._open(name)
        elif item.ttl_s is None and (
            tended.drain.asleep or tended.drain.lanes.stopped(item.sender)
        ):
            return
        self._wake(tended)

    def on_owner(self, name: Name, old: Session | None, new: Session | None) -> None:
        """Another session has the name, or none."""
        self._wake(self._open(name))

    def on_name(self, name: Name) -> None:
        """What was chosen for the name may be another."""
        self._wake(self._open(name))

    def on_session(self, old: Session | None, new: Session | None) -> None:
        """A session came, changed or ended."""
        session = new or old
        if session is None:
            return
        touched = self._hands.names_of(session.ref)
        if new is None:
            self._hands.end(process_of(session.ref))
        else:
            self.offering.revive(process_of(new.ref))
            touched |= set(self._owners.names_of(new.ref))
            if old is not None:
                self._hands.changed(old, new)
            else:
                touched |= self._mail_at(process_of(new.ref))
        self._wake_names(touched)

    def evidence(self, session: SessionRef, evidence: Evidence) -> None:
        """Something is known of a letter that session was given (EvidenceSink)."""
        for name in self._hands.names_for(session, evidence.id):
            tended = self._open(name)
            tended.drain.inbox.append((session, evidence))
            self._wake(tended)

    def recorded(self, name: Name, line: LedgerLine) -> None:
        """Somebody else recorded a line (an ack, a reply): its lane may go on."""
        tended = self._open(name)
        if line.rung in FINISHED:
            tended.drain.forget(line.seq, line.id)
        self._wake(tended)

    def order(self, name: Name, job: Job) -> None:
        """Have an order carried out as soon as no hand-over of that name is under way;
        one in flight ends first, so that nobody is told of what is not so."""
        if not self._running:
            job.refuse(Unavailable("the daemon is stopping"))
            return
        tended = self._open(name)
        tended.drain.errands.jobs.append(job)
        tended.resting = False
        self._wake(tended)

    def stirred(self, session: Session) -> None:
        """A session shows by its hook that it moved on: look at what it wrote."""
        self._witness.changed(session)

    def brief(
        self, names: list[Name], sheet: Sheet, ready: Callable[[str], None]
    ) -> None:
        """Fill sheet with the mail of names for its session; ready is told its text
        once the ledger has it, and whoever shows it settles the sheet."""
        drains = [self._open(name).drain for name in names]
        self._spawn(brief(drains, sheet, ready), "brief")

    def sweep(self) -> None:
        """Look at everything again, for the event that got lost."""
        for process in self._hands.gone():
            self._hands.end(process)
        for box in self._store.mailboxes():
            if box.pending or box.name in self._names:
                self._wake(self._open(box.name))

    # ---- what is shown ----

    def explain(self, name: Name, item: Item) -> Shown:
        """How far a pending envelope is, why not further, and until when (wall s)."""
        drain = self._open(name).drain
        owner = drain.owner()
        if in_hands(item):
            if self._hands.where(item.session, owner) is not Where.GONE:
                return _shown_rung(item), item.reason, None
        elif item.rung in (Rung.PARKED, Rung.REFUSED) or name in BUILT_IN:
            return item.rung, item.reason, item.until
        if owner is None:
            return Rung.HELD, Reason.NO_OWNER, None
        wait = drain.lanes.stopped(item.sender)
        if wait is not None and wait.reason is not None:
            held = wait.reason in (Reason.OPERATOR, owner.shut)
            return Rung.HELD if held else Rung.DEFERRED, wait.reason, wait.until
        if item.rung in (Rung.DEFERRED, Rung.HELD):
            return item.rung, item.reason, item.until
        return Rung.STORED, None, None

    def outlook(self, name: Name, session: Session) -> list[Outlook]:
        """What each leg could do now for mail of name to that session."""
        return outlook(self._legs, name, session, self._hands, self.offering)

    def unproven(self, session: Session) -> int:
        """How many letters the session has without a proof of them."""
        return self._hands.count(session)

    # ---- tasks ----

    def _open(self, name: Name) -> _Tended:
        tended = self._names.get(name)
        if tended is None:
            tended = self._names[name] = _Tended(Drain(name, self._means))
        return tended

    def _wake(self, tended: _Tended) -> None:
        """See that the drain runs, now or once more after this run."""
        tended.drain.woken = True
        if self._running and tended.task is None and not tended.resting:
            tended.task = self._spawn(self._tend(tended), f"drain {tended.drain.name}")

    def _wake_names(self, names: set[Name]) -> None:
        for name in sorted(names):
            self._wake(self._open(name))

    async def _tend(self, tended: _Tended) -> None:
        """Run the drain once; whatever goes wrong there hurts no other name."""
        if tended.timer is not None:
            tended.timer.cancel()
        delay: float | None = None
        try:
            delay = await tended.drain.run()
            tended.failures = 0
        except Exception:
            # The one supervisor of this layer: a bug in one drain is told in full
            # and tried again, since mail waits behind it.
            delay = min(RESTART_FIRST * 2.0**tended.failures, RESTART_MAX)
            tended.failures += 1
            tended.resting = True
            log.exception("%s: again in %.0f s", tended.drain.name, delay)
        finally:
            tended.task = None
        if delay is not None and self._running:
            loop = asyncio.get_running_loop()
            tended.timer = loop.call_later(min(delay, 86_400.0), self._due, tended)

    def _due(self, tended: _Tended) -> None:
        """A timer ran out."""
        tended.timer = None
        tended.resting = False
        self._wake(tended)

    def _spawn(
        self, work: Coroutine[Any, Any, None], label: str = "reading to the end"
    ) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=label)
        self._tasks.add(task)
        task.add_done_callback(self._reaped)
        return task

    def _reaped(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed", task.get_name(), exc_info=error)

    def _read_out(self, process: Process, names: set[Name]) -> None:
        """A dead process has told all it will: its mail is pending again."""
        self.offering.forget_process(process)
        self._wake_names(names)
        self._outlive(process, names, OUTLIVE_FIRST)

    def _outlive(self, process: Process, names: set[Name], delay: float) -> None:
        """A session takes its record away before it ends, and nobody tells of that
        end: look a few times, then leave it to the sweep."""
        if not (self._running and names and delay < SWEEP and self._is_alive(*process)):
            return

        def look() -> None:
            self._wake_names(names)
            self._outlive(process, names, delay * 2)

        asyncio.get_running_loop().call_later(delay, look)

    def _mail_at(self, process: Process) -> set[Name]:
        """The mailboxes with letters an earlier run gave to a process just found."""
        return {
            box.name
            for box in self._store.mailboxes()
            for item in box.pending.values()
            if item.session is not None
            and process_of(item.session) == process
            and in_hands(item)
        }


def _shown_rung(item: Item) -> Rung:
    """Taken is shown as offered; an intent is no more than stored."""
    if item.rung is Rung.INTENT:
        return Rung.STORED
    return Rung.HELD if item.rung is Rung.HELD else Rung.OFFERED

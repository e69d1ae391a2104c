"""Every wake of this device: when each fires, and what may be done with it.

Owns the joining of schedules, events and firings; the daemon has one.  homi-wake(1).
"""

import asyncio
import logging
from collections.abc import Callable

from homi.clock import Clock, rfc3339
from homi.errors import HomiError, Usage
from homi.ids import last_part
from homi.store.disk import Disk
from homi.store.lines import Finding
from homi.store.tally import Tally
from homi.wakes.events import Events
from homi.wakes.firing import BUDGET, RUN, Firer, Ways, failing
from homi.wakes.progress import FILE, Diary, Firing, Progress
from homi.wakes.schedule import Now, Schedule, decide, schedule
from homi.wakes.state import SESSION, TIMED, Book, Wake
from homi.wakes.timer import Timer

log = logging.getLogger("homi.wakes")

KEPT = 7 * 86_400.0  # s that one which fires no more is still listed


class WakeKeeper:
    """The wakes of one daemon.  On the loop's thread."""

    def __init__(
        self, book: Book, root: str, disk: Disk, clock: Clock, ways: Ways
    ) -> None:
        """Read how far each is; nothing fires before start()."""
        self.book = book
        self._clock = clock
        self._diary = Diary(Tally(f"{root}/{FILE}", disk))
        self._firer = Firer(self._diary, ways, clock, self._stored, self._fired)
        self._firer.retry = self._retry
        self.events = Events(root, disk, clock, self._diary, self._firer)
        self._timer = Timer(clock, self._due)
        self._schedules: dict[str, Schedule] = {}
        self._retries: dict[str, float] = {}
        self._running = False
        for wake in book.all():
            self._take_up(wake)
        found = (book.findings, self._diary.findings, self.events.findings)
        self.findings: list[Finding] = [each for some in found for each in some]

    # ---- life ----

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on from what the files say."""
        self._running = True
        if not self.book.findings:
            # Else what was set aside may come back, and then knows how far it was.
            known = {wake.id for wake in self.book.all()}
            self._diary.retain(known)
            self.events.retain(known)
        self._timer.start(loop)
        self.events.start(loop)
        for wake in self.book.all():
            if not wake.paused:
                self._firer.resume(wake)

    def stop(self) -> None:
        """Fire no more; what was begun stands in the files."""
        self._running = False
        self._timer.stop()
        self.events.stop()
        self._diary.close()

    def sweep(self) -> None:
        """Look again, for a notice that got lost; forget what ended long ago."""
        if not self._running:
            return
        old = self._clock.wall() - KEPT
        ended = [w.id for w in self.book.all() if 0 < self.at(w).ended < old]
        for wake in ended:
            log.info("wake=%s status=forgotten", last_part(wake))
        if ended:
            self.remove(*ended)
        self.reckon()
        self.events.sweep()

    def reckon(self) -> None:
        """A clock was set, or time passed without us: reckon each one anew."""
        now = Now.of(self._clock)
        for wake in self.book.all():
            plan = self._schedules.get(wake.id)
            if plan is not None:
                plan.settle(self.at(wake), now)
                self._plan(wake)
        self._timer.arm()

    # ---- what may be done ----

    def add(self, wake: Wake, told: Callable[[], None]) -> None:
        """One more, on disk before told is called; 64 and 73."""
        if wake.trigger.kind in TIMED:
            # What can never fire is refused here, and not found out later.
            plan = schedule(wake)
            at = Progress(wake=wake.id)
            plan.settle(at, Now.of(self._clock))
            if plan.next(at, Now.of(self._clock)) is None:
                raise Usage("it would never fire", hint="homi wake preview")
        self.book.add(wake)
        self._take_up(wake, told)
        if wake.trigger.kind in TIMED:
            told()

    def remove(self, *wakes: str) -> None:
        """Forget these."""
        self.book.remove(*wakes)
        for wake in wakes:
            self._rest(wake, gone=True)
            self._firer.forget(wake)
        self._diary.retain(wake.id for wake in self.book.all())

    def pause(self, wake: Wake, by: str) -> None:
        """Let it rest: what is due meanwhile is neither fired nor missed."""
        self.book.pause(wake.id, by)
        self._rest(wake.id, gone=False)

    def resume(self, wake: Wake, *, person: bool) -> None:
        """Let it go on; a person lets what came to the bound of a day go on, too."""
        at = self.at(wake)
        if person and wake.by == SESSION:
            self._diary.grant(wake.to)
        if at.state == BUDGET and person:
            at.state = at.failure = at.fix = ""
            self._diary.keep(at)
        if wake.paused:
            wake = self.book.pause(wake.id, "")
            self._take_up(wake, skip=True)
        self._firer.resume(wake)

    def run(self, wake: Wake, slot: str, told: Callable[[], None]) -> None:
        """Fire it now, whatever its trigger says, and look at once at what it waits
        for; told once it is sent, or why not is known.  slot: of this one, so that a
        second try is the same."""
        firing = Firing(slot=f"{RUN}{slot}", at=self._clock.wall())
        self._firer.order(wake, firing, told)

    # ---- what is shown ----

    def at(self, wake: Wake) -> Progress:
        """How far it is."""
        return self._diary.of(wake.id)

    def next(self, wake: Wake) -> float | None:
        """Wall seconds of its next firing; None: never, or by an event."""
        plan = self._schedules.get(wake.id)
        if plan is None or self._over(wake):
            return None
        return plan.next(self.at(wake), Now.of(self._clock))

    def waits(self, wake: Wake) -> bool:
        """Whether its newest envelope is still unread."""
        return self._firer.overlaps(wake)

    # ---- its times ----

    def _take_up(
        self,
        wake: Wake,
        told: Callable[[], None] | None = None,
        *,
        skip: bool = False,
    ) -> None:
        """Let it fire from now on, unless it rests; skip: nothing that was due."""
        at = self.at(wake)
        if wake.paused or self._over(wake):
            return
        if wake.trigger.kind not in TIMED:
            self.events.add(wake, told)
            return
        try:
            plan, now = schedule(wake), Now.of(self._clock)
            plan.settle(at, now)
            if skip and (slots := plan.passed(at, now).slots):
                plan.past(at, slots[-1], now)
        except (HomiError, ValueError, OverflowError) as error:
            # Of a file that another hand changed.
            failing(at, Usage(f"its trigger cannot be read: {error}"))
            return
        self._schedules[wake.id] = plan
        if skip or told is not None:
            self._diary.keep(at)
        self._plan(wake)

    def _rest(self, wake: str, *, gone: bool) -> None:
        """Wait for it no more."""
        self._schedules.pop(wake, None)
        self._retries.pop(wake, None)
        self._timer.set(wake, None)
        self.events.remove(wake, gone=gone)

    def _plan(self, wake: Wake) -> None:
        """Set the timer to the next of a wake; what is under way comes first."""
        later = None if self._firer.busy(wake) else self.next(wake)
        times = [self._retries.get(wake.id), later]
        self._timer.set(wake.id, min((t for t in times if t is not None), default=None))

    def _due(self, wake_id: str) -> None:
        """A schedule has a slot, or something is tried again."""
        wake = self.book.get(wake_id)
        if wake is None or not self._running:
            return
        self._retries.pop(wake_id, None)
        plan = self._schedules.get(wake_id)
        if plan is not None and not self._firer.busy(wake):
            self._slots(wake, plan)
        self._firer.resume(wake)
        self._settle(wake)
        if wake_id in self._schedules:
            self._plan(wake)

    def _slots(self, wake: Wake, plan: Schedule) -> None:
        """Fire what is due, as the wake has it for what was missed and what is
        unread."""
        now, at = Now.of(self._clock), self.at(wake)
        passed = plan.passed(at, now)
        if not passed.slots:
            return
        slots, missed = decide(wake, passed, now.wall)
        plan.past(at, passed.slots[-1], now)
        if wake.most:
            slots = slots[: max(wake.most - at.fired, 0)]
        if slots and wake.overlap == "skip" and self._firer.overlaps(wake):
            at.skipped += len(slots)
            slots = []
        at.missed += missed
        firings = [
            Firing(slot=slot.key, at=slot.at, missed=0 if n else missed)
            for n, slot in enumerate(slots)
        ]
        if firings:
            self._firer.fire(wake, firings)
        else:
            self._diary.keep(at)
            self._settle(wake)

    def _retry(self, wake: str, when: float) -> None:
        """Something is to be tried again."""
        found = self.book.get(wake)
        if found is None:
            return
        ordered = any(each.slot.startswith(RUN) for each in self.at(found).firing)
        if found.paused and not ordered:
            return  # resume() goes on with it
        self._retries[wake] = when
        self._plan(found)

    def _stored(self, wake: Wake, firing: Firing) -> None:
        """An envelope is kept."""
        self.events.stored(wake.id, firing.marks)

    def _fired(self, wake: Wake) -> None:
        """That is noted: what came meanwhile is next."""
        self._settle(wake)
        if wake.id in self._schedules:
            self._plan(wake)
        elif wake.trigger.kind in TIMED:
            self._take_up(wake)  # or what cannot be read of it would be forgotten
        elif self._running:
            self.events.look(wake.id)

    def _settle(self, wake: Wake) -> None:
        """Note that it fires no more, once that is so."""
        at = self.at(wake)
        if self._over(wake) or (wake.id in self._schedules and not self._more(wake)):
            at.ended = at.ended or self._clock.wall()
            self._diary.keep(at)
            self._rest(wake.id, gone=False)
            log.info("wake=%s status=done at=%s", last_part(wake.id), rfc3339(at.ended))

    def _more(self, wake: Wake) -> bool:
        """Whether its schedule has another slot, or something is under way."""
        return self._firer.busy(wake) or self.next(wake) is not None

    def _over(self, wake: Wake) -> bool:
        """Whether it had all its firings."""
        at = self.at(wake)
        if at.ended:
            return True
        if at.firing:
            return False
        once = wake.trigger.kind == "exit"
        most = 1 if once else wake.most
        return bool(most) and at.fired >= most

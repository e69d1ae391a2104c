"""Wakes that wait for an event: files, pull requests, the end of a seat's program.

Owns when is looked, and that looks run in threads of their own; what is new is the
watch's to say.  homi-wake(1).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from homi.clock import Clock
from homi.errors import HomiError
from homi.pidwatch import PidWatch
from homi.store.disk import Disk
from homi.store.lines import Finding
from homi.wakes import files, seats
from homi.wakes.files import Found, Walk
from homi.wakes.firing import Firer, failing
from homi.wakes.notices import Notices
from homi.wakes.progress import Diary, Firing
from homi.wakes.pulls import POLL, Gh
from homi.wakes.seen import Marks, forget
from homi.wakes.state import Wake
from homi.wakes.watch import Watch, firing

log = logging.getLogger("homi.wakes")

QUIET = 2.0  # s that a file must stay as it is
SHARE = 10  # a look is done in a tenth of the time at most
THREADS = 2  # for gh, and as many for files: neither waits for the other
Told = Callable[[], None]


class Events:
    """Looks for every wake that waits for an event.  On the loop's thread."""

    def __init__(
        self, root: str, disk: Disk, clock: Clock, diary: Diary, firer: Firer
    ) -> None:
        """Nothing is looked at before start()."""
        self.findings: list[Finding] = []
        self.quiet, self.poll = QUIET, POLL
        self._root = root
        self._disk = disk
        self._clock = clock
        self._diary = diary
        self._firer = firer
        self._wakes: dict[str, Wake] = {}
        self._watches: dict[str, Watch] = {}
        self._looking: set[str] = set()
        self._wanted: set[str] = set()  # another look, once that one ended
        self._again: dict[str, asyncio.TimerHandle] = {}
        self._polled: dict[str, float] = {}  # monotonic seconds
        self._took: dict[str, float] = {}  # seconds of the last look
        self._waiting: dict[str, list[Told]] = {}  # who waits for a first look
        self._gh = Gh()
        self._notices = Notices(self._stirred)
        self._pids = PidWatch(self._gone)
        self._pool: ThreadPoolExecutor | None = None
        self._asking: ThreadPoolExecutor | None = None  # of gh

    # ---- life ----

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look from now on."""
        self._pool = ThreadPoolExecutor(THREADS, "wakes")
        self._asking = ThreadPoolExecutor(THREADS, "wakes-gh")
        self._notices.attach(loop)
        self._pids.attach(loop)
        for wake in list(self._wakes.values()):
            self._begin(wake)

    def retain(self, wakes: Container[str]) -> None:
        """Forget what any other wake has seen."""
        forget(self._root, self._disk, wakes)

    def stop(self) -> None:
        """Look no more; what still looks is told to end."""
        pools = (self._pool, self._asking)
        self._pool = self._asking = None
        for pool in pools:
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)
        self._gh.close()
        self._notices.detach()
        self._pids.detach()
        for timer in self._again.values():
            timer.cancel()
        self._again.clear()

    def sweep(self) -> None:
        """Look at all again, for the notice that got lost."""
        for wake in list(self._wakes.values()):
            if wake.trigger.kind == "exit":
                self._begin(wake)
            elif self._due(wake):
                self.look(wake.id)

    # ---- which wakes ----

    def add(self, wake: Wake, told: Told | None = None) -> None:
        """Wait for its event from now on; told is called behind the first look."""
        if wake.trigger.kind != "exit":
            marks = Marks(self._root, wake.id, self._disk)
            self.findings += marks.findings
            settling = wake.trigger.kind == "file"
            self._watches[wake.id] = Watch(marks, settling=settling)
        self._wakes[wake.id] = wake
        if told is not None:
            self._waiting.setdefault(wake.id, []).append(told)
        if self._pool is not None:
            self._begin(wake)

    def remove(self, wake: str, *, gone: bool) -> None:
        """Wait for it no more; gone: it is removed for good."""
        found = self._wakes.pop(wake, None)
        watch = self._watches.pop(wake, None)
        self._notices.watch(wake, [])
        if (timer := self._again.pop(wake, None)) is not None:
            timer.cancel()
        if watch is not None and gone:
            watch.marks.remove()
        if found is not None and found.trigger.kind == "exit":
            self._unwatch(found)
        self._wanted.discard(wake)
        self._polled.pop(wake, None)
        self._took.pop(wake, None)
        self._tell(wake)  # no look will

    def stored(self, wake: str, marks: dict[str, str]) -> None:
        """An envelope that tells of these is kept; 74 where that cannot be noted."""
        watch = self._watches.get(wake)
        if watch is not None and marks:
            watch.marks.add(marks)

    # ---- looks ----

    def look(self, wake: str) -> None:
        """Look at what a wake waits for, in a thread."""
        found = self._wakes.get(wake)
        if found is None or self._pool is None:
            return
        if wake in self._looking:
            self._wanted.add(wake)  # what is under way may have passed it
            return
        if found.trigger.kind == "exit" or self._firer.busy(found):
            return
        if (timer := self._again.pop(wake, None)) is not None:
            timer.cancel()
        self._polled[wake] = self._clock.monotonic()
        self._looking.add(wake)
        asks = found.trigger.kind == "pr"
        pool = self._asking if asks else self._pool
        self._beside(partial(self._work, found), partial(self._looked, found), pool)

    def _begin(self, wake: Wake) -> None:
        """Wait for its event, or see that it was."""
        if wake.trigger.kind != "exit":
            self.look(wake.id)
            return
        pid, start = seats.process(wake.trigger)
        at = self._diary.of(wake.id)
        if at.fired or at.firing:
            pass
        elif not self._pids.watch(pid, start):
            work = partial(seats.firing, wake.trigger)
            self._beside(work, partial(self._ended, wake), self._pool)
        self._tell(wake.id)

    def _work(self, wake: Wake) -> Walk:
        """One look, in a thread; what it takes does not count the wait for one."""
        began = time.monotonic()
        try:
            return self._seen(wake)
        finally:
            self._took[wake.id] = time.monotonic() - began

    def _seen(self, wake: Wake) -> Walk:
        if wake.trigger.kind == "file":
            return files.walk(wake.trigger.value, lambda: self._pool is None)
        return Walk(self._gh.pulls(wake.trigger.value), [])

    def _looked(self, wake: Wake, seen: Walk | HomiError) -> None:
        """What a look found."""
        self._looking.discard(wake.id)
        if wake.id in self._wanted:
            self._wanted.discard(wake.id)
            self._soon(wake.id)
        watch, at = self._watches.get(wake.id), self._diary.of(wake.id)
        if watch is None:
            return
        try:
            if isinstance(seen, HomiError):
                raise seen
            fresh = self._notices.watch(wake.id, seen.folders)
            told = watch.look(seen.files, seen.hidden)
        except HomiError as error:
            if failing(at, error):
                self._diary.keep(at)
            self._tell(wake.id)
            return
        if at.failure or not at.seeded:
            at.state = at.failure = at.fix = ""
            at.seeded = True
            self._diary.keep(at)
        self._tell(wake.id)
        if watch.unsettled or fresh:
            self._soon(wake.id)
        self._fire(wake, told)

    def _fire(self, wake: Wake, told: dict[str, Found]) -> None:
        """Tell of what is new; nothing of it is lost while the last is unread."""
        if not told or self._firer.busy(wake):
            return
        if wake.overlap == "skip" and self._firer.overlaps(wake):
            return
        self._firer.fire(wake, [firing(self._diary.of(wake.id), told)], durable=True)

    def _due(self, wake: Wake) -> bool:
        """Whether it is time to look again: gh has its own, a look that takes long
        is not done all the time."""
        last = self._polled.get(wake.id)
        wait = SHARE * self._took.get(wake.id, 0.0)
        wait = self.poll if wake.trigger.kind == "pr" else wait
        return last is None or self._clock.monotonic() - last >= wait

    def _soon(self, wake: str) -> None:
        """Look again in a moment, which is longer where looks take long."""
        if (timer := self._again.pop(wake, None)) is not None:
            timer.cancel()
        loop = asyncio.get_running_loop()
        wait = max(self.quiet, SHARE * self._took.get(wake, 0.0))
        self._again[wake] = loop.call_later(wait, self._look_again, wake)

    def _look_again(self, wake: str) -> None:
        self._again.pop(wake, None)
        self.look(wake)

    def _stirred(self, wake: str, path: str, writing: bool) -> None:
        """A notice came."""
        watch = self._watches.get(wake)
        if watch is None:
            return
        path = files.named(path)
        if writing and path:
            watch.writing.add(path)
        else:
            watch.writing.discard(path)
        if wake not in self._again:
            self._soon(wake)

    # ---- seats ----

    def _gone(self, pid: int) -> None:
        """A watched program ended."""
        for wake in list(self._wakes.values()):
            if wake.trigger.kind == "exit" and seats.process(wake.trigger)[0] == pid:
                self._begin(wake)

    def _ended(self, wake: Wake, told: Firing | HomiError) -> None:
        """How it ended is known."""
        at = self._diary.of(wake.id)
        waits = wake.id in self._wakes and not at.fired and not at.firing
        if isinstance(told, Firing) and waits:
            self._firer.fire(wake, [told], durable=True)

    def _unwatch(self, wake: Wake) -> None:
        """Nobody else may wait for the same program."""
        pid = seats.process(wake.trigger)[0]
        others = (w.trigger for w in self._wakes.values() if w.trigger.kind == "exit")
        if all(seats.process(other)[0] != pid for other in others):
            self._pids.forget(pid)

    # ---- threads ----

    def _tell(self, wake: str) -> None:
        """Whoever waited for the first look has it."""
        for told in self._waiting.pop(wake, []):
            told()

    def _beside(
        self,
        work: Callable[[], Any],
        then: Callable[[Any], None],
        pool: ThreadPoolExecutor | None,
    ) -> None:
        """Do work in a thread, then go on with what it gave, or its failure."""
        if pool is None:
            return

        def ended(future: asyncio.Future[Any]) -> None:
            error = None if future.cancelled() else future.exception()
            if future.cancelled() or self._pool is None:
                return
            if error is not None and not isinstance(error, HomiError):
                raise error
            then(future.result() if error is None else error)

        loop = asyncio.get_running_loop()
        loop.run_in_executor(pool, work).add_done_callback(ended)

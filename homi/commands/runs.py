"""The runs of a daemon: one at a time for each binding, watched to their end.

Owns what begins and what is told; survives the death of the daemon, since all of it
stands in runs/.  What follows for the letter is the leg's.  homi-command(1).
"""

import asyncio
import contextlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from homi.commands import run as files
from homi.commands.known import Known
from homi.commands.record import held
from homi.commands.run import Plan, Run, Started
from homi.commands.start import begin, end_orphan, environment
from homi.commands.verdict import Done, Verdict, brief, judge
from homi.envelope import MessageId
from homi.errors import StorageFailed
from homi.peers import process
from homi.pidwatch import PidWatch
from homi.store import fault

log = logging.getLogger("homi.commands")

KEPT = 5  # runs of a binding that stay to be looked at
OLD = 30 * 86_400.0  # s: what nobody is bound to any more goes after that
LOOK = 0.5  # s between two looks at a supervisor that has not said who it is

Ended = Callable[[Run, Verdict], None]
Key = tuple[str, MessageId]  # a binding and a letter
Value = TypeVar("Value")


class Fate(NamedTuple):
    """What a run that is over means."""

    verdict: Verdict
    held: bool  # whether that was one failure too many


class Runs:
    """Every run of this state root.  On the loop's thread."""

    def __init__(self, root: str) -> None:
        """Nothing is read before start(); ended and changed are to be set."""
        self._root = root
        self.known = Known(root)
        self.findings = self.known.findings
        self.ended: Ended = lambda _run, _verdict: None
        self.changed: Callable[[], None] = lambda: None
        self._going: dict[str, Run | None] = {}  # by body; None: it is being begun
        self._held: set[str] = set()
        self._open: dict[Key, Run] = {}  # the last of each, not known to be settled
        self._untold: set[Key] = set()  # what became of them is being found out
        self._pids = PidWatch(self._gone)
        self._watched: dict[int, Run] = {}  # by supervisor
        self._leaders: dict[str, Started] = {}  # by body
        self._tasks: set[asyncio.Task[None]] = set()
        self.hook = fault.from_environment(os.environ)
        self._next = 1

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch what goes on, and tell what ended meanwhile."""
        self._pids.attach(loop)
        files.clear(self._root)
        self._next = max(files.numbers(self._root), default=0) + 1
        of_body: dict[str, list[Run]] = {}
        for run in files.every(self._root):
            of_body.setdefault(run.plan.body, []).append(run)
            self._open[_key(run)] = run
        for body, ran in of_body.items():
            if held(ran, self.known.of(body).resumed):
                self._held.add(body)
            if not ran[-1].settled or ran[-1].goes_on:
                # Also of one that is over: what it learned counts for the next.
                self._going[body] = ran[-1]
        for key, run in list(self._open.items()):
            if run.settled and self._going.get(run.plan.body) is not run:
                del self._open[key]
            else:
                self._untold.add(key)
                self._watch(run)

    def stop(self) -> None:
        """Begin and tell nothing more; what runs goes on."""
        self._pids.detach()
        for task in self._tasks:
            task.cancel()

    def busy(self, body: str) -> bool:
        """Whether a run of it goes on."""
        return body in self._going

    def held(self, body: str) -> bool:
        """Whether it failed so often in a row that nothing more is begun."""
        return body in self._held

    def has(self, body: str, message: MessageId) -> bool:
        """Whether a run has that letter, or had it and nobody was told yet."""
        return (body, message) in self._untold

    def leaders(self) -> dict[int, tuple[str, str]]:
        """The processes that are commands now: since when, for which binding."""
        return {begun.pid: (begun.start, body) for body, begun in self._leaders.items()}

    def resume(self, body: str) -> None:
        """Begin again after failures."""
        self.known.resume(body, self._next - 1)
        self._held.discard(body)
        self.changed()

    def settle(self, body: str, message: MessageId) -> None:
        """The ledger has what became of that letter."""
        run = self._open.get((body, message))
        if run is None or self._going.get(body) is run:
            return
        del self._open[body, message]
        try:
            run.settle()
        except StorageFailed as error:
            log.warning("%s", error.text)

    async def begin(self, plan: Plan, letter: str, path: str) -> str:
        """Begin a run; empty once the command began, else why it did not.

        Unclear where nothing was heard of it; StorageFailed where it cannot be kept.
        """
        body = plan.body
        assert body not in self._going
        self._going[body] = None
        self.changed()
        try:
            run = await self._in_thread(files.plan, self._root, plan, letter)
        except BaseException:
            del self._going[body]
            self.changed()
            raise
        self.meet("run-planned")
        env = environment(plan.template.env, path, self._root)
        begun = self._in_thread(begin, run, env)
        try:
            why = await asyncio.shield(begun)
        except BaseException:
            # Unclear, or nobody waits any more: it may begin all the same.
            begun.add_done_callback(lambda done: self._found(run, done))
            raise
        self.meet("run-begun")
        if why:
            await self._unbegun(run, why)
        else:
            self._take(run)
        return why

    def file(self, n: int, name: str) -> str:
        """The path of a file of the run of that number."""
        return os.path.join(files.folder_of(self._root, n), name)

    def number(self) -> int:
        """The number of the next run."""
        self._next += 1
        return self._next - 1

    # ---- beginning ----

    def _found(self, run: Run, begun: asyncio.Future[str]) -> None:
        """Nobody waited for the beginning of it; its files say what became of it."""
        if not begun.cancelled() and (error := begun.exception()) is not None:
            log.warning("%s run=%s unclear %r", run.plan.message, run.folder, error)
        self._take(run)

    async def _unbegun(self, run: Run, why: str) -> None:
        """It is over before it began; the caller tells what follows."""
        log.warning(
            "%s to=%s run=%s %s", run.plan.message, run.plan.name, run.folder, why
        )
        self._going[run.plan.body] = run
        with contextlib.suppress(StorageFailed):  # then its letter is kept for longer
            run.settle()
        fate = await self._in_thread(self._judge, run)
        self._free(run, fate)

    def _take(self, run: Run) -> None:
        """It goes on."""
        self._going[run.plan.body] = run
        self._open[_key(run)] = run
        self._untold.add(_key(run))
        log.info(
            "%s to=%s run=%s status=begun", run.plan.message, run.plan.name, run.folder
        )
        self._watch(run)
        self.changed()

    # ---- watching ----

    def _watch(self, run: Run) -> None:
        """Be told when its supervisor is gone."""
        started, watched = run.started, False
        if started is not None and run.goes_on:
            # Its lock proves whose that pid is.
            start = process.start_time(started.supervisor) or ""
            watched = self._pids.watch(started.supervisor, start)
        if started is None or not watched:
            if run.goes_on:
                asyncio.get_running_loop().call_later(LOOK, self._watch, run)
            else:
                self._spawn(self._over(run))
            return
        self._watched[started.supervisor] = run
        self._leaders[run.plan.body] = started

    def _gone(self, pid: int) -> None:
        """A supervisor ended."""
        run = self._watched.pop(pid, None)
        if run is not None:
            self._spawn(self._over(run))

    async def _over(self, run: Run) -> None:
        """Find out what became of it, and tell."""
        plan = run.plan
        await self._in_thread(end_orphan, run)
        fate = await self._in_thread(self._judge, run)
        self.meet("run-ended")
        log.info(
            "%s to=%s run=%s %s",
            plan.message,
            plan.name,
            run.folder,
            brief(fate.verdict),
        )
        if isinstance(fate.verdict, Done):
            self._learn(plan, fate.verdict.session)
        self._untold.discard(_key(run))
        try:
            self.ended(run, fate.verdict)
        finally:
            self._free(run, fate)

    def _learn(self, plan: Plan, session: str) -> None:
        """The next run goes on with it; where that cannot be kept, it begins anew."""
        try:
            self.known.learn(plan.body, session, plan.n)
        except StorageFailed as error:
            log.error("%s: its session is not kept: %s", plan.name, error.text)

    def _judge(self, run: Run) -> Fate:
        """In a thread: what it left may be long."""
        ran = [r for r in files.every(self._root) if r.plan.body == run.plan.body]
        resumed = self.known.of(run.plan.body).resumed
        fate = Fate(judge(run), held(ran, resumed))
        self._prune(ran)
        return fate

    def _free(self, run: Run, fate: Fate) -> None:
        """The next one may begin, unless that was one failure too many."""
        body = run.plan.body
        if self._going.get(body) is run:
            del self._going[body]
            self._leaders.pop(body, None)
        if fate.held and body not in self._held:
            self._held.add(body)
            log.warning("%s status=held (three failures in a row)", run.plan.name)
        self.changed()

    def _prune(self, ran: list[Run]) -> None:
        """Remove the oldest runs of a binding; of one that is not settled the letter
        is pending still, and the ledger has why."""
        old = [run for run in ran[:-KEPT] if not run.goes_on]
        for run in files.every(self._root):
            if run.plan.at < time.time() - OLD and run.settled and not run.goes_on:
                old.append(run)
        for run in old:
            shutil.rmtree(run.folder, ignore_errors=True)

    # ---- threads and tasks ----

    def _in_thread(
        self, work: Callable[..., Value], *given: object
    ) -> asyncio.Future[Value]:
        """What may wait for a disk or a process."""
        return asyncio.get_running_loop().run_in_executor(None, work, *given)

    def meet(self, point: str) -> None:
        """A step is done: a test may have the process killed here."""
        if self.hook is not None:
            self.hook(point)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._reaped)

    def _reaped(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (bug := task.exception()) is not None:
            log.error("the end of a run was not told", exc_info=bug)


def _key(run: Run) -> Key:
    return run.plan.body, run.plan.message

"""When to commit, and where: the committer's driver on the loop.

Owns the gathering of batches, the linger, the threads and every timer with its
reason.  Knows nothing of what a batch does.  homi-overview(7) shows the flow.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from homi.config import CHECKPOINT_IDLE
from homi.store.base import Mail
from homi.store.batch import Batch, Entry, Reopened, Work
from homi.store.committer import Committer
from homi.store.worker import Worker, attempt

# A switch of threads costs two fights for the interpreter while the loop is busy:
# up to so long a sync the loop is sooner done with it by itself.
FAST_SYNC = 0.001  # s
# The thread sees its syncs as longer than they are, by those fights: now and then
# the loop tries again.
PROBE_EVERY = 32  # batches
PROBE_SYNC = 0.005  # s: no probe where the thread sees more
# The page cache takes a batch in a fraction of this, unless memory is short: then
# the lines are written in the thread, too.
SLOW_LINES = 0.02  # s
LARGE = 1 << 20  # bytes of a batch the loop does not write by itself
LINGER = 0.3  # of the mean sync
RETRY_FIRST = 0.1  # s until the next try to reopen, doubled up to
RETRY_MAX = 5.0
JOIN = 0.5  # s for a thread that has nothing left to do


class Engine:
    """One batch in flight; what comes meanwhile is the next.  All on the loop."""

    def __init__(
        self,
        committer: Committer,
        publish: Callable[[Batch], None],
        amend: Callable[[Reopened], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """publish: a batch that is done.  amend: what a reopening moved or saved."""
        self._committer = committer
        self._checkpoint = committer.checkpoint
        self._publish = publish
        self._amend = amend
        self._loop = loop
        self._commits = Worker("homi-commit", loop)
        self._syncs = Worker("homi-sync", loop)
        self._mails: list[Mail] = []
        self._decisions: list[Entry] = []
        self._evidence: list[Entry] = []
        self._flight = Batch([], [], [])
        self._swapped: int | None = None  # the half to be synced next
        self._busy = False
        self._soon = False  # a flush is on its way
        self._probe = 0  # batches the thread synced since the loop last did
        self._linger: asyncio.TimerHandle | None = None
        self._expected = 0  # how many the linger waits for
        self._idle: asyncio.TimerHandle | None = None
        self._active = 0.0
        self._retry: asyncio.TimerHandle | None = None
        self._delay = 0.0  # until the next try to reopen; 0: none failed yet
        self._rest: asyncio.Future[None] | None = None
        self.rested: Callable[[], None] = _nobody  # the folder alone is everything
        self.synced: Callable[[], None] = _nobody  # a half of the ring is freed

    @property
    def at_rest(self) -> bool:
        """Whether nothing is under way and the folder alone is everything."""
        return (
            self._checkpoint.at_rest
            and not (self._busy or self._mails or self._decisions or self._evidence)
            and not (self._committer.closed or self._checkpoint.due)
            and self._rest is None
        )

    @property
    def coming(self) -> list[Mail]:
        """What was taken and is not answered yet."""
        return [*self._flight.mails, *self._mails]

    def alone(
        self,
        work: Callable[[], Any],
        done: Callable[[Any, BaseException | None], None],
    ) -> None:
        """While at rest: do work in the committer's thread and commit nothing
        meanwhile; then done(its result, what it raised)."""
        assert self.at_rest
        self._busy = True

        def ended(result: object, error: BaseException | None) -> None:
            self._busy = False
            self._poke()
            done(result, error)

        self._commits.put(work, ended)

    def mail(self, mail: Mail) -> None:
        """Take one mail for the next batch."""
        self._mails.append(mail)
        if not self._soon and not self._busy:
            self._poke()

    def entry(self, entry: Entry, *, durable: bool) -> None:
        """Take one ledger line for the next batch, behind the sync or before it."""
        (self._decisions if durable else self._evidence).append(entry)
        if not self._soon and not self._busy:
            self._poke()

    async def stop(self, patience: float) -> bool:
        """Finish what was taken and leave the ring empty; give up after patience.
        False: a thread still works, and the files must stay open under it."""
        self._rest = self._loop.create_future()
        self._expected = 0  # nobody is waited for any more
        self._poke()
        try:
            async with asyncio.timeout(patience):
                await self._rest
        except TimeoutError:
            pass  # the ring holds what is durable; the next start redoes it
        finally:
            for timer in (self._linger, self._idle, self._retry):
                if timer is not None:
                    timer.cancel()
            ended = [worker.stop(JOIN) for worker in (self._commits, self._syncs)]
        return all(ended)

    # ---- gathering ----

    def _poke(self) -> None:
        """See to it that what is pending is flushed: soon, or when enough came."""
        if self._linger is not None:
            if len(self._mails) + len(self._decisions) < self._expected:
                return
            self._linger.cancel()
            self._linger = None
        if not self._busy and not self._soon:
            self._soon = True
            self._loop.call_soon(self._flush)

    def _lingered(self) -> None:
        """The linger is over."""
        self._linger = None
        self._poke()

    def _flush(self) -> None:
        """Give the next batch to the committer."""
        self._soon = False
        if self._busy:
            return
        batch = self._gather()
        if batch is None:
            self._settle()
            return
        self._begin(batch)

    def _begin(self, batch: Batch) -> None:
        """Put a batch in flight."""
        self._busy = True
        self._flight = batch
        self._active = self._loop.time()
        committer = self._committer
        if not committer.closed and (
            self._checkpoint.due
            or committer.mean_lines > SLOW_LINES
            or batch.size() > LARGE
        ):
            self._commits.put(partial(self._work, batch), self._done)
            return
        if committer.closed and not self._delay:
            batch.postpone()
        work, error = attempt(partial(committer.prepare, batch))
        if work is None or not work.groups or self._is_fast():
            if work is not None:
                _, error = attempt(partial(committer.make_durable, work))
            self._conclude(work, error)
        else:
            self._commits.put(
                partial(committer.make_durable, work), partial(self._durable, work)
            )

    def _is_fast(self) -> bool:
        """Whether the loop is sooner done with a sync than a thread."""
        mean = self._committer.mean_sync
        if mean < FAST_SYNC:
            return True
        self._probe = (self._probe + 1) % PROBE_EVERY
        return not self._probe and mean < PROBE_SYNC

    def _durable(self, work: Work, _result: None, error: BaseException | None) -> None:
        """The thread has synced the records of the batch in flight."""
        self._conclude(work, error)

    def _conclude(self, work: Work | None, error: BaseException | None) -> None:
        """Write the lines of the batch in flight, then answer it."""
        if error is None and work is not None:
            _, error = attempt(partial(self._committer.finish, work))
        self._done(None, error)

    def _gather(self) -> Batch | None:
        """What can be committed now; None where there is nothing to do."""
        blocked = (
            self._checkpoint.wanted and self._checkpoint.running is not None
        ) or (bool(self._committer.closed) and not self._delay)
        evidence, self._evidence = self._evidence, []
        if blocked:
            # A full ring, or the first try to reopen: mail waits, evidence need not.
            return Batch([], [], evidence) if evidence else None
        batch = Batch(self._mails, self._decisions, evidence)
        self._mails, self._decisions = [], []
        due = self._checkpoint.due and not self._committer.closed
        if batch.mails or batch.decisions or evidence or due:
            return batch
        return None

    def _work(self, batch: Batch) -> None:
        """The whole of it, in the committer's thread."""
        self._swapped = self._committer.between()
        if self._committer.closed and not self._delay:
            batch.postpone()
        self._committer.commit(batch)

    # ---- what came of it ----

    def _done(self, _result: None, error: BaseException | None) -> None:
        """Publish a batch and prepare the next."""
        # Let go of it: the last batch of a day would keep its mails in memory.
        batch, self._flight = self._flight, Batch([], [], [])
        self._busy = False
        if batch.late_mails:
            self._mails = batch.late_mails + self._mails
        if batch.late_decisions:
            self._decisions = batch.late_decisions + self._decisions
        if (half := self._swapped) is not None:
            self._swapped = None
            self._syncs.put(partial(self._checkpoint.sync_dirty, half), self._synced)
        if error is not None:
            self._committer.closed = f"a bug of homi: {error!r}"
        try:
            self._publish(batch)
        finally:
            if self._committer.closed:
                self._reopen_later()
            self._next(len(batch.mails) + len(batch.decisions))
            if self._idle is None:
                self._watch_idleness()
        self._raise(error)

    def _next(self, committed: int) -> None:
        """Flush again at once, or wait a moment for those just answered."""
        pending = len(self._mails) + len(self._decisions)
        mean = self._committer.mean_sync
        if mean > FAST_SYNC and committed + pending > 1 and self._rest is None:
            # Without this the senders fall into two groups that take turns, and
            # each waits for two syncs.
            self._expected = committed + pending
            if self._linger is None and pending < self._expected:
                self._linger = self._loop.call_later(LINGER * mean, self._lingered)
                return
        if pending or self._evidence or self._checkpoint.due or self._rest is not None:
            self._poke()

    def _synced(self, _result: None, error: BaseException | None) -> None:
        """The second thread is done: its half's header is next."""
        if error is not None:
            self._checkpoint.abandon(f"a bug of homi: {error!r}")
        if self._committer.closed:
            self._reopen_later()
        self._poke()
        self.synced()
        self._raise(error)

    # ---- idleness ----

    def _watch_idleness(self) -> None:
        """After a second without a batch the folder alone shall be everything."""
        if self._committer.closed:
            return
        if not self._checkpoint.at_rest:
            self._idle = self._loop.call_later(CHECKPOINT_IDLE, self._is_idle)
        elif self.at_rest:
            self.rested()

    def _is_idle(self) -> None:
        """Ask for a checkpoint if nothing was committed lately; after one, rest."""
        self._idle = None
        quiet = self._loop.time() - self._active
        rested = self._checkpoint.at_rest  # it came while this was waited for
        if self._busy or rested or quiet < CHECKPOINT_IDLE * 0.9:
            self._watch_idleness()
        elif not self._committer.closed:
            if self._checkpoint.running is None and self._checkpoint.synced is None:
                self._checkpoint.wanted = True
            self._poke()

    def _settle(self) -> None:
        """While stopping: empty the ring, then say so."""
        if self._rest is None or self._rest.done() or self._busy:
            return
        if self._committer.closed:
            if self._delay:  # a try to make it good has failed
                self._rest.set_result(None)
        elif self._checkpoint.at_rest:
            self._rest.set_result(None)
        elif self._checkpoint.running is None:
            self._checkpoint.wanted = True
            self._poke()

    # ---- after a failure ----

    def _reopen_later(self) -> None:
        """Try to make good what failed: at once, then after longer and longer."""
        if self._retry is None and self._checkpoint.running is None:
            self._retry = self._loop.call_later(self._delay, self._reopen)

    def _reopen(self) -> None:
        """One try, in the committer's thread."""
        self._retry = None
        if self._busy:
            return  # the end of that batch asks again
        self._busy = True
        self._commits.put(self._committer.reopen, self._reopened)

    def _reopened(self, result: Reopened | None, error: BaseException | None) -> None:
        """Go on, or try again later; who waits is refused meanwhile."""
        self._busy = False
        if result is not None:
            self._amend(result)
        if self._committer.closed:
            self._delay = min(RETRY_MAX, max(RETRY_FIRST, self._delay * 2))
            self._reopen_later()
        else:
            self._delay = 0.0
        self._poke()
        self._raise(error)

    @staticmethod
    def _raise(error: BaseException | None) -> None:
        """Show a bug where bugs are shown, after all else went on."""
        if error is not None:
            raise error


def _nobody() -> None:
    """Nobody wants to know."""

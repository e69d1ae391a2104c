"""What prune asks of a store that runs: judged, closed at rest, removed, told.

Owns the waiting for rest and its end; closing and removing are done elsewhere.  All
on the loop but for the reading and removing.  homi-mailbox(5) has the rules.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from homi.address import Name
from homi.store.base import Pruned
from homi.store.batch import Place
from homi.store.committer import Committer
from homi.store.disk import Disk
from homi.store.mailbox import Mailbox
from homi.store.prune import Old, Plan, Work, plan
from homi.store.worker import Worker

# A store at rest is so within a second or two.  Who asks while mail is moving gets
# what needs no rest, and is told of the remainder.
PATIENCE = 10.0  # s
MOVING = "mail is moving, so what grows was not closed: try again when it is quiet"
CHANGED = "something came meanwhile, so what grows was not closed: try again"

# Done: the last seq of the closed segment, or what kept it from being closed.
Closed = Callable[[int | None, BaseException | None], None]


class _Asked:
    """One request on its way."""

    def __init__(self, plans: list[Plan], done: Pruned) -> None:
        """Wait for rest where something is to be closed."""
        self.plans = {what.name: what for what in plans}
        self.wanted = [what.name for what in plans if what.growing]
        self.done = done
        self.closing = False  # the first of those that are wanted
        self.timer: asyncio.TimerHandle | None = None

    def leave(self, names: list[Name], note: str) -> None:
        """Close none of these mailboxes."""
        for name in names:
            self.wanted.remove(name)
            self.plans[name] = self.plans[name].without(note)


class Removals:
    """The requests of one store, one after another."""

    def __init__(
        self,
        root: str,
        disk: Disk,
        committer: Committer,
        mailbox: Callable[[Name], Mailbox],
        worker: Worker,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Nothing was asked."""
        self._root = root
        self._disk = disk
        self._committer = committer
        self._mailbox = mailbox
        self._worker = worker
        self._loop = loop
        self._queue: list[_Asked] = []
        self.look: Callable[[], None] = _nobody  # something may be closed at rest
        self.gone: Callable[[Name], None] = _nobody_of  # of that one files went

    def ask(self, names: list[Name], before: str, done: Pruned) -> None:
        """Remove what may go of these mailboxes, then done."""

        def planned(plans: list[Plan] | None, error: BaseException | None) -> None:
            if plans is None:
                _expected(error)
                done([], error if isinstance(error, OSError) else None)
                return
            asked = _Asked(plans, done)
            self._queue.append(asked)
            asked.timer = self._loop.call_later(PATIENCE, self._hurry, asked)
            self._go_on()
            self.look()

        self._worker.put(lambda: plan(self._disk, self._root, names, before), planned)

    def next(self) -> tuple[Place, Closed] | None:
        """At rest: what is to be closed now, and who is told of it."""
        while self._queue and (asked := self._queue[0]).wanted:
            name = asked.wanted[0]
            place = self._committer.place(name)
            growing = asked.plans[name].growing
            if growing is not None and self._is_as_judged(place, growing):
                asked.closing = True
                return place, partial(self._closed, asked, name)
            asked.leave([name], CHANGED)
            self._go_on()
        return None

    def stop(self) -> None:
        """Begin nothing more."""
        for asked in self._queue:
            if asked.timer is not None:
                asked.timer.cancel()

    def _is_as_judged(self, place: Place, growing: Old) -> bool:
        """Whether nothing came since the journals of a mailbox were read."""
        box = self._mailbox(Name(place.name))
        if box.pending or box.coming or place.inbox.broken or place.ledger.broken:
            return False
        return (place.inbox.end, place.ledger.end) == growing.grows

    def _closed(
        self, asked: _Asked, name: Name, last: int | None, error: BaseException | None
    ) -> None:
        """One was closed, or cannot be."""
        asked.closing = False
        if last is None:
            why = getattr(error, "strerror", None) or "input/output error"
            asked.leave([name], f"what grows cannot be closed: {why}")
        else:
            asked.wanted.remove(name)
            asked.plans[name] = asked.plans[name].closed(last)
        self._go_on()

    def _hurry(self, asked: _Asked) -> None:
        """It has waited long enough."""
        asked.leave(asked.wanted[1 if asked.closing else 0 :], MOVING)
        self._go_on()

    def _go_on(self) -> None:
        """Remove what need not wait any more."""
        while self._queue and not self._queue[0].wanted:
            asked = self._queue.pop(0)
            if asked.timer is not None:
                asked.timer.cancel()
            self._remove(asked)

    def _remove(self, asked: _Asked) -> None:
        """Beside the mail, then tell."""

        def removed(work: Work | None, error: BaseException | None) -> None:
            _expected(error)
            for name, gone in work.gone.items() if work is not None else ():
                known = self._committer.place(name).known
                self._committer.settler.notes.append(partial(known.without, gone))
                self.gone(name)
            failed = error if isinstance(error, OSError) else None
            asked.done([] if work is None else work.rows, failed)
            self.look()

        plans = list(asked.plans.values())
        self._worker.put(lambda: Work(self._disk, self._root).run(plans), removed)


def _expected(error: BaseException | None) -> None:
    """Raise what no disk is to blame for: it is a bug of homi."""
    if error is not None and not isinstance(error, OSError):
        raise error


def _nobody() -> None:
    """Nobody looks."""


def _nobody_of(_name: Name) -> None:
    """Nobody looks."""

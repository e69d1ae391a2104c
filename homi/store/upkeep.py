"""What is done to the files while the store is at rest: indexing, closing, removing.

Owns when; what is done is elsewhere.  All on the loop but for the work itself, which
gives way to mail: it waits for the next rest.  homi-mailbox(5) has the rules.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar

from homi.address import Name
from homi.store.base import Pruned
from homi.store.batch import Place
from homi.store.clearing import Clearing
from homi.store.committer import Committer
from homi.store.disk import Disk
from homi.store.engine import Engine
from homi.store.index import Index
from homi.store.mailbox import Mailbox
from homi.store.oldids import OldIds
from homi.store.places import ledger_of, place_of
from homi.store.removals import Closed, Removals
from homi.store.rotation import close_segment
from homi.store.worker import Worker

log = logging.getLogger("homi.store")

# A start reads this at the speed of a copy; a person's tools still open it at once.
SEGMENT = 64 << 20  # bytes of an inbox that is closed when nothing in it is pending
LATE = 64 << 20  # bytes not indexed that are indexed while mail goes on coming
KEPT = 5_000  # ids a mailbox has in full in memory before they take eight bytes each
FIRST = 1.0  # s after the start: who waits for the daemon comes first
NICE = 10
PAUSE_MAX = 1.0  # s behind a piece of indexing, which else is as long as that took
Result = TypeVar("Result")


class Indexed(NamedTuple):
    """What one piece of indexing came to."""

    more: bool
    old: OldIds | None = None  # the ids that need not be in memory any more
    end: int = 0  # of the inbox, as far as old answers for it


class Upkeep:
    """The idle work of one store."""

    def __init__(
        self,
        root: str,
        disk: Disk,
        committer: Committer,
        engine: Engine,
        mailbox: Callable[[Name], Mailbox],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Begins a moment later, with what no life before has indexed."""
        self._root = root
        self._disk = disk
        self._committer = committer
        self._engine = engine
        self._mailbox = mailbox
        self._worker = Worker("homi-index", loop, NICE)
        self._loop = loop
        self._index: Index | None = None  # the worker's
        self._busy = False
        self._stopped = False
        self._pause: asyncio.TimerHandle | None = None  # behind a piece
        self._ends: dict[Name, tuple[int, int]] = {}  # what the journals are synced to
        self._todo: dict[Name, tuple[int, int] | None] = dict.fromkeys(
            Name(name) for name in committer.settler.places
        )
        self._wordless = bool(self._todo)  # the index may lack words of what it knows
        self._done: dict[Name, int] = {}  # bytes of each inbox that are indexed
        self._given_up: set[str] = set()  # mailboxes whose segment cannot be closed
        self._removals = Removals(root, disk, committer, mailbox, self._worker, loop)
        self._removals.look, self._removals.gone = self.look, self._gone
        self.clearing = Clearing(root, disk, self._worker, loop, lambda: engine.coming)
        engine.rested = engine.synced = self.look
        self._first = loop.call_later(FIRST, self.look)

    def prune(self, names: list[Name], before: str, done: Pruned) -> None:
        """Remove what may go, beside the mail, then done; close it first, at rest."""
        self._removals.ask(names, before, done)

    def _gone(self, name: Name) -> None:
        """Files of that mailbox were removed: its rows and old ids follow."""
        self._todo.setdefault(name, self._ends.get(name, (0, 0)))

    def stop(self, patience: float) -> bool:
        """Begin nothing more; whether the thread has ended in time."""
        self._stopped = True
        self._first.cancel()
        if self._pause is not None:
            self._pause.cancel()
        self._removals.stop()
        return self._worker.stop(patience)

    def look(self) -> None:
        """Do the next piece, if it is time for one."""
        if self._stopped:
            return
        self._take_ends()
        if self._engine.at_rest:
            if wanted := self._removals.next():
                self._close(*wanted)
                return
            if place := next(filter(self._is_full, self._places()), None):
                self._close(place)
                return
        elif self._behind() < LATE:
            return
        if self._busy or self._pause is not None:
            return
        if self._todo:
            name, upto = next(iter(self._todo.items()))
            piece = partial(self._piece, name, upto)
            self._begin(piece, partial(self._indexed, name, upto))
        elif self._wordless and self._engine.at_rest:
            self._begin(self._words, self._worded)

    # ---- the index ----

    def _begin(
        self,
        piece: Callable[[], Result],
        done: Callable[[Result | None, BaseException | None], None],
    ) -> None:
        """Do a piece in the thread, then done; pause as long as that took."""
        self._busy = True
        began = self._loop.time()

        def ended(result: Result | None, error: BaseException | None) -> None:
            self._busy = False
            if self._stopped:
                return
            # Without it no other process would ever find the index free to write.
            took = min(self._loop.time() - began, PAUSE_MAX)
            self._pause = self._loop.call_later(took, self._rested)
            done(result, error)

        self._worker.put(piece, ended)

    def _rested(self) -> None:
        """The pause is over: go on, or give back what an index in use takes."""
        self._pause = None
        self.look()
        if not (self._busy or self._stopped):
            self._worker.put(self._rest_index, _ignore)

    def _take_ends(self) -> None:
        """Learn up to where the last checkpoints have synced journals."""
        ends = self._committer.checkpoint.ends
        while ends:
            path, end = ends.popitem()
            name = place_of(path)
            inbox, ledger = self._ends.get(name, (0, 0))
            if path == ledger_of(name):
                ledger = end
            else:
                inbox = end
            self._ends[name] = self._todo[name] = inbox, ledger

    def _behind(self) -> int:
        """Bytes of synced mail that are not indexed."""
        return sum(
            upto[0] - self._done.get(name, 0)
            for name, upto in self._todo.items()
            if upto is not None
        )

    def _piece(self, name: Name, upto: tuple[int, int] | None) -> Indexed:
        """In the thread: index a piece of a mailbox."""
        index = self._opened()
        if index is None:
            return Indexed(more=False)
        if index.step(name, upto):
            return Indexed(more=True)
        place = self._committer.place(name)
        if len(place.known) < KEPT:
            return Indexed(more=False)
        before = index.before(name)
        if before is None:
            return Indexed(more=False)
        return Indexed(more=False, old=before.old, end=before.inbox)

    def _indexed(
        self,
        name: Name,
        upto: tuple[int, int] | None,
        found: Indexed | None,
        error: BaseException | None,
    ) -> None:
        """Note how far that got."""
        self._wordless = True
        if error is not None:
            log.warning("%s is not indexed: %s", name, error)
        if found is None or not found.more:
            self._done[name] = upto[0] if upto else self._done.get(name, 0)
            if self._todo.get(name) == upto:
                self._todo.pop(name, None)
        if found is not None and found.old is not None:
            place = self._committer.place(name)
            self._committer.settler.notes.append(
                partial(place.shrink, found.old, found.end)
            )

    def _words(self) -> bool:
        """In the thread: index the words of a few messages; whether there are more."""
        index = self._opened()
        at = self._committer.journals.at
        more = index is not None and index.step_words(at)
        if more:
            at("words-indexed")
        return more

    def _worded(self, more: bool | None, error: BaseException | None) -> None:
        """Note whether that was all."""
        self._wordless = bool(more)
        if error is not None:
            log.warning("the words of messages are not indexed: %s", error)

    def _opened(self) -> Index | None:
        """In the thread: the index; None where its file cannot be written."""
        if self._index is None:
            self._index = Index.open(self._root, self._disk)
        if self._index.in_memory:
            self._rest_index()
        return self._index

    def _rest_index(self) -> None:
        """In the thread: give back what an index in use takes of memory."""
        if self._index is not None:
            self._index.close()
        self._index = None

    # ---- segments ----

    def _places(self) -> list[Place]:
        """Every mailbox the committer knows."""
        return list(self._committer.settler.places.values())

    def _is_full(self, place: Place) -> bool:
        """Whether its journals are to be closed now."""
        if place.inbox.end < SEGMENT or place.name in self._given_up:
            return False
        box = self._mailbox(Name(place.name))
        return not box.pending and not box.coming

    def _close(self, place: Place, told: Closed | None = None) -> None:
        """Close the segment of a mailbox, then tell."""
        work = partial(close_segment, self._committer.journals, place)
        self._engine.alone(work, partial(self._closed, place, told))

    def _closed(
        self,
        place: Place,
        told: Closed | None,
        last: int | None,
        error: BaseException | None,
    ) -> None:
        """Its rows follow it to the archive."""
        name = Name(place.name)
        if error is not None:
            log.warning("cannot close the segment of %s: %s", name, error)
            self._given_up.add(place.name)  # a start makes good what is half done
        else:
            log.info("%s: closed the segment that ends with %s", name, last)
        self._ends[name] = self._todo[name] = 0, 0
        self._done[name] = 0
        if told is not None:
            told(last, error)
        self.look()


def _ignore(_result: object, _error: BaseException | None) -> None:
    """Nobody waits for it."""

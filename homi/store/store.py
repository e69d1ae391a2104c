"""The store on disk: the contract of store.base over lock, recovery and engine.

Owns the composition and what is published after a batch.  homi-mailbox(5) states
the promises.
"""

import asyncio
import errno
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from homi.address import Name
from homi.clock import Clock
from homi.config import STOP_DRAIN, Config
from homi.envelope import DECISIONS, LedgerLine, MessageId, Rung
from homi.errors import HomiError
from homi.inheritance import Bequest, Inherited
from homi.paths import make_private
from homi.store.archive import inbox_at
from homi.store.base import Kept, Mail, Pruned
from homi.store.batch import Batch, Entry, Reopened
from homi.store.boot import Boots
from homi.store.disk import Disk, RealDisk
from homi.store.engine import Engine
from homi.store.fault import from_environment
from homi.store.index import Index
from homi.store.lines import read_line
from homi.store.lock import Lock
from homi.store.mailbox import Mailbox, stamp
from homi.store.places import folder_of, inbox_of
from homi.store.quarantine import Quarantine
from homi.store.reminder import Finished
from homi.store.ring import FIXED, NAME_MAX
from homi.store.start import Started, start
from homi.store.trouble import unknown, unusable
from homi.store.upkeep import Upkeep

FREE_FOR = 1.0  # s a reading of the free space is good for


class DiskStore:
    """Mailboxes on disk behind one commit point.  open(), start(), …, aclose()."""

    @classmethod
    def open(
        cls,
        root: Path,
        config: Config,
        clock: Clock,
        disk: Disk | None = None,
        inherited: Inherited | None = None,
    ) -> "DiskStore":
        """Lock, recover and load root; 73 when another daemon has it, 74 when the
        disk refuses a step of the recovery."""
        disk = disk or RealDisk()
        make_private(root)
        lock = Lock(os.fspath(root), inherited)
        try:
            return cls(os.fspath(root), config, clock, disk, lock)
        except BaseException:
            lock.release()
            raise

    def __init__(
        self, root: str, config: Config, clock: Clock, disk: Disk, lock: Lock
    ) -> None:
        """Recover; use open()."""
        boots = Boots(root, disk, clock)
        with Index.open(root, disk) as index:
            started: Started = start(
                disk,
                root,
                config.ring << 20,
                Quarantine(root, disk, clock).keep,
                clock.monotonic,
                from_environment(os.environ),
                index=index,
            )
        boots.begin(list(started.mailboxes.values()))
        self.findings = boots.findings + started.findings
        self.unclean = not boots.clean  # the last daemon did not end in order
        self._root = root
        self._disk = disk
        self._clock = clock
        self._lock = lock
        self._boots = boots
        self._committer = started.committer
        self._boxes = started.mailboxes
        self._finished = Finished(root, disk)
        for box in self._boxes.values():
            box.old = partial(self._old, box.name)
        self._engine: Engine | None = None
        self._stopped = False
        self.heir: Bequest | None = None  # who goes on with the lock
        self.publishing = False  # done callbacks are being called
        self._told: list[Callable[[], None]] = []
        self._free = 0
        self._free_at = float("-inf")
        self._free_owed = 0  # by the ring, when it was asked last

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Commit what is submitted from now on; callbacks come on loop."""
        self._loop = loop
        self._engine = Engine(self._committer, self._publish, self._amend, loop)
        self._upkeep = Upkeep(
            self._root, self._disk, self._committer, self._engine, self.mailbox, loop
        )

    async def aclose(self) -> None:
        """Finish what was submitted, empty the ring, release the lock; once."""
        if self._stopped:
            return
        self._stopped = True
        # A disk that hangs in a sync keeps its thread: closing files or the lock
        # under it could make two writers.  The end of the process frees both.
        idle = self._engine is None
        try:
            if self._engine is not None:
                ended = self._upkeep.stop(STOP_DRAIN)
                idle = await self._engine.stop(STOP_DRAIN) and ended
            if self._committer.checkpoint.at_rest and not self._committer.closed:
                self._boots.end()
        finally:
            self._finished.close()
            if idle:
                self._committer.close()
            if self.heir is not None:
                self.heir.lock(self._lock.leave())
            elif idle:
                self._lock.release()

    # ---- the contract ----

    def mailbox(self, name: Name) -> Mailbox:
        """The mailbox or out queue of that place; a new one touches the disk with its
        first line."""
        box = self._boxes.get(name)
        if box is None:
            box = self._boxes[name] = Mailbox(name, partial(self._line, name))
            box.old = partial(self._old, name)
        return box

    def known(self, name: Name) -> Mailbox | None:
        """The same where there is one; none is made."""
        return self._boxes.get(name)

    def mailboxes(self) -> list[Mailbox]:
        """Every mailbox on disk or asked for."""
        return [box for box in self._boxes.values() if box.device is None]

    def queues(self) -> list[Mailbox]:
        """Every out queue on disk or asked for."""
        return [box for box in self._boxes.values() if box.device is not None]

    def submit(self, mail: Mail) -> None:
        """Commit mail; done comes after it is durable, in the inbox and known here."""
        if self._stopped or self._engine is None:
            self._loop.call_soon(mail.done, mail)
            return
        if not mail.barred:
            box = self._boxes.get(mail.place) or self.mailbox(mail.place)
            box.coming += 1
            box.coming_bytes += len(mail.tail)
        if mail.head.blobs:
            self._upkeep.clearing.named(mail.head.blobs)
        self._engine.mail(mail)

    def record(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None] | None = None,
        *,
        durable: bool = False,
    ) -> None:
        """Append line to the ledger; see the contract."""
        entry = Entry(name, line, done)
        if self._stopped or self._engine is None:
            self._loop.call_soon(_tell, entry)
        else:
            self._engine.entry(entry, durable=durable or line.rung in DECISIONS)

    def prune(self, names: list[Name], before: str, done: Pruned) -> None:
        """Remove old segments; see the contract."""
        self._upkeep.prune(names, before, done)

    def clear(self, before: float, done: Pruned) -> None:
        """Remove blobs that nobody names; see the contract."""
        if closed := self.closed():
            # What failed may be stored after all, and names what nobody knows of.
            error = OSError(errno.EIO, f"accept is closed: {closed}")
            self._loop.call_soon(done, [], error)
        else:
            self._upkeep.clearing.ask(before, done)

    def closed(self) -> str:
        """Why accept is closed; empty while it is open."""
        return "stopped" if self._stopped else self._committer.closed

    def refusal(self, name: Name) -> HomiError:
        """Why a mail for that place was not kept: the file that is in the way, where
        one is."""
        journals, why = self._committer.journals, self.closed()
        journal = journals.get(inbox_of(name))
        error = None if why else journals.barred.get(journal.name)
        if error is None:
            return unknown(why or "a write failed")
        return unusable(journal.path, self._root, error, until_restart=journal.broken)

    def unfit(self) -> str:
        """Why no other daemon could open the root as it is; empty where it could."""
        moved = "" if self._lock.stands() else f"{self._root} was moved or replaced"
        return moved or self._committer.closed

    def free_bytes(self) -> int:
        """Free disk less what the ring owes the journals; read once a second, and when
        the ring owes less: what it owed before has taken its room by then."""
        now, owed = self._clock.monotonic(), self._committer.ring.owed
        if now - self._free_at >= FREE_FOR or owed < self._free_owed:
            self._free_at = now
            self._free = self._disk.free(self._root)
        self._free_owed = owed
        return self._free - owed

    def commits(self) -> tuple[int, float]:
        """How many there were since the start, and what their syncs took."""
        return self._committer.commits, self._committer.sync_seconds

    def largest_line(self) -> int:
        """Bytes an inbox line may have; a longer one does not fit the ring."""
        return self._committer.ring.largest - FIXED - NAME_MAX

    def on_published(self, told: Callable[[], None]) -> None:
        """Call told behind the done callbacks of each batch, publishing being over."""
        self._told.append(told)

    def _line(self, name: Name, where: int, length: int) -> bytes:
        """The bytes of an inbox line."""
        path, offset = inbox_at(os.path.join(self._root, folder_of(name)), where)
        return read_line(self._disk, path, offset, length)

    def _old(self, name: Name, message: MessageId) -> tuple[int, Rung] | None:
        """What became of a message that is finished and forgotten."""
        old = self._committer.place(name).old
        if old is None or message not in old:
            return None
        return self._finished.of(name, message)

    # ---- what the engine tells ----

    def _publish(self, batch: Batch) -> None:
        """Let the mailboxes know, then answer."""
        boxes = self._boxes
        stored = Kept.STORED
        for mail in batch.mails:
            if mail.barred:
                continue
            box = boxes[mail.place]
            box.coming -= 1
            box.coming_bytes -= len(mail.tail)
            if mail.kept is stored:
                mail.item = box.arrived(
                    mail.seq,
                    mail.offset,
                    mail.length,
                    mail.head,
                    mail.via,
                    stamp(mail.tail),
                    mail.to,
                )
        # In the order of the file: evidence stands before the decisions of its batch.
        entries = batch.evidence + batch.decisions
        for entry in entries:
            if entry.ok:
                place = entry.place
                (boxes.get(place) or self.mailbox(place)).apply(entry.line)
        self.publishing = True
        try:
            self._answer(iter(batch.mails), iter(entries))
        finally:
            self.publishing = False
            for told in self._told:
                told()

    def _answer(self, mails: Iterator[Mail], entries: Iterator[Entry]) -> None:
        """Call every done; one that raises keeps no other from its answer."""
        whole = False
        try:
            for mail in mails:
                mail.done(mail)
            for entry in entries:
                _tell(entry)
            whole = True
        finally:
            if not whole:
                self._loop.call_soon(self._answer, mails, entries)

    def _amend(self, result: Reopened) -> None:
        """Follow a reopening: lines that moved, mail that was stored after all."""
        for name, places in result.moved.items():
            self.mailbox(Name(name)).moved(places)
        for mail in result.mails:
            self.mailbox(mail.place).arrived(
                mail.seq,
                mail.offset,
                mail.length,
                mail.head,
                mail.via,
                stamp(mail.tail),
                mail.to,
            )
        for entry in result.entries:
            self.mailbox(Name(entry.place)).apply(entry.line)


def _tell(entry: Entry) -> None:
    """Answer a ledger line, where somebody asked."""
    if entry.done is not None:
        entry.done(entry.ok)

"""Freeing the ring: its journals are synced, so its records may go.

Owns which journals are dirty under which half, and the order swap, sync the
journals, empty header.  homi-mailbox(5) states why.

sync_dirty() runs in a second thread and touches journals and folders only; all
else belongs to the committer, between two batches.
"""

import errno

from homi.store.disk import READ
from homi.store.fault import Hook
from homi.store.journal import Journal, Journals
from homi.store.ring import PAGE, Ring


class Checkpoint:
    """The checkpoints of one ring; one runs at a time."""

    def __init__(self, ring: Ring, journals: Journals, hook: Hook | None) -> None:
        """Nothing is dirty."""
        self._ring = ring
        self._journals = journals
        self._hook = hook
        self.dirty: list[set[Journal]] = [set(), set()]
        self.wanted = False  # the half is full, or all is idle
        self.running: int | None = None  # the half whose journals are being synced
        self.synced: int | None = None  # the half whose header may be emptied
        self.trouble = ""  # what sync_dirty() failed with
        self.ends: dict[str, int] = {}  # journals synced, and up to where

    @property
    def at_rest(self) -> bool:
        """Whether the folder alone is everything: no record and no journal is owed."""
        ring = self._ring
        other = 1 - ring.half
        return (
            ring.ends[ring.half] == PAGE
            and ring.ends[other] == PAGE
            and self.running is None
            and self.synced is None
            and not self.trouble
            and not self.dirty[0]
            and not self.dirty[1]
        )

    @property
    def due(self) -> bool:
        """Whether there is a step to take between two batches."""
        if self.running is not None:
            return False
        return self.wanted or self.synced is not None or bool(self.trouble)

    def touch(self, journal: Journal) -> None:
        """The journal is about to be written under the current half."""
        self.dirty[self._ring.half].add(journal)

    def is_dirty(self, journal: Journal) -> bool:
        """Whether the ring may still owe the journal something."""
        return journal in self.dirty[0] or journal in self.dirty[1]

    def swap(self) -> int | None:
        """Between two batches: go on in the other half; the half for sync_dirty().

        None where the other half is not free yet: then it stays wanted.
        """
        ring = self._ring
        if self.running is not None or self.synced is not None:
            return None
        if not ring.free[1 - ring.half]:
            return None
        self.wanted = False
        self.running = ring.swap()
        self._at("checkpoint-swapped")
        return self.running

    def sync_dirty(self, half: int) -> None:
        """Second thread: sync what is dirty under that half, and its folders."""
        trouble = ""
        created = set()
        ends: dict[str, int] = {}
        for journal in sorted(self.dirty[half], key=lambda dirty: dirty.name):
            least = journal.end  # before a look at the file: the committer goes on
            try:
                self._sync(journal, least)
            except OSError as error:
                if not least and isinstance(error, FileNotFoundError):
                    continue  # its first write failed: what it owes is owed elsewhere
                journal.lead = journal.broken = True
                trouble = f"cannot sync {journal.name}: {error.strerror}"
            else:
                ends[journal.name] = least
            if journal.new:
                created.add(journal)
            self._at("checkpoint-journal")
        if not trouble:
            trouble = self._sync_dirs(created)
        if not trouble:
            self.dirty[half] = set()
            self.synced = half
            self.ends |= ends
        self.trouble = trouble
        self._at("checkpoint-synced")
        # Last: the committer acts as soon as nothing runs.
        self.running = None

    def finish(self) -> None:
        """Between two batches: empty the synced half.  OSError: it is not free."""
        half = self.synced
        assert half is not None
        self.synced = None
        self._at("before-header")
        self._ring.put_header(half, max(self._ring.generations) + 1)
        self._at("header-write")
        self._ring.sync_header()
        self._at("after-header")
        # Only now: a record there before the header is durable would be dead after
        # a power cut.
        self._ring.free[half] = True

    def abandon(self, why: str) -> None:
        """sync_dirty() broke off: nothing it did may be believed."""
        self.trouble = why
        self.running = None

    def reset(self) -> None:
        """Everything was synced and the ring is new."""
        self.dirty = [set(), set()]
        self.wanted = False
        self.synced = None
        self.trouble = ""

    def _sync(self, journal: Journal, least: int) -> None:
        """Sync a journal by a descriptor of our own: the committer may close its.

        What stands at its path must have at least so many bytes: the lines may have
        gone into a file that another hand has moved away.
        """
        disk = self._journals.disk
        fd = disk.open(journal.path, READ)
        try:
            if disk.size(fd) < least:
                raise OSError(errno.EIO, "another hand has cut it")
            disk.sync(fd)
        finally:
            disk.close(fd)

    def _sync_dirs(self, created: set[Journal]) -> str:
        """Sync the folders of new journals up to the root; what went wrong."""
        try:
            self._journals.sync_dirs(created)
        except OSError as error:
            return f"cannot sync a folder: {error.strerror}"
        for journal in created:
            journal.new = False
        return ""

    def _at(self, point: str) -> None:
        """A place where a test may have the process killed."""
        if self._hook is not None:
            self._hook(point)

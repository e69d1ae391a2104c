"""The one writer of journals and ring, one batch at a time.

Owns the order: settle ids, records to the ring, one sync, lines to the journals,
ids known.  Knows nothing of loops and threads: every step is a plain call.
homi-mailbox(5) states the order and what a crash at each step leaves.
"""

from collections.abc import Callable

from homi.store.base import Kept
from homi.store.batch import Batch, Entry, Group, Reopened, Work
from homi.store.checkpoint import Checkpoint
from homi.store.fault import Hook
from homi.store.journal import Journal, Journals
from homi.store.places import place_of
from homi.store.recovery import Keep, Records, by_journal, repair
from homi.store.ring import Ring
from homi.store.settle import Settler, join

_MEAN = 0.2  # weight of the newest in a mean


class Committer:
    """The synchronous core of the store.  Calls must not overlap."""

    def __init__(
        self,
        ring: Ring,
        journals: Journals,
        keep: Keep,
        now: Callable[[], float],
        hook: Hook | None = None,
    ) -> None:
        """ring and journals as recover() left them."""
        self.ring = ring
        self.journals = journals
        self.checkpoint = Checkpoint(ring, journals, hook)
        self.settler = Settler(ring, journals, self.checkpoint.is_dirty)
        self.place = self.settler.place
        self.closed = ""  # why nothing is accepted; empty while it is
        self.mean_sync = 0.0  # seconds
        self.commits = 0  # batches whose sync went well
        self.sync_seconds = 0.0  # what these syncs took
        self.mean_lines = 0.0  # seconds a batch's lines take into the page cache
        self._keep = keep
        self._now = now
        self._hook = hook
        self._owed: list[Group] = []  # in the ring, not in their journals yet

    # ---- a batch ----

    def commit(self, batch: Batch) -> None:
        """Commit the batch; each mail and entry says what became of it.

        What does not fit comes back as late, and a checkpoint is wanted.
        """
        work = self.prepare(batch)
        if work is not None:
            self.make_durable(work)
            self.finish(work)

    def prepare(self, batch: Batch) -> Work | None:
        """Append the evidence, settle the rest; None where nothing is left to do."""
        if batch.evidence:
            self._append_evidence(batch.evidence)
        if self.closed:
            self.settler.known(batch)
            return None
        if not (batch.mails or batch.decisions):
            return None
        work = Work()
        if not self.settler.settle(batch, work):
            self.checkpoint.wanted = True
        return work

    def make_durable(self, work: Work) -> None:
        """Records to the ring and one sync.  Touches nothing but the ring and work,
        so a thread may do it while the loop gathers the next batch."""
        if not work.groups:
            return
        hook = self._hook
        if hook is not None:
            hook("before-ring")
        try:
            self.ring.write(work.parts, work.size)
            if hook is not None:
                hook("after-ring-write")
            began = self._now()
            self.ring.sync()
        except OSError as error:
            work.trouble = f"cannot sync the ring: {error.strerror}"
            return
        work.took = self._now() - began
        if hook is not None:
            hook("after-ring-sync")

    def finish(self, work: Work) -> None:
        """Lines to the journals, ids known; or the batch is refused as a whole."""
        if work.trouble:
            # Its pages may look clean now and not be on the disk: a second sync
            # proves nothing.  No line was written and no id is known.
            self.closed = work.trouble
        elif work.groups:
            self.mean_sync += _MEAN * (work.took - self.mean_sync)
            self.commits += 1
            self.sync_seconds += work.took
            began = self._now()
            self._put_lines(work)
            self.mean_lines += _MEAN * (self._now() - began - self.mean_lines)
        for mail, first in work.twins:
            join(mail, first)
        if self._hook is not None:
            self._hook("before-answer")

    def between(self) -> int | None:
        """The checkpoint's steps between two batches; a half for sync_dirty()."""
        checkpoint = self.checkpoint
        if self.closed or not checkpoint.due:
            return None
        if checkpoint.trouble:
            self.closed = checkpoint.trouble
            return None
        if checkpoint.synced is not None:
            try:
                checkpoint.finish()
            except OSError as error:
                self.closed = f"cannot sync the ring: {error.strerror}"
                return None
        return checkpoint.swap() if checkpoint.wanted else None

    def _append_evidence(self, entries: list[Entry]) -> None:
        """Append lines whose loss can only repeat a hand-over: no sync."""
        for group in self.settler.evidence(entries):
            self.checkpoint.touch(group.journal)
            try:
                self.journals.append(group.journal, b"".join(group.lines))
            except OSError:
                continue
            for entry in group.entries:
                entry.ok = True
            if self._hook is not None:
                self._hook("evidence")

    def _put_lines(self, work: Work) -> None:
        """Append each journal's lines; then, and only then, their ids are known."""
        for journal, group in work.groups.items():
            self.checkpoint.touch(journal)
            lines = group.lines
            try:
                at = self.journals.append(
                    journal, lines[0] if len(lines) == 1 else b"".join(lines)
                )
            except OSError as error:
                # The ring holds them, so they are to be stored, whatever it takes.
                journal.broken = True
                self._owed.append(group)
                self.closed = f"cannot write {journal.name}: {error.strerror}"
                continue
            for entry in group.entries:
                entry.ok = True
            known, stored = group.known, Kept.STORED
            for mail, line, key in zip(group.mails, lines, group.keys, strict=False):
                mail.offset = at
                mail.length = len(line)
                mail.kept = stored
                if known.setdefault(key, at) != at:
                    known.add(key, at)
                at += len(line)
        if self._hook is not None:
            self._hook("after-lines")

    def close(self) -> None:
        """Give the files back; nothing may be committed any more."""
        self.journals.close()
        self.ring.close()

    # ---- after a failure ----

    def reopen(self) -> Reopened:
        """Try to make good what failed: closed is empty when it was.

        Every journal written since its last checkpoint is made to hold its records
        and synced, then a new generation stands in the ring, synced.  Not to be
        called while sync_dirty() runs.
        """
        result = Reopened()
        checkpoint = self.checkpoint
        checkpoint.synced = None
        try:
            records = by_journal(self.ring.standing())
            dirty = checkpoint.dirty[0] | checkpoint.dirty[1]
            for journal in sorted(dirty, key=lambda journal: journal.name):
                self._make_good(journal, records, result)
            self.ring.renew()
            self.ring.renewed()
        except OSError as error:
            self.closed = f"{self.closed.partition(' (')[0]} ({error.strerror})"
            return result
        checkpoint.reset()
        for group in self._owed:
            result.mails += group.mails
            result.entries += group.entries
        self._owed = []
        for journal in dirty:
            journal.broken = False
        self.closed = ""
        return result

    def _make_good(self, journal: Journal, records: Records, result: Reopened) -> None:
        """Repair and sync one journal, and follow the lines that moved."""
        wanted = records.get(journal.name, {})
        self.journals.forget(journal)
        if not wanted and not self.journals.disk.exists(journal.path):
            return
        repaired = repair(self.journals, journal, wanted, self._keep, self._hook)
        name = place_of(journal.name)
        if repaired.cut is not None and not journal.is_ledger:
            self.place(name).known.moved(
                repaired.cut,
                [(repaired.where[seq], wanted[seq]) for seq in repaired.again],
            )
            result.moved[name] = {seq: repaired.where[seq] for seq in repaired.again}
        for group in self._owed:
            if group.journal is not journal:
                continue
            for mail, line, key in zip(
                group.mails, group.lines, group.keys, strict=False
            ):
                # A second try finds no records any more: the first one placed it.
                mail.offset = repaired.where.get(mail.seq, mail.offset)
                mail.length = len(line)
                group.known.add(key, mail.offset)
        self.journals.sync(journal)
        journal.new = False

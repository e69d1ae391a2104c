"""The store's rules, each with the code that breaks it.

A variant replaces one function of the real code for the time of a test; what it
leaves out is the rule.  powercut.history() must then find what it was good for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from homi.store import quarantine, recovery
from homi.store.batch import Batch
from homi.store.checkpoint import Checkpoint
from homi.store.committer import Committer
from homi.store.disk import WRITE, Disk, write_all
from homi.store.journal import Journal, Journals
from homi.store.ring import Ring
from homi.store.settle import join


class Rule(NamedTuple):
    """What is replaced, and by what."""

    owner: Any
    name: str
    variant: Callable[..., Any]


def _sync_nothing(self: Ring) -> None:
    """Ring.sync: count the batch as durable without a sync."""
    self.ends[self.half] += self._written
    self._written = 0


def _sync_twice(self: Ring) -> None:
    """Ring.sync: after a failed one believe the second."""
    try:
        self._disk.sync(self._fd)
    except OSError:
        self._disk.sync(self._fd)
    _sync_nothing(self)


def _lines_first(self: Committer, batch: Batch) -> None:
    """Committer.commit: lines to the journals before the ring's sync."""
    work = self.prepare(batch)
    if work is None:
        return
    if work.groups:
        self._put_lines(work)
    self.make_durable(work)
    self.closed = work.trouble
    for mail, first in work.twins:
        join(mail, first)


_append = Journals.append


def _append_unled(self: Journals, journal: Journal, data: bytes) -> int:
    """Journals.append: no line feed of its own in front of the first line."""
    self.fd(journal)
    journal.lead = False
    return _append(self, journal, data)


def _sync_no_journal(self: Checkpoint, journal: Journal, least: int) -> None:
    """Checkpoint._sync: the half is freed and its journals are not synced."""


def _sync_no_folder(self: Journals, created: set[Journal]) -> None:
    """Journals.sync_dirs: the names of new journals are left to chance."""


def _no_folder_at_start(journals: Journals) -> None:
    """recovery._sync_all_dirs: names made before a process death are trusted."""


def _old_generation(self: Ring, above: int = 0) -> None:
    """Ring.renew: start over the old records under their own generation."""
    self._written = 0
    for half in (0, 1):
        self.put_header(half, max(1, above, *self.generations))


def _kept_unsynced(disk: Disk, path: str, data: bytes) -> None:
    """quarantine.write_whole: the piece is written and nothing synced."""
    fd = disk.open(path, WRITE)
    write_all(disk, fd, data, 0)
    disk.close(fd)


def _no_rewrite(self: Journals, journal: Journal, data: bytes, at: int) -> None:
    """Journals.overwrite: believe lines that look as if they were there."""


def _sync_no_repair(self: Journals, journal: Journal) -> None:
    """Journals.sync: what a repair wrote is not synced."""


RULES: dict[str, Rule] = {
    "the ring is synced before the answer": Rule(Ring, "sync", _sync_nothing),
    "a failed sync is never believed": Rule(Ring, "sync", _sync_twice),
    "the ring comes before the lines": Rule(Committer, "commit", _lines_first),
    "a first line leads with a line feed": Rule(Journals, "append", _append_unled),
    "journals are synced before a half is free": Rule(
        Checkpoint, "_sync", _sync_no_journal
    ),
    "folders of new journals are synced": Rule(Journals, "sync_dirs", _sync_no_folder),
    "a start syncs all folders": Rule(recovery, "_sync_all_dirs", _no_folder_at_start),
    "a start makes a new generation": Rule(Ring, "renew", _old_generation),
    "quarantine is durable before a cut": Rule(
        quarantine, "write_whole", _kept_unsynced
    ),
    "lines found in place are written again": Rule(Journals, "overwrite", _no_rewrite),
    "repaired journals are synced": Rule(Journals, "sync", _sync_no_repair),
}

"""Making journals hold what the ring holds: at start and after a failed sync.

Owns the order of these steps; each may be interrupted and repeated.
homi-mailbox(5) has the order and what each crash leaves.
"""

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from homi.store.fault import Hook
from homi.store.journal import UNUSABLE, Journal, Journals, Line, lines
from homi.store.lines import Finding
from homi.store.places import TOPS, is_journal
from homi.store.ring import Redo, Ring

# Keeps bytes durably in quarantine: (label, bytes) -> where; OSError if it cannot.
Keep = Callable[[str, bytes], str]
Records = dict[str, dict[int, bytes]]  # journal -> sequence -> line


class Repaired(NamedTuple):
    """What repair() left: where each record stands, and where lines moved from."""

    where: dict[int, int]  # sequence -> offset
    cut: int | None  # lines at and behind this offset were cut; None: none
    again: list[int]  # the sequences that were appended anew


def by_journal(records: list[Redo]) -> Records:
    """The records of each journal, by sequence."""
    found: Records = {}
    for record in records:
        found.setdefault(record.journal, {})[record.seq] = record.line
    return found


def recover(
    ring: Ring, journals: Journals, keep: Keep, hook: Hook | None = None
) -> list[Finding]:
    """Redo the ring, then empty it; what was found damaged.  OSError ends the start.

    Afterwards every journal on disk is loaded: its end and its last sequence.  One
    that is no file of ours is shut, unless the ring has a line for it.
    """
    at = hook or _nowhere
    scan = ring.scan()
    named = by_journal([r for r in scan.records if is_journal(r.journal)])
    at("recover-scanned")
    for name in sorted(named):
        repair(journals, journals.get(name), named[name], keep, at)
    for name in sorted(named):
        journal = journals.get(name)
        journals.sync(journal)
        journals.sync_dirs({journal})
        journal.new = False
    at("recover-synced")
    _sync_all_dirs(journals)
    at("recover-dirs")
    ring.renew(scan.top)
    at("recover-header")
    ring.renewed()
    at("recover-done")
    unusable = []
    for name in journals.names():
        try:
            journal = journals.load(name)
        except OSError as error:
            if name in named or error.errno not in UNUSABLE:
                raise
            journals.shut(name, error)
            text = f"unusable, and its mailbox with it: {error.strerror}"
            unusable.append(Finding(journals.get(name).path, -1, text))
            continue
        journal.last = max(journal.last, *named.get(name, {0: b""}))
    foreign = [r for r in scan.records if not is_journal(r.journal)]
    return [*scan.findings, *unusable] + [
        Finding("ring", -1, f"a record for {r.journal[:80]!a}, which is no journal")
        for r in foreign
    ]


def repair(
    journals: Journals,
    journal: Journal,
    records: dict[int, bytes],
    keep: Keep,
    at: Hook | None = None,
) -> Repaired:
    """Let the journal hold every record, in order.  Counts after a sync of it."""
    at = at or _nowhere
    journal.lead = True
    if not records:
        return Repaired({}, None, [])
    # Twice the bytes asked for: junk between the lines must not hide the oldest.
    least = 2 * sum(map(len, records.values()))
    base, data = journals.tail(journal, min(records), least)
    found = [line for line in lines(journal, data) if line.seq]
    have = {line.seq: line for line in found}
    wanted = sorted(records)
    gone = next(
        (
            seq
            for seq in wanted
            if (line := have.get(seq)) is None
            or data[line.start : line.end] != records[seq]
        ),
        None,
    )
    standing = [have[seq] for seq in wanted if gone is None or seq < gone]
    for start, end in _runs(standing):
        # Their pages may look clean and not be on the disk: only what is written
        # again may be believed to be synced.
        lead = b"\n" if base + start else b""
        journals.overwrite(journal, lead + data[start:end], base + start - len(lead))
        at("recover-rewrite")
    where = {line.seq: base + line.start for line in standing}
    if gone is None:
        return Repaired(where, None, [])
    cut = max((line.end for line in found if line.seq < gone), default=0)
    _cut(journals, journal, base + cut, data[cut:], keep, at)
    again = [seq for seq in wanted if seq >= gone]
    first = journals.append(journal, b"".join([records[seq] for seq in again]))
    at("recover-append")
    for seq in again:
        where[seq] = first
        first += len(records[seq])
    return Repaired(where, base + cut, again)


def _runs(standing: list[Line]) -> Iterator[tuple[int, int]]:
    """Lines that follow each other without a gap, as (start, end) of each run."""
    start = end = -1
    for line in standing:
        if line.start != end:
            if end >= 0:
                yield start, end
            start = line.start
        end = line.end
    if end >= 0:
        yield start, end


def _cut(
    journals: Journals,
    journal: Journal,
    offset: int,
    rest: bytes,
    keep: Keep,
    at: Hook,
) -> None:
    """Cut the journal at offset; the rest is in quarantine before, durably."""
    if not rest:
        return
    keep(f"{journal.name.replace('/', '-')}.{offset}", rest)
    at("recover-quarantined")
    journals.cut(journal, offset)
    at("recover-cut")
    # A cut that grows again unsynced may bring the old bytes back in its pages.
    journals.disk.sync(journals.fd(journal))
    at("recover-cut-synced")


def _sync_all_dirs(journals: Journals) -> None:
    """Sync the root, mail/, out/ and each mailbox: a name there may be unsynced."""
    disk, root = journals.disk, journals.root
    disk.sync_dir(root)
    for top in TOPS:
        base = os.path.join(root, top)
        if not disk.exists(base):
            continue
        disk.sync_dir(base)
        for name in sorted(disk.listdir(base)):
            # A stray file there is no mailbox; it must not end the start.
            try:
                disk.sync_dir(os.path.join(base, name))
            except NotADirectoryError:
                continue


def _nowhere(_point: str) -> None:
    """No test is watching."""

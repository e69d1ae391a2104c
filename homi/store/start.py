"""From a state root to a committer and its mailboxes: recover, empty, load.

Owns the order of a start behind the lock.  homi-mailbox(5) has it.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

from homi.address import Name
from homi.errors import StorageFailed
from homi.store.committer import Committer
from homi.store.dedupe import key_of
from homi.store.disk import Disk
from homi.store.fault import Hook
from homi.store.index import Index
from homi.store.journal import Journals
from homi.store.lines import Finding
from homi.store.loading import load
from homi.store.mailbox import Mailbox
from homi.store.places import place_of
from homi.store.recovery import Keep, recover
from homi.store.reminder import Reminder
from homi.store.ring import Ring, resize
from homi.store.rotation import finish
from homi.store.whole import put_aside, remedy

RING = "ring"


class Started(NamedTuple):
    """A store that is ready for its first batch."""

    committer: Committer
    mailboxes: dict[Name, Mailbox]
    findings: list[Finding]  # what could not be read; left where it is


def start(
    disk: Disk,
    root: str,
    size: int,
    keep: Keep,
    now: Callable[[], float],
    hook: Hook | None = None,
    *,
    index: Index | None = None,
) -> Started:
    """Recover what root holds and load it; 74 when a step of it fails.

    size: bytes of the ring.  index: what it vouches for is not read.
    """
    path = os.path.join(root, RING)
    journals = Journals(disk, root, hook)
    try:
        moved = put_aside(disk, path)
        finish(disk, root)
        ring = Ring(disk, path, size)
        findings = recover(ring, journals, keep, hook)
        if moved:
            findings.append(Finding(path, -1, f"no file; moved aside as {moved}"))
        ring = resize(ring, disk, path, size)
    except OSError as error:
        journals.close()
        raise StorageFailed(
            f"cannot recover {error.filename or root}: {error.strerror or error}",
            hint=remedy(error.filename or root, error)
            or "nothing was given up: free space or mend the disk, then start again",
        ) from error
    committer = Committer(ring, journals, keep, now, hook)
    mailboxes: dict[Name, Mailbox] = {}
    usable = [place_of(j.name) for j in journals.loaded() if not j.broken]
    for name in sorted(set(usable)):
        before = index.before(name) if index is not None else None
        loaded = load(root, name, disk, before=before)
        place = committer.place(name)
        place.old = loaded.old
        place.inbox.last = max(place.inbox.last, loaded.mailbox.last_seq)
        place.ledger.last = max(place.ledger.last, loaded.mailbox.last_n)
        mailboxes[name] = loaded.mailbox
        findings += loaded.findings
        for origin, message, where in loaded.keys:
            place.known.add(key_of(origin, message), where)
    if index is not None:
        committer.settler.reminder = Reminder(root, disk)
    return Started(committer, mailboxes, findings)

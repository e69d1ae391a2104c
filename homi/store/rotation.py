"""Closing a segment: both journals of a mailbox become a pair in its archive.

Owns the order of these steps and what a start makes of half of them.
homi-mailbox(5) has the order.
"""

import os

from homi.store.archive import ARCHIVE, in_archive, segments
from homi.store.batch import Place
from homi.store.disk import Disk
from homi.store.journal import Journal, Journals
from homi.store.places import LEDGER, folder_of, inbox_in, places


def close_segment(journals: Journals, place: Place) -> int:
    """Move both journals to the archive, durably; the last seq, which names them.

    Only at rest and with nothing pending in the inbox.  OSError: they are where they
    were, or neither takes a line before the next start, which finishes it.
    """
    disk, last, at = journals.disk, place.inbox.last, journals.at
    folder = place.inbox.folder
    # Imported mail that was finished needs no ledger line: without a file of its own
    # there would be half a segment.
    journals.fd(place.ledger)
    disk.mkdir(os.path.join(folder, ARCHIVE))
    disk.sync_dir(folder)
    at("archive-made")
    for journal, name in ((place.inbox, inbox_in(folder)), (place.ledger, LEDGER)):
        try:
            _move(journals, journal, os.path.join(folder, in_archive(name, last)))
        except OSError as error:
            if name == LEDGER or not disk.exists(journal.path):
                journals.shut(journal.name, error)
            raise
        at("archive-ledger" if name == LEDGER else "archive-inbox")
    place.known.closed(last)
    return last


def finish(disk: Disk, root: str) -> None:
    """Close to the end what a crash left half closed: before any journal is read."""
    for name in places(disk, root):
        folder = os.path.join(root, folder_of(name))
        found = segments(disk, folder)
        if not found or found[-1].whole:
            continue
        ledger = os.path.join(folder, LEDGER)
        closed = os.path.join(folder, found[-1].ledger)
        inbox = os.path.join(folder, found[-1].inbox)
        # Its inbox was moved and synced first, and nothing was written since.
        if (
            disk.exists(inbox)
            and disk.exists(ledger)
            and not disk.exists(os.path.join(folder, inbox_in(folder)))
        ):
            disk.rename(ledger, closed)
            sync_both(disk, folder)


def sync_both(disk: Disk, folder: str) -> None:
    """What moved between a mailbox and its archive has moved for good."""
    disk.sync_dir(os.path.join(folder, ARCHIVE))
    disk.sync_dir(folder)


def _move(journals: Journals, journal: Journal, to: str) -> None:
    """Give a journal its name in the archive, durably; the next line makes another."""
    path = journal.path
    journals.forget(journal)
    journals.disk.rename(path, to)
    sync_both(journals.disk, journal.folder)

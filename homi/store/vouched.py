"""What a start may believe of a mailbox without reading it.

Owns the checks that make the index's word good enough; where one fails the files are
read.  homi-mailbox(5) has the rule.
"""

import os

from homi.address import Name
from homi.store import oldids
from homi.store.archive import segments
from homi.store.boxes import is_current, open_pair, read_box, read_row, typed
from homi.store.database import Broken, Database, Moved, Unwritable
from homi.store.disk import Disk
from homi.store.lines import Finding
from homi.store.loading import Before, Whole
from homi.store.places import LEDGER
from homi.store.rows import SELECT, Box, Row


def before(db: Database, disk: Disk, folder: str, name: Name) -> Before | None:
    """The mailbox up to where the index got; None where that is not what stands on
    disk, or nothing.  Broken: the index is damaged."""
    box = read_box(db, name)
    if not box.num or not is_current(disk, folder, box, segments(disk, folder)):
        return None
    pair = open_pair(disk, folder)
    try:
        if not pair.matches(disk, box):
            return None
    finally:
        pair.close(disk)
    found = typed(
        db.all(
            "SELECT journal, offset, text, seq FROM finding WHERE box=?"
            " ORDER BY journal, offset",
            box.num,
        ),
        list[tuple[str, int, str, int | None]],
    )

    def row(seq: int) -> Row | None:
        sql = f"SELECT {SELECT} FROM mail WHERE box=? AND seq=?"
        try:
            values = db.one(sql, box.num, seq)
            return read_row(values) if values else None
        except (Broken, Moved, Unwritable) as error:
            raise Whole from error

    return Before(
        inbox=box.inbox.end,
        ledger=box.ledger.end,
        archived=box.segments[-1].last if box.segments else 0,
        last_seq=box.last_seq,
        last_n=box.last_n,
        pending=_pending(db, box),
        findings=[
            Finding(os.path.join(folder, journal), offset, text)
            for journal, offset, text, _ in found
            if text
        ],
        old=oldids.read(db, box.num, box.runs),
        row=row,
        orphans=frozenset(
            seq for journal, *_, seq in found if seq and journal == LEDGER
        ),
    )


def _pending(db: Database, box: Box) -> list[Row]:
    """The pending rows in file order; Broken where one is missing or changed."""
    sql = f"SELECT {SELECT} FROM mail WHERE box=? AND pending ORDER BY row"
    rows = [read_row(values) for values in db.all(sql, box.num)]
    seen = Box(box.name)
    for row in rows:
        seen.count(row, 1)
    if (seen.pending, seen.sum) != (box.pending, box.sum):
        raise Broken(f"what is pending in {box.name}")
    return rows

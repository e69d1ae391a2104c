"""What left an out queue for another device, looked up again in the files.

Owns how it is found which of it a device took, and when.  Asked for only where that
device lost it.  homi-protocol(7) has the rule.
"""

import os
from collections.abc import Collection, Iterator

import msgspec

from homi.address import Name
from homi.clock import parse_rfc3339
from homi.envelope import (
    LedgerLine,
    MessageId,
    Rung,
    decode_envelope,
    decode_ledger,
    decode_msg,
)
from homi.errors import StorageFailed
from homi.store.archive import place, segments
from homi.store.disk import Disk, RealDisk
from homi.store.index import Entry, Index, Query
from homi.store.lines import chunks, holding
from homi.store.mailbox import ONWARD, Item
from homi.store.places import LEDGER, folder_of

CHUNK = 250  # messages looked up at once
# Whose reader is known to have had it does not need it once more.
UNREAD = frozenset({Rung.RELAYED, Rung.OFFERED})


class Sent(msgspec.Struct, frozen=True):
    """Messages that went on to another device, the newest first."""

    entries: list[Entry]
    more: bool  # there may be older ones


class Letters(msgspec.Struct, frozen=True):
    """What can be sent once more, in the order of its queue."""

    items: list[Item]


def sent(index: Index, queue: Name, below: int | None, since: str) -> Sent:
    """What went on from the queue before the seq below (None: the newest), and of
    which something was heard since then."""
    query = Query(
        names=(queue,),
        rungs=ONWARD,
        pending=False,
        below=below,
        newest=True,
        limit=CHUNK,
    )
    young = [entry for entry in index.search(query) if entry.changed >= since]
    return Sent(young, len(young) == CHUNK)


def letters(
    index: Index, entries: list[Entry], by: Collection[str], now: float
) -> Letters:
    """Those of entries, of one queue, that one of by took, that nobody is known to
    have read, and whose time is not over."""
    open_ = sorted((e for e in entries if e.rung in UNREAD), key=lambda e: e.seq)
    if not open_:
        return Letters([])
    took = _took(index.root, open_, RealDisk())
    found = [_item(index, each) for each in open_ if took.get(each.seq) in by]
    return Letters([item for item in found if item is not None and _lives(item, now)])


def _took(root: str, entries: list[Entry], disk: Disk) -> dict[int, str | None]:
    """Who took each, as its last such line says."""
    folder = os.path.join(root, folder_of(entries[0].name))
    wanted: dict[int, MessageId] = {entry.seq: entry.id for entry in entries}
    first = min((entry.segment for entry in entries if entry.segment), default=None)
    took: dict[int, str | None] = {}
    for line in _relayed(folder, first, disk):
        if wanted.get(line.seq) == line.id:
            took[line.seq] = line.by
    return took


def _relayed(folder: str, first: int | None, disk: Disk) -> Iterator[LedgerLine]:
    """The lines of what was taken, from the ledger of the segment first on."""
    closed = [] if first is None else segments(disk, folder)
    names = [one.ledger for one in closed if one.last >= (first or 0)]
    for name in (*names, LEDGER):
        path = os.path.join(folder, name)
        for _, line in holding(chunks(path, disk), b'"relayed"'):
            try:
                found = decode_ledger(line)
            except (ValueError, RecursionError):
                continue  # damaged: the index has told of it
            if found.rung is Rung.RELAYED:
                yield found


def _item(index: Index, entry: Entry) -> Item | None:
    """The message as a queue has it; None where it cannot be read any more."""
    try:
        envelope = decode_envelope(index.line(entry))
        head = decode_msg(envelope.msg)
    except (StorageFailed, ValueError, RecursionError):
        return None
    where = place(entry.segment, entry.offset)
    return Item(
        entry.seq,
        where,
        entry.length,
        head,
        envelope.via,
        envelope.at,
        envelope.to,
    )


def _lives(item: Item, now: float) -> bool:
    """Whether its sender still wants it delivered."""
    return item.ttl_s is None or parse_rfc3339(item.at) + item.ttl_s > now

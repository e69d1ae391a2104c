"""A mailbox from its files: whole, or from where somebody vouches for the rest.

Owns the way from inbox and ledger lines to a Mailbox and to the ids it holds, and
what is said of lines that cannot be read.  Changes nothing on disk.
homi-mailbox(5) is the format.
"""

import os
from collections.abc import Callable, Iterator
from typing import cast

import msgspec

from homi.address import Name
from homi.envelope import (
    FINISHED,
    Kind,
    LedgerLine,
    MessageId,
    Msg,
    Rung,
    Via,
    decode_ledger,
    origin,
)
from homi.store.archive import inbox_at, place, segments
from homi.store.disk import Disk, RealDisk
from homi.store.lines import Finding, Unreadable, chunks, read_line, split
from homi.store.mailbox import Item, Mailbox, seconds
from homi.store.oldids import OldIds
from homi.store.places import LEDGER, folder_of, inbox_in
from homi.store.reading import EnvelopeHead, MsgHead, orphan, readable
from homi.store.rows import Row


class Before(msgspec.Struct, frozen=True):
    """What is known of a mailbox up to some byte of each of its journals."""

    inbox: int  # bytes of inbox.jsonl
    ledger: int
    archived: int  # the last seq that is in a closed segment; 0: there is none
    last_seq: int
    last_n: int
    pending: list[Row]
    findings: list[Finding]
    old: OldIds
    row: Callable[[int], Row | None]  # the message of that seq, or Whole
    orphans: frozenset[int]  # the seqs a ledger line there told of in vain


class Loaded(msgspec.Struct):
    """A mailbox as its files tell it."""

    mailbox: Mailbox
    findings: list[Finding]
    keys: list[tuple[str, MessageId, int]]  # origin, id, place; without those in old
    old: OldIds | None = None
    archived: int = 0  # the last seq that is in a closed segment


class Whole(Exception):
    """The tail changes the meaning of what stands before it, or nobody vouches for
    that any more: all is to be read."""


_decode_head = msgspec.json.Decoder(EnvelopeHead).decode


def load(
    root: str,
    name: Name,
    disk: Disk | None = None,
    *,
    doubtful: bool = False,
    before: Before | None = None,
) -> Loaded:
    """The mailbox of name under root.  What is unreadable is a finding, never fatal.

    doubtful: the machine started anew since, so a hand-over may have left no trace.
    before: what need not be read.
    """
    disk = disk or RealDisk()
    folder = os.path.join(root, folder_of(name))
    try:
        loaded = _Loading(disk, folder, name, before).run()
    except Whole:
        loaded = _Loading(disk, folder, name, None).run()
    pending = loaded.mailbox.pending
    loaded.mailbox.pending = dict(sorted(pending.items()))
    for item in pending.values():
        if doubtful or item.rung is Rung.INTENT:
            loaded.mailbox.doubt(item)
    return loaded


class _Loading:
    """One mailbox while its files are read."""

    def __init__(
        self, disk: Disk, folder: str, name: Name, before: Before | None
    ) -> None:
        """Begin with what was known before."""
        self._folder = folder
        self._disk = disk
        self._before = before
        self._seqs: set[int] = set()
        self._last = 0
        mailbox = Mailbox(name, self._read)
        self.loaded = Loaded(mailbox, [], [])
        if before is not None:
            self._last = before.last_seq
            mailbox.last_seq, mailbox.last_n = before.last_seq, before.last_n
            self.loaded.findings += before.findings
            self.loaded.old = before.old
            self.loaded.archived = before.archived
            for row in before.pending:
                _restore(mailbox, row)

    def run(self) -> Loaded:
        """Read what has to be read."""
        if self._before is None:
            for segment in segments(self._disk, self._folder):
                if segment.whole:
                    self.loaded.archived = segment.last
                    self._pair(segment.inbox, segment.ledger, segment.last)
                    # Of an emptied one only the name tells it.
                    self._last = max(self._last, segment.last)
                    self.loaded.mailbox.last_seq = self._last
        self._pair(inbox_in(self._folder), LEDGER, 0)
        return self.loaded

    def _pair(self, inbox: str, ledger: str, segment: int) -> None:
        """Read an inbox and its ledger, the ledger first: a line there tells of an
        envelope that stood in the inbox before."""
        lines = list(self._entries(ledger))
        ended: dict[int, LedgerLine] = {}
        for _, line in lines:
            if line.rung in FINISHED:
                ended.setdefault(line.seq, line)
        waiting = self._inbox(inbox, segment, ended)
        mailbox, findings = self.loaded.mailbox, self.loaded.findings
        path = os.path.join(self._folder, ledger)
        for offset, line in lines:
            if line.seq not in self._seqs and not self._known(line.seq):
                findings.append(Finding(path, offset, orphan(line.seq)))
            elif (end := waiting.get(line.seq)) is not None:
                # Only what stands behind the line that finished it may raise its rung.
                if end is line:
                    del waiting[line.seq]
                mailbox.last_n = max(mailbox.last_n, line.n)
                continue
            mailbox.apply(line)

    def _inbox(
        self, name: str, segment: int, ended: dict[int, LedgerLine]
    ) -> dict[int, LedgerLine]:
        """Fill the mailbox from an inbox; of what is finished in it the line that
        did it."""
        waiting: dict[int, LedgerLine] = {}
        mailbox, findings = self.loaded.mailbox, self.loaded.findings
        keys, seqs, last = self.loaded.keys, self._seqs, self._last
        path = os.path.join(self._folder, name)
        start = self._before.inbox if self._before is not None else 0
        for at, line in split(chunks(path, self._disk, start)):
            offset = start + at
            head = readable(line, offset, _decode_head)
            if isinstance(head, Unreadable):
                findings.append(Finding(path, offset, head.text))
                continue
            seq, msg = head.seq, head.msg
            where = place(segment, offset)
            keys.append((origin(head.via), msg.id, where))
            if seq <= last:
                text = f"envelope {seq} stands behind envelope {last}"
                findings.append(Finding(path, offset, text))
                if seq in seqs or self._row(seq) is not None:
                    continue
            if self._before is not None and seq in self._before.orphans:
                raise Whole
            seqs.add(seq)
            last = max(last, seq)
            if (end := ended.get(seq)) is not None:
                waiting[seq] = end
                mailbox.remember(seq, msg.id, end.rung)
            else:
                # A MsgHead is a Msg without what an Item never reads.
                mailbox.arrived(
                    seq,
                    where,
                    len(line) + 1,
                    cast(Msg, msg),
                    head.via,
                    head.at,
                    head.to if isinstance(head.to, str) else "",
                )
        self._last = mailbox.last_seq = last
        return waiting

    def _entries(self, name: str) -> Iterator[tuple[int, LedgerLine]]:
        """The readable lines of a ledger; the others become findings."""
        path = os.path.join(self._folder, name)
        start = self._before.ledger if self._before is not None else 0
        for at, line in split(chunks(path, self._disk, start)):
            found = readable(line, start + at, decode_ledger)
            if isinstance(found, Unreadable):
                self.loaded.findings.append(Finding(path, start + at, found.text))
            else:
                yield start + at, found

    def _known(self, seq: int) -> bool:
        """Whether a ledger line may be about that seq: of mail that is archived, or
        stands in the part that need not be read.  What is finished there is called
        to mind, so that a later line can raise its rung."""
        mailbox = self.loaded.mailbox
        if seq in mailbox.pending or seq <= self.loaded.archived:
            known = True
        else:
            known = self._row(seq) is not None
        if self._before is not None and seq not in mailbox.pending:
            row = self._row(seq)
            if row is not None and not row.pending:
                mailbox.recall(seq, MessageId(row.head + row.tail), row.rung)
        return known

    def _row(self, seq: int) -> Row | None:
        """The message of that seq in the part that need not be read."""
        before = self._before
        return None if before is None or seq > before.last_seq else before.row(seq)

    def _read(self, where: int, length: int) -> bytes:
        """The bytes of one inbox line."""
        path, offset = inbox_at(self._folder, where)
        return read_line(self._disk, path, offset, length)


def _restore(mailbox: Mailbox, row: Row) -> Item:
    """Put a pending envelope back as it stood."""
    head = MsgHead(
        id=MessageId(row.head + row.tail),
        from_=row.sender,
        kind=Kind(row.kind),
        reply_to=MessageId(row.reply_to) if row.reply_to is not None else None,
        ttl_s=row.ttl,
    )
    via = Via(door="", device=row.device, repeat=bool(row.again))
    where = place(row.segment, row.offset)
    item = mailbox.arrived(
        row.seq, where, row.length, cast(Msg, head), via, row.at, row.dest
    )
    item.rung, item.reason, item.until = row.rung, row.reason, seconds(row.until)
    item.session, item.taken, item.repeat = row.session, row.taken, row.repeat
    return item

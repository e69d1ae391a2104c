"""Reading mailboxes from their files: at start, and with the daemon dead.

Owns the way from bytes to a Mailbox and to envelopes, and what is said of lines
that cannot be read.  Changes nothing on disk.  homi-mailbox(5) is the format.
"""

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar, cast

import msgspec

from homi.address import Name
from homi.envelope import (
    FINISHED,
    VERSION,
    Envelope,
    Kind,
    LedgerLine,
    MessageId,
    Msg,
    Rung,
    Via,
    decode_envelope,
    decode_ledger,
    origin,
)
from homi.store.disk import Disk, RealDisk
from homi.store.lines import Finding, Unreadable, chunks, read_line, split
from homi.store.mailbox import Mailbox

INBOX = "inbox.jsonl"
LEDGER = "ledger.jsonl"
_QUOTED = re.compile(r"'.*'", re.DOTALL)
SEQ_MAX = 1 << 53  # beyond it a JSON reader elsewhere would round: no seq of ours


class Numbered(Protocol):
    """A record of a journal."""

    @property
    def seq(self) -> int:
        """The envelope it is, or is about."""
        ...


Record = TypeVar("Record", bound=Numbered)


class MsgHead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The fields of msg a mailbox needs; the text is passed over undecoded."""

    id: MessageId
    from_: str = msgspec.field(name="from")
    kind: Kind = Kind.MAIL
    reply_to: MessageId | None = None
    ttl_s: int | None = None


class EnvelopeHead(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The fields of an inbox line a mailbox needs."""

    v: int
    seq: int
    at: str
    via: Via
    msg: MsgHead


class Loaded(msgspec.Struct):
    """A mailbox as its files tell it."""

    mailbox: Mailbox
    findings: list[Finding]
    keys: list[tuple[str, MessageId, int]]  # origin, id, offset of every envelope


_decode_head = msgspec.json.Decoder(EnvelopeHead).decode


def load(
    root: str, name: Name, disk: Disk | None = None, *, doubtful: bool = False
) -> Loaded:
    """The mailbox of name under root.  What is unreadable is a finding, never fatal.

    doubtful: the machine started anew since, so a hand-over may have left no trace.
    """
    disk = disk or RealDisk()
    inbox, ledger = _journals(root, name)
    mailbox = Mailbox(name, partial(_read_from, disk, inbox))
    loaded = Loaded(mailbox, [], [])
    lines = list(_ledger_lines(ledger, disk, loaded.findings))
    ended: dict[int, LedgerLine] = {}
    for _, line in lines:
        if line.rung in FINISHED:
            ended.setdefault(line.seq, line)
    known = _load_inbox(loaded, inbox, disk, ended)
    for offset, line in lines:
        if line.seq not in known:
            loaded.findings.append(Finding(ledger, offset, orphan(line.seq)))
        elif (end := ended.get(line.seq)) is not None:
            # Only what stands behind the line that finished it may raise its rung.
            if end is line:
                del ended[line.seq]
            mailbox.last_n = max(mailbox.last_n, line.n)
            continue
        mailbox.apply(line)
    for item in mailbox.pending.values():
        if doubtful or item.rung is Rung.INTENT:
            mailbox.doubt(item)
    return loaded


def iter_inbox(path: str | Path) -> Iterator[tuple[int, Envelope | Unreadable]]:
    """(offset, envelope) of every terminated line of an inbox, in file order."""
    for offset, line in split(chunks(str(path), RealDisk())):
        yield offset, readable(line, offset, decode_envelope)


def iter_ledger(path: str | Path) -> Iterator[tuple[int, LedgerLine | Unreadable]]:
    """(offset, line) of every terminated line of a ledger, in file order."""
    for offset, line in split(chunks(str(path), RealDisk())):
        yield offset, readable(line, offset, decode_ledger)


def _load_inbox(
    loaded: Loaded, path: str, disk: Disk, ended: dict[int, LedgerLine]
) -> set[int]:
    """Fill the mailbox from its inbox; the seqs found there."""
    mailbox, keys, seqs, last = loaded.mailbox, loaded.keys, set[int](), 0
    for offset, line in split(chunks(path, disk)):
        head = readable(line, offset, _decode_head)
        if isinstance(head, Unreadable):
            loaded.findings.append(Finding(path, offset, head.text))
            continue
        seq, msg = head.seq, head.msg
        keys.append((origin(head.via), msg.id, offset))
        if seq <= last:
            text = f"envelope {seq} stands behind envelope {last}"
            loaded.findings.append(Finding(path, offset, text))
        if seq in seqs:
            continue
        seqs.add(seq)
        last = max(last, seq)
        if (end := ended.get(seq)) is not None:
            mailbox.remember(seq, msg.id, end.rung)
        else:
            # A MsgHead is a Msg without what an Item never reads.
            mailbox.arrived(
                seq, offset, len(line) + 1, cast(Msg, msg), head.via, head.at
            )
    mailbox.last_seq = last
    mailbox.pending = dict(sorted(mailbox.pending.items()))
    return seqs


def _ledger_lines(
    path: str, disk: Disk, findings: list[Finding]
) -> Iterator[tuple[int, LedgerLine]]:
    """The readable lines of a ledger; the others become findings."""
    for offset, line in split(chunks(path, disk)):
        found = readable(line, offset, decode_ledger)
        if isinstance(found, Unreadable):
            findings.append(Finding(path, offset, found.text))
        else:
            yield offset, found


def orphan(seq: int) -> str:
    """What is said of a ledger line whose inbox line is not there."""
    return f"line about envelope {seq}, which the inbox does not hold"


def readable(
    line: bytes, offset: int, decode: Callable[[bytes], Record]
) -> Record | Unreadable:
    """The record in line, or what is wrong with it in words of ours."""
    try:
        record = decode(line)
        # The decoder passes over the bytes of a text it does not build.
        line.isascii() or line.decode()
    except (ValueError, RecursionError) as error:
        return Unreadable(offset, len(line) + 1, _wrong(error))
    if not 0 < record.seq <= SEQ_MAX:
        return Unreadable(
            offset, len(line) + 1, f"sequence {record.seq} is out of range"
        )
    version = getattr(record, "v", VERSION)  # a ledger line has none
    if version != VERSION:
        text = f"version {version}; this homi reads version {VERSION}"
        return Unreadable(offset, len(line) + 1, text)
    return record


def _wrong(error: Exception) -> str:
    """What a decoder objects to, without quoting the line."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, RecursionError):
        return "nested too deep"
    # Of an unknown word of a closed list the decoder quotes the word.
    return "not a record: " + _QUOTED.sub("'…'", str(error))


def _read_from(disk: Disk, path: str, offset: int, length: int) -> bytes:
    """The bytes of one inbox line."""
    return read_line(disk, path, offset, length)


def _journals(root: str, name: Name) -> tuple[str, str]:
    """Where the inbox and the ledger of name are."""
    folder = os.path.join(root, "mail", name)
    return os.path.join(folder, INBOX), os.path.join(folder, LEDGER)

"""From the bytes of a journal to records, and what is said of those that are none.

Changes nothing on disk; knows nothing of what a record does to a mailbox.
homi-mailbox(5) is the format.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from homi.envelope import (
    VERSION,
    Envelope,
    Kind,
    LedgerLine,
    MessageId,
    Via,
    decode_envelope,
    decode_ledger,
)
from homi.store.disk import RealDisk
from homi.store.lines import Unreadable, chunks, split

_QUOTED = re.compile(r"'.*'", re.DOTALL)
SEQ_MAX = 1 << 53  # beyond it a JSON reader elsewhere would round: no seq of ours


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
    to: object = None  # of an out queue the whole address
    msg: MsgHead


class Numbered(Protocol):
    """A record of a journal."""

    @property
    def seq(self) -> int:
        """The envelope it is, or is about."""
        ...


Record = TypeVar("Record", bound=Numbered)


def iter_inbox(path: str | Path) -> Iterator[tuple[int, Envelope | Unreadable]]:
    """(offset, envelope) of every terminated line of an inbox, in file order."""
    for offset, line in split(chunks(str(path), RealDisk())):
        yield offset, readable(line, offset, decode_envelope)


def iter_ledger(path: str | Path) -> Iterator[tuple[int, LedgerLine | Unreadable]]:
    """(offset, line) of every terminated line of a ledger, in file order."""
    for offset, line in split(chunks(str(path), RealDisk())):
        yield offset, readable(line, offset, decode_ledger)


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

"""The life of one message: how it came in, then each ledger line about it.

Owns how the lines about one message are found among millions of others.
homi-inbox(1) has the fields.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from homi.envelope import (
    Kind,
    LedgerLine,
    MessageId,
    Msg,
    Rung,
    Via,
    decode_ledger,
)
from homi.mail.mail import Letter, Mail
from homi.store.archive import segments
from homi.store.disk import RealDisk
from homi.store.index import Entry
from homi.store.lines import chunks, holding
from homi.store.pickup import Spooled
from homi.store.places import LEDGER, folder_of


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a life: how the message came in."""

    seq: int = 0  # of its inbox line; 0 while it is only spooled
    id: MessageId
    rung: Rung
    at: str  # RFC 3339
    from_: str = msgspec.field(name="from")
    to: str  # as the sender wrote it
    kind: Kind
    reply_to: MessageId | None = None
    via: Via


Line = Start | LedgerLine


def life(mail: Mail, entry: Entry) -> Iterator[Line]:
    """The inbox line of a message, then every ledger line about it."""
    letter = mail.letter(entry)
    yield stored(letter)
    last = entry.at
    for path in ledgers(mail.root / folder_of(entry.name), entry.segment):
        for line in about(path, entry):
            last = line.at
            yield line
        # Later ledgers hold more of it only where the index knows of more.
        if last == entry.changed:
            return


def stored(letter: Letter) -> Start:
    """The first line of a message in a mailbox."""
    at, via = letter.envelope.at, letter.envelope.via
    return _start(letter.msg, Rung.STORED, at, via, letter.envelope.seq)


def spooled(found: Spooled, msg: Msg) -> Start:
    """The first line of a message that waits in pickup/."""
    via = Via(door="pickup", uid=found.uid, pid=found.pid)
    return _start(msg, Rung.SPOOLED, found.at, via)


def ledgers(folder: Path, segment: int) -> list[Path]:
    """The ledgers that may tell of a message in that segment, oldest first."""
    current = [folder / LEDGER]
    if not segment:
        return current
    closed = segments(RealDisk(), str(folder))
    return [folder / each.ledger for each in closed if each.last >= segment] + current


def about(path: Path, entry: Entry) -> Iterator[LedgerLine]:
    """The readable lines of a ledger about a message."""
    for _, line in holding(chunks(str(path), RealDisk()), entry.id.encode()):
        found = _ledger_line(line)
        if found and (found.seq, found.id) == (entry.seq, entry.id):
            yield found


def _ledger_line(line: bytes) -> LedgerLine | None:
    """The record in line; None where it is none, which the index has told of."""
    try:
        return decode_ledger(line)
    except (ValueError, RecursionError):
        return None


def _start(msg: Msg, rung: Rung, at: str, via: Via, seq: int = 0) -> Start:
    """The first line of the life of msg."""
    return Start(
        seq=seq,
        id=msg.id,
        rung=rung,
        at=at,
        from_=msg.from_,
        to=msg.to,
        kind=msg.kind,
        reply_to=msg.reply_to,
        via=via,
    )

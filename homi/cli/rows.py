"""Rows of mail as the commands list them.

Owns the form of a row and what the daemon adds to it: what each message waits for.
homi-inbox(1) has columns and fields.
"""

from collections.abc import Container, Iterable

import msgspec

from homi.address import Name
from homi.cli import output
from homi.cli.mail import Mail
from homi.clock import rfc3339
from homi.connection import Connection
from homi.envelope import Kind, MessageId, Rung
from homi.render import Cell, short_ids
from homi.reports import QueueReport
from homi.requests import Queue
from homi.store.mailbox import Item

COLUMNS = ("ID", "FROM", "KIND", "RUNG", "REASON", "AGE", "BYTES")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A pending message as it is listed; its fields are those of the JSON form."""

    name: str
    seq: int = 0
    id: MessageId
    from_: str = msgspec.field(name="from")
    device: str | None = None
    kind: Kind
    at: str  # RFC 3339
    rung: Rung
    reason: str | None = None
    until: str | None = None  # RFC 3339: no new try before
    reply_to: MessageId | None = None
    bytes: int  # of its line on disk


def pending(
    mail: Mail, names: Iterable[Name], only: Container[str] | None = None
) -> list[Row]:
    """What is pending in these mailboxes, of the ids in only; notes what is damaged."""
    rows: list[Row] = []
    for name in names:
        loaded = mail.load(name)
        for what in loaded.findings:
            output.note(output.finding(what))
        items = loaded.mailbox.pending.values()
        rows += [_row(name, item) for item in items if only is None or item.id in only]
    return rows


def explained(rows: list[Row], client: Connection | None) -> list[Row]:
    """The rows with what the daemon knows of each beyond its ledger: why it waits."""
    if client is None or not rows:
        return rows
    report = client.call(Queue(i=1), QueueReport)
    known = {(row.name, row.seq): row for row in report.rows}
    return [
        row
        if (now := known.get((row.name, row.seq))) is None
        else msgspec.structs.replace(
            row, rung=now.rung, reason=now.reason or None, until=now.until or None
        )
        for row in rows
    ]


def show_rows(
    rows: list[Row], *, as_json: bool, named: bool = False, empty: str = ""
) -> None:
    """Print rows of pending mail; named: with the mailbox of each in front."""
    if as_json:
        for row in rows:
            output.json_line(row)
        return
    ids = [row.id for row in rows]
    shown = (
        short_ids(ids, ids) if output.terminal() else dict(zip(ids, ids, strict=True))
    )
    table = [_cells(row, shown[row.id]) for row in rows]
    if named:
        table = [(row.name, *cells) for row, cells in zip(rows, table, strict=True)]
    output.table(("NAME", *COLUMNS) if named else COLUMNS, table, empty=empty)


def _row(name: Name, item: Item) -> Row:
    """A pending envelope as it is listed."""
    return Row(
        name=name,
        seq=item.seq,
        id=item.id,
        from_=item.from_,
        device=item.device,
        kind=item.kind,
        at=item.at,
        rung=item.rung,
        reason=item.reason,
        until=None if item.until is None else rfc3339(item.until),
        reply_to=item.reply_to,
        bytes=item.length,
    )


def spooled(mail: Mail) -> list[Row]:
    """What waits in pickup/ for a daemon."""
    return [
        Row(
            name=msg.to,
            id=msg.id,
            from_=msg.from_,
            kind=msg.kind,
            at=found.at,
            rung=Rung.SPOOLED,
            reply_to=msg.reply_to,
            bytes=len(found.msg),
        )
        for found, msg in mail.spooled()
    ]


def _cells(row: Row, shown: str) -> tuple[Cell, ...]:
    """The cells of a row."""
    sender = f"{row.from_}@{row.device}" if row.device else row.from_
    when = output.when(row.at)
    return shown, sender, row.kind, row.rung, row.reason, when, row.bytes

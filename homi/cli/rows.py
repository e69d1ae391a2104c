"""Rows of mail as the commands list them.

Owns the forms of a listing and what the daemon adds to it: what each message waits
for.  homi-inbox(1) has columns and fields.
"""

from collections.abc import Container, Iterable, Iterator
from itertools import islice

from msgspec.structs import replace

from homi.address import Name
from homi.amount import amount
from homi.cli import output
from homi.cli.mail import Mail
from homi.connection import Connection
from homi.envelope import Rung
from homi.mail import Message, listed, spooled_message
from homi.render import Cell, short_ids
from homi.reports import QueueReport, QueueRow
from homi.requests import Queue
from homi.store.index import Query
from homi.store.places import device_of

COLUMNS = ("ID", "FROM", "KIND", "RUNG", "REASON", "AGE", "BYTES")
BRIEF = ("ID", "FROM", "AGE", "TEXT")
SHOWN = 1_000  # of one out queue in the listing of all
BLOCK = 1_000  # rows that are aligned, and written, at a time


def pending(
    mail: Mail,
    names: Iterable[Name],
    only: Container[str] | None = None,
    after: int = 0,
) -> list[Message]:
    """What is pending in these mailboxes, of the ids in only, behind the seq after;
    notes what is damaged."""
    places = tuple(names)
    mail.index(places)
    return [
        listed(entry)
        for name in places
        for entry in mail.entries(Query(names=(name,), pending=True, after=after))
        if only is None or entry.id in only
    ]


def explained(
    rows: Iterable[Message], client: Connection | None, name: Name | None = None
) -> Iterator[Message]:
    """The rows with what the daemon knows of each beyond its ledger: why it waits.

    name: the mailbox they are all in.
    """
    known: dict[tuple[str, int], QueueRow] = {}
    ways: dict[str, str] | None = None
    for row in rows:
        if client is None or not row.pending:
            yield row
            continue
        if ways is None:
            report = client.call(Queue(i=1, name=name), QueueReport)
            known, ways = {(n.name, n.seq): n for n in report.rows}, report.ways
        if (now := known.get((row.name, row.seq))) is not None:
            reason, until = now.reason or None, now.until or None
            yield replace(
                row, rung=now.rung, reason=reason, until=until, waits=now.waits
            )
        elif row.rung is Rung.STORED and (
            why := ways.get(row.dest or "") or ways.get(row.name)
        ):
            yield replace(row, reason=why)
        else:
            yield row


def leaving(mail: Mail, places: Iterable[Name]) -> Iterator[Message]:
    """The oldest of what waits in each of these out queues; notes that there is more,
    of which a listing of that queue alone shows all."""
    for place in places:
        total = 0
        for entry in mail.entries(Query(names=(place,), pending=True, limit=SHOWN + 1)):
            total += 1
            if total <= SHOWN:
                yield listed(entry)
        if total > SHOWN:
            _, total = mail.index([place]).counts()[place]
            more = amount(total - SHOWN, "more waits", "more wait")
            output.note(f"{more} for {device_of(place)} (homi queue {place} lists all)")


def show_rows(
    mail: Mail,
    rows: Iterable[Message],
    *,
    as_json: bool,
    named: bool = False,
    brief: bool = False,
    empty: str = "",
) -> int:
    """Print rows of mail, a block at a time; how many.  named: with the mailbox of
    each in front; brief: with their first lines and how to read on."""
    count, left = 0, iter(rows)
    columns = BRIEF if brief else COLUMNS
    while block := list(islice(left, BLOCK)):
        count += len(block)
        if as_json:
            output.json_lines(block)
            continue
        shown = shown_ids(mail, [row.id for row in block])
        cells = _brief if brief else _cells
        table = [cells(row, shown[row.id]) for row in block]
        if named:
            table = [
                (row.dest or row.name, *line)
                for row, line in zip(block, table, strict=True)
            ]
        output.table(("NAME", *columns) if named else columns, table)
    if not count and not as_json and output.terminal() and empty:
        output.note(empty)
    if count and brief and not as_json:
        output.note("homi read ID prints the whole of one, homi thread ID its thread")
    return count


def shown_ids(mail: Mail, ids: Iterable[str]) -> dict[str, str]:
    """How each id is shown: whole, and on a terminal by the shortest start of it that
    no other message here has."""
    every = list(ids)
    if not output.terminal():
        return {one: one for one in every}
    return short_ids(every, [*every, *mail.beside(every)])


def sender(row: Message) -> str:
    """Who wrote it, with the device where that is another one."""
    return f"{row.from_}@{row.device}" if row.device else row.from_


def spooled(mail: Mail, place: Name | None = None) -> list[Message]:
    """What waits in pickup/ for a daemon, of one place if that is given."""
    waits = mail.spooled() if place is None else mail.spooled_for(place)
    return [spooled_message(found, msg) for found, msg in waits]


def _cells(row: Message, shown: str) -> tuple[Cell, ...]:
    """The cells of a row."""
    when, why = output.when(row.at), _waits(row) or row.reason
    return shown, sender(row), row.kind, row.rung, why, when, row.bytes


def _waits(row: Message) -> str:
    """Who of a room has not got it, and why not."""
    pairs = row.waits.items()
    return ", ".join(f"{one}: {why}" if why else one for one, why in pairs)


def _brief(row: Message, shown: str) -> tuple[Cell, ...]:
    """The cells of a row with its first line."""
    return shown, sender(row), output.when(row.at), row.brief

"""`whois`: everything that is known of one address, and how.  homi-ls(1).

Owns the lines a person reads; a program gets every field by its name.
"""

from collections.abc import Iterator

import click

from homi import paths
from homi.address import BUILT_IN, Name, parse_address
from homi.cli import far, options, output
from homi.cli.caller import own
from homi.cli.dossier import Box, Whois, gather, meant
from homi.cli.ls import answered, from_files, status_of
from homi.cli.mail import Mail
from homi.cli.measure import Measured, measure
from homi.connection import Connection
from homi.dial import Absent
from homi.envelope import Rung
from homi.errors import StorageFailed
from homi.mail.places import Book
from homi.render import Cell, process
from homi.reports import Listing, NameRow, QueueReport, SessionRow
from homi.requests import List, Queue


@click.command()
@click.argument("address")
@options.no_probe
@options.as_json
@click.pass_obj
def whois(home: str, /, address: str, *, no_probe: bool, as_json: bool) -> None:
    """Print all that is known of ADDRESS, and how it was found.

    \b
      $ homi whois gds-agent
      $ homi whois --json gds-agent | jq -r .mailbox.pending
    """
    mail = Mail(paths.state_root(home))
    wanted = parse_address(own(mail.root, address))
    book = _book(mail)
    place = meant(mail, wanted, book)
    if not place.local:
        far.whois(mail, parse_address(place.to), as_json=as_json)
        return
    name = place.name
    claimed = name in BUILT_IN or name in book.claims
    listing, now = _told(mail, name, claimed=claimed)
    seen = measure(listing, asked=not no_probe)
    found = gather(mail, address, name, book, listing, seen, now)
    if as_json:
        output.json_line(found)
    else:
        output.table(("", ""), list(_lines(found, listing, seen)))


def _book(mail: Mail) -> Book:
    """names.json; a damaged one is noted, and hides nothing else."""
    try:
        return mail.book()
    except StorageFailed as error:
        mail.note(error.text)
        return Book({}, {}, {}, {})


def _told(mail: Mail, name: Name, *, claimed: bool) -> tuple[Listing, dict[int, Rung]]:
    """What the daemon says of the name, and how far each of its pending messages is, by
    seq; without one, what the files and records say."""
    try:
        with Connection(mail.root) as client:
            listing = client.call(List(i=1, name=name), Listing)
            if name not in mail.mailboxes():
                return listing, {}
            rows = client.call(Queue(i=2, name=name), QueueReport).rows
            return listing, {row.seq: row.rung for row in rows}
    except Absent:
        output.note("no daemon runs: who owns a name is not known (homi start)")
    made = from_files(mail, [name] if claimed else [])
    loose = [session for session in made.sessions if session.address == name]
    return Listing(device="", names=made.names, sessions=loose), {}


def _lines(
    found: Whois, listing: Listing, seen: Measured
) -> Iterator[tuple[Cell, Cell]]:
    """What is known, a line each; nothing is said of what is not there."""
    yield "address", f"{found.name}@{found.device}"
    yield "resolved", f"{found.resolved} {found.target}".strip()
    yield "state", found.state
    yield from _claim(found)
    for alias in listing.aliases:
        if alias.place or alias.note:
            yield "leads to", " ".join(filter(None, (alias.place, alias.note)))
    for row in listing.names:
        yield from _owner(row, seen)
    for one in listing.sessions:
        yield "session", _person(one, seen)
    if found.note:
        yield "note", found.note
    yield from _mail(found.mailbox)


def _claim(found: Whois) -> Iterator[tuple[Cell, Cell]]:
    """The claim, or what is left of it."""
    if found.number:
        since = f", claimed {output.when(found.claimed)}" if found.claimed else ""
        ago = " ago" if since and output.terminal() else ""
        text = f"number {found.number}, generation {found.generation}{since}{ago}"
        yield "claim", text
    if found.cwd:
        yield "folder", found.cwd
    if found.bound:
        yield "bound", f"pid {found.bound.get('pid')}"
    if found.front:
        yield "front", "homi keeps the name; its sessions go by another"
    for key, value in found.settings.items():
        yield "setting", f"{key}={value}"
    for path, there in found.records.items():
        yield "record", path if there else f"{path} (not there)"


def _owner(row: NameRow, seen: Measured) -> Iterator[tuple[Cell, Cell]]:
    """Who owns it, and the socket that stays whoever does."""
    if row.socket:
        yield "socket", f"{row.socket}{_answer(seen, row.socket)}"
    if row.owner is not None:
        yield "owner", _person(row.owner, seen)


def _person(row: SessionRow, seen: Measured) -> str:
    """A session in a line."""
    status, since = status_of(row)
    says = f"{status} {since}".strip()
    parts = [process(row), says, row.version, row.cwd, row.socket or "no socket"]
    return ", ".join(part for part in parts if part) + _answer(seen, row.socket)


def _answer(seen: Measured, socket: str) -> str:
    """Whether a socket answers, where it was asked."""
    found = seen.of(socket)
    text = answered(found)
    if found.answers is None:
        return ""
    return f" (answers in {text})" if found.answers else f" (silent: {found.why})"


def _mail(box: Box) -> Iterator[tuple[Cell, Cell]]:
    """The mailbox."""
    yield "mailbox", box.path
    parts = ", ".join(f"{count} {rung}" for rung, count in sorted(box.rungs.items()))
    waits = f": {parts}; the oldest {output.when(box.oldest)}" if box.pending else ""
    yield "mail", f"{box.stored} stored, {box.pending} pending{waits}"
    for title, preposition, last in (
        ("last in", "from", box.last_in),
        ("last out", "to", box.last_out),
    ):
        if last is not None:
            shown = output.when(last.at)
            yield title, f"{last.id} {preposition} {last.peer}, {shown}, {last.rung}"

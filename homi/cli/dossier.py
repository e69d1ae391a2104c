"""What is known of one address: the claim, the session, the mail, each from its source.

Owns the putting together: names.json says what is claimed, the index what mail there
is, the daemon who owns it.  Changes nothing.  homi-ls(1) lists the fields.
"""

import os
from collections import Counter
from typing import Any

import msgspec

from homi import config, paths
from homi.address import BUILT_IN, Address, Name
from homi.cli.measure import Measured, live_sessions
from homi.envelope import SHOWN, Rung
from homi.mail import Mail
from homi.mail.places import Book
from homi.reports import Listing
from homi.routing import Facts, Place, resolve
from homi.store.index import Entry, Query
from homi.store.places import folder_of


class Last(msgspec.Struct, frozen=True):
    """The newest message one way."""

    id: str
    at: str  # RFC 3339
    peer: str  # whom it came from, or the name it went to
    rung: str


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """The mailbox of the name."""

    path: str
    stored: int = 0  # messages it holds, finished ones too
    pending: int = 0
    rungs: dict[str, int] = {}  # of the pending ones
    oldest: str = ""  # RFC 3339, of the pending ones
    last_in: Last | None = None
    last_out: Last | None = None


class Whois(msgspec.Struct, frozen=True, kw_only=True):
    """What is known; its fields are those of the JSON form."""

    address: str
    name: str
    device: str
    resolved: str  # claim, built-in, alias, session, released or mailbox
    state: str
    target: str = ""  # of an alias
    number: int = 0
    generation: int = 0
    claimed: str = ""  # RFC 3339
    cwd: str = ""
    bound: dict[str, Any] = {}  # the session a person gave the name to
    front: bool = False  # homi keeps the name, its sessions go by another
    settings: dict[str, object] = {}
    socket: str = ""
    probe: object = None
    records: dict[str, bool] = {}  # where homi lists the name, and whether it does now
    owner: dict[str, object] | None = None
    others: list[int] = []
    sessions: list[dict[str, object]] = []  # of that name, where nobody claimed it
    note: str = ""
    mailbox: Box


def meant(mail: Mail, wanted: Address, book: Book) -> Place:
    """What an address means, in whichever way; 67 and 68 where nothing."""
    known = {*BUILT_IN, *mail.mailboxes(), *book.claims, *book.aliases, *book.released}
    live = {Name(row.address) for row in live_sessions() if row.address}
    facts = Facts(
        device=mail.device,
        claimed=known.__contains__,
        fronted=book.fronted,
        live=live.__contains__,
        alias=lambda _name: None,  # an alias is shown itself
        known=lambda: {*known, *live, *book.mirrors},
        devices=mail.devices,
        mirror=book.mirror,
    )
    return resolve(wanted, facts)


def gather(
    mail: Mail,
    address: str,
    name: Name,
    book: Book,
    listing: Listing,
    seen: Measured,
    now: dict[int, Rung],
) -> Whois:
    """All that is known of name, put together.  now: how far the daemon says each of
    its pending messages is, by seq."""
    claim = book.claims.get(name) or book.aliases.get(name, {})
    left = book.released.get(name, {})
    row = next((one for one in listing.names if one.name == name), None)
    number = int(claim.get("number", 0) or left.get("number", 0))
    generation = claim.get("generation", 1) if claim else left.get("generation", 0)
    resolved = _resolved(name, book, listing)
    return Whois(
        address=address,
        name=name,
        device=mail.device,
        resolved=resolved,
        state=seen.state(row) if row and claim else resolved,
        target=book.leads_to(name) or "",
        number=number,
        generation=generation,
        claimed=claim.get("at", ""),
        cwd=claim.get("cwd") or "",
        bound=claim.get("bound") or {},
        front=book.fronted(name),
        settings=claim.get("settings", {}),
        socket=row.socket if row else "",
        probe=seen.of(row.socket) if row else None,
        records=_records(number) if claim and name not in BUILT_IN else {},
        owner=seen.json_of_session(row.owner) if row and row.owner else None,
        others=row.others if row else [],
        sessions=[seen.json_of_session(one) for one in listing.sessions],
        note=seen.note(row) if row else "",
        mailbox=_box(mail, name, now),
    )


def _resolved(name: Name, book: Book, listing: Listing) -> str:
    """How the address became a name, in the order of homi-address(7)."""
    if name in BUILT_IN:
        return "built-in"
    if name in book.claims:
        return "room" if book.room(name) else "claim"
    if name in book.aliases:
        return "alias"
    if listing.sessions:
        return "session"
    return "released" if name in book.released else "mailbox"


def _records(number: int) -> dict[str, bool]:
    """Where homi puts the record of a name, and whether it stands there."""
    folders = config.load(paths.config_file()).registry_folders()
    files = [str(folder / "sessions" / f"{number}.json") for folder in folders]
    return {file: os.path.lexists(file) for file in files}


def _box(mail: Mail, name: Name, now: dict[int, Rung]) -> Box:
    """What mail there is, by the index; how far, by the daemon where it knows."""
    path = str(mail.root / folder_of(name))
    index = mail.index()
    stored, pending = index.counts().get(name, (0, 0))
    waits = index.search(Query(names=(name,), pending=True)) if pending else []
    newest = index.search(Query(names=(name,), newest=True, limit=1))
    sent = index.search(Query(sender=name, device="", newest=True, limit=1))
    return Box(
        path=path,
        stored=stored,
        pending=pending,
        rungs=Counter(_rung(entry, now) for entry in waits),
        oldest=waits[0].at if waits else "",
        last_in=_last(newest, now, out=False),
        last_out=_last(sent, now if sent and sent[0].name == name else {}, out=True),
    )


def _rung(entry: Entry, now: dict[int, Rung]) -> Rung:
    """How far it is."""
    return now.get(entry.seq) or SHOWN.get(entry.rung, entry.rung)


def _last(found: list[Entry], now: dict[int, Rung], *, out: bool) -> Last | None:
    """The newest message one way, if there is one."""
    if not found:
        return None
    entry = found[0]
    sender = f"{entry.from_}@{entry.device}" if entry.device else entry.from_
    peer = entry.name if out else sender
    return Last(entry.id, entry.at, peer, _rung(entry, now))

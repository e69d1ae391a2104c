"""`status`: the daemon and its mail at a glance, measured now.  homi-ls(1).

Owns the sections a person reads; a program gets every field by its name.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import msgspec

from homi import paths
from homi.amount import amount
from homi.cli import options, output
from homi.cli.mail import Mail
from homi.cli.measure import Measured, measure
from homi.connection import Connection
from homi.dial import Absent
from homi.linked import LinkRow, LinkRows
from homi.render import Cell, cell, fields, process, together
from homi.reports import Listing, StatusReport
from homi.requests import Links, List, Status
from homi.store import pickup
from homi.store.index import Index

Section = tuple[str, str]

# What a person wants to know first of the links.
URGENCY = ("device-key", "host-key", "auth", "version", "unreachable", "connecting")


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What this command measured beside what the daemon said."""

    answered_ms: float  # the daemon, to this command
    probed: int  # sockets asked
    silent: list[str]  # those that did not answer: name or pid, and why
    index_bytes: int  # of the index's file
    index_behind: int  # bytes of the journals that it has yet to read
    links: dict[str, int]  # how many are in which state
    links_pending: int  # messages that wait for linked devices
    links_oldest: str  # RFC 3339 of the oldest of them
    links_worst: str  # the device whose link needs a person most, and why


@click.command()
@options.no_probe
@options.as_json
@click.pass_obj
def status(home: str, /, *, no_probe: bool, as_json: bool) -> int:
    """How the daemon is; without one, what its files tell (69).

    \b
      $ homi status
      $ homi status --json | jq -r .accept
    """
    root = paths.state_root(home)
    begun = time.monotonic()
    try:
        with Connection(root) as client:
            report = client.call(Status(i=1), StatusReport)
            took = (time.monotonic() - begun) * 1000
            listing = client.call(List(i=2), Listing)
            rows = client.call(Links(i=3, probe=False), LinkRows).rows
    except Absent as error:
        _of_files(Mail(root), as_json=as_json)
        raise error
    found = measure(listing, asked=not no_probe)
    index_bytes, index_behind = _index(root)
    seen = Seen(
        answered_ms=round(took, 3),
        probed=found.asked,
        silent=list(_silent(listing, found)),
        index_bytes=index_bytes,
        index_behind=index_behind,
        links=Counter(row.state for row in rows),
        links_pending=sum(row.pending for row in rows),
        links_oldest=min((row.oldest for row in rows if row.pending), default=""),
        links_worst=_worst(rows),
    )
    known = {"running": True, **fields(report), **fields(seen)}
    if as_json:
        output.json_line(known)
    elif output.terminal():
        output.table(("", ""), list(_sections(report, seen)))
    else:
        output.table(("", ""), _pairs(known))
    return 0


def _index(root: Path) -> tuple[int, int]:
    """How large the index is, and how far it is behind the journals."""
    with Index.open(root) as index:
        return index.lag()


def _silent(listing: Listing, found: Measured) -> Iterator[str]:
    """Whatever should answer and does not."""
    for row in listing.names:
        if row.owner is not None and (why := found.silent(row.owner.socket)):
            yield f"{row.name}, {process(row.owner)}: {why}"
        if why := found.silent(row.socket):
            yield f"{row.name}, homi's own socket: {why}"
    for session in listing.sessions:
        if why := found.silent(session.socket):
            yield f"{process(session)}: {why}"


def _sections(report: StatusReport, seen: Seen) -> Iterator[Section]:
    """What a person wants to know, a line each."""
    yield (
        "daemon",
        f"{report.software} on {report.device}, pid {report.pid},"
        f" up {output.when(report.since)}, answers in {seen.answered_ms:.1f} ms",
    )
    yield "root", report.root
    yield "accept", report.accept
    yield "mail", _mail(report)
    held = report.names - 2 - report.owned
    yield "links", _links(seen)
    yield "names", f"{report.names - 2} claimed: {report.owned} live, {held} held"
    yield "sessions", _listed(report.sessions, report.statuses)
    asked = (
        f"none of {amount(seen.probed, 'socket')}"
        if seen.probed
        else "no socket was asked"
    )
    yield from _more("silent", seen.silent, asked)
    yield (
        "disk",
        f"{report.free_mib} MiB free, new mail is refused below {report.reserve_mib};"
        f" ring {report.ring_mib} MiB",
    )
    behind = f"{seen.index_behind} bytes behind" if seen.index_behind else "up to date"
    yield "index", f"{seen.index_bytes / (1 << 20):.1f} MiB, {behind}"
    if report.fullest:
        yield "quota", _quota(report)
    yield from _more("findings", report.findings, "none")
    parted = (note.partition(": ") for note in report.notes)
    notes = together((name, text) for name, _, text in parted)
    yield from _more("notes", notes, "none")


def _mail(report: StatusReport) -> str:
    """How much waits, how far it is, and the oldest of it."""
    text = f"{report.pending} pending"
    if not report.oldest:
        return text
    parts = _listed(report.pending, report.rungs).partition(": ")[2]
    oldest = f"the oldest {output.when(report.oldest)}, for {report.oldest_name}"
    return f"{text}: {parts}; {oldest}"


def _links(seen: Seen) -> str:
    """How many are up, what waits for other devices, and the one that is worst."""
    up, total = seen.links.get("up", 0), sum(seen.links.values())
    paused = seen.links.get("paused", 0)
    parts = [f"{up} of {total} up" if total else "no device is linked"]
    parts += [f"{paused} paused"] * bool(paused)
    if seen.links_pending:
        age = output.when(seen.links_oldest)
        parts.append(f"{seen.links_pending} wait for other devices, the oldest {age}")
    return "; ".join([*parts, *filter(None, [cell(seen.links_worst)])])


def _worst(rows: list[LinkRow]) -> str:
    """The link that needs a person most, in a line; empty where none does."""
    down = [row for row in rows if row.state in URGENCY]
    row = min(down, key=lambda one: URGENCY.index(one.state), default=None)
    if row is None:
        return ""
    return f"{row.device} is {row.state}" + (f": {row.text}" if row.text else "")


def _quota(report: StatusReport) -> str:
    """How near the fullest mailbox is to its bound."""
    held, most = report.fullest_bytes / (1 << 20), report.quota_bytes >> 20
    return (
        f"{report.fullest} has {report.fullest_pending} of {report.quota_pending}"
        f" messages, {held:.1f} of {most} MiB"
    )


def _listed(total: int, parts: Mapping[str, int]) -> str:
    """A sum and what it is made of."""
    if not parts:
        return str(total)
    return f"{total}: " + ", ".join(f"{n} {word}" for word, n in sorted(parts.items()))


def _more(title: str, lines: list[str], none: str) -> Iterator[Section]:
    """A line for each; the title stands before the first alone."""
    for at, text in enumerate(lines or [none]):
        yield title if at == 0 else "", text


def _of_files(mail: Mail, *, as_json: bool) -> None:
    """What is known of the mail while no daemon runs."""
    index_bytes, index_behind = _index(mail.root)  # before it is caught up
    findings = mail.findings()
    known: dict[str, object] = {
        "running": False,
        "root": str(mail.root),
        "names": len(mail.listed()),
        "pending": sum(n for n, _ in mail.waiting(mail.mailboxes()).values()),
        "spooled": len(pickup.scan(mail.root)),
        "links_pending": sum(n for n, _ in mail.waiting(mail.queues()).values()),
        "index_bytes": index_bytes,
        "index_behind": index_behind,
        "findings": [output.finding(what) for what in findings],
    }
    if as_json:
        output.json_line(known)
    else:
        output.table(("", ""), _pairs(known))


def _pairs(known: dict[str, object]) -> list[tuple[Cell, Cell]]:
    """A line a field; a list takes a line for each of its items."""
    rows: list[tuple[Cell, Cell]] = []
    for key, value in known.items():
        values: list[object] = value if isinstance(value, list) else [value]
        if isinstance(value, dict):
            values = [f"{count} {word}" for word, count in sorted(value.items())]
        rows += [(key, _word(one)) for one in values]
    return rows


def _word(value: object) -> str:
    """A value as a person says it."""
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)

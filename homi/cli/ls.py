"""`ls`: the names of this device, and what was measured of each.  homi-ls(1)."""

from collections.abc import Sequence
from pathlib import Path

import click

from homi import paths
from homi.address import BUILT_IN, Name
from homi.cli import far, options, output
from homi.cli.alias import from_files as aliases_from_files
from homi.cli.mail import Mail
from homi.cli.measure import SILENT, Measured, live_sessions, measure
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import Usage
from homi.far import FarRow
from homi.peers.probe import Probe
from homi.render import Cell, cell, fields, process, together
from homi.reports import AliasRow, Listing, MirrorRow, NameRow, SessionRow
from homi.requests import List

COLUMNS = (
    "NAME",
    "OWNER",
    "STATE",
    "PENDING",
    "OLDEST",
    "STATUS",
    "SINCE",
    "ANSWERS",
    "NOTE",
)


UNOWNED = "who owns a name is not known"


@click.command()
@click.argument("device", metavar="[DEVICE]", required=False)
@click.option("--all", "every", is_flag=True, help="The names of every device, too.")
@options.no_probe
@options.as_json
@click.pass_obj
def ls(
    home: str,
    /,
    device: str | None,
    *,
    every: bool,
    no_probe: bool,
    as_json: bool,
) -> None:
    """List the names, here or on DEVICE, and what waits for them.

    \b
      $ homi ls
      $ homi ls mini                      # of another device, asked of it now
      $ homi ls --all
      $ homi ls | awk -F'\\t' '$4 > 0'    # names that hold mail
      $ homi ls --json | jq -r 'select(.state == "silent").name'
    """
    root = paths.state_root(home)
    if device is not None and every:
        raise Usage("a device and --all exclude each other")
    elsewhere = device not in (None, "self") and device != Mail(root).device
    listing, rows = _gathered(root, device if elsewhere else None, every=every)
    if elsewhere:
        far.need_names(rows[0])
    seen = measure(listing, asked=not no_probe)
    if as_json:
        output.json_lines(seen.json_of(row) for row in listing.names)
        output.json_lines({"kind": "alias", **fields(row)} for row in listing.aliases)
        output.json_lines({"kind": "mirror", **fields(row)} for row in listing.mirrors)
        output.json_lines(
            {"kind": "session", **seen.json_of_session(row)} for row in listing.sessions
        )
        output.json_lines(far.as_json(rows))
    else:
        _show([*_rows(listing, seen), *far.cells(rows)])
    far.tell(rows)


def _gathered(
    root: Path, device: str | None, *, every: bool
) -> tuple[Listing, list[FarRow]]:
    """The names of this device with, if wanted, those of all others; or only those of
    another one."""
    nothing = Listing(device="", names=[])
    wanted = device is not None or every
    try:
        with Connection(root) as client:
            rows = far.ask(client, device) if wanted else []
            here = nothing if device else client.call(List(i=1), Listing)
    except Absent:
        rows = far.from_files(root, device) if wanted else []
        here = nothing if device else from_files(Mail(root))
        what = "no other device is asked" if device else UNOWNED
        output.note(f"no daemon runs: {what} (homi start)")
    return here, rows


def _show(rows: list[tuple[Cell, ...]]) -> None:
    """A table; for a person the notes stand below it, where there is room for them."""
    if not output.terminal():
        output.table(COLUMNS, rows)
        return
    output.table(COLUMNS[:-1], [row[:-1] for row in rows])
    for line in together((row[0], row[-1]) for row in rows):
        output.line(cell(line))


def from_files(mail: Mail, only: Sequence[str] | None = None) -> Listing:
    """The names and their pending mail without a daemon, and the sessions that live;
    only: those names, whether they are claimed or not."""
    live = live_sessions()
    names = mail.listed() if only is None else only
    waits = mail.waiting(map(Name, names))
    book = mail.shown()
    rows = [
        _unowned(name, *waits[Name(name)], live, room=book.room(Name(name)))
        for name in names
    ]
    loose = [session for session in live if session.address not in names]
    if only is not None:
        return Listing(device="", names=rows, sessions=loose)
    mirrors = [MirrorRow("", to) for to in sorted(mail.shown().mirrors)]
    aliases = aliases_from_files(mail)
    return Listing("", rows, loose, aliases, mirrors)


def _unowned(
    name: str, pending: int, oldest: str, live: list[SessionRow], *, room: bool
) -> NameRow:
    """A name as the files tell it."""
    state = "room" if room else "unknown"
    return NameRow(
        name=name,
        state="built-in" if name in BUILT_IN else state,
        pending=pending,
        oldest=oldest,
        others=[session.pid for session in live if session.address == name],
    )


def _rows(listing: Listing, seen: Measured) -> list[tuple[Cell, ...]]:
    """A row a name; then the live sessions that own none but can be written to."""
    rows = [_name(row, seen) for row in listing.names]
    rows += [_alias(row) for row in listing.aliases]
    rows += [_mirror(row) for row in listing.mirrors]
    return rows + [
        _session(session, seen) for session in listing.sessions if session.address
    ]


def _name(row: NameRow, seen: Measured) -> tuple[Cell, ...]:
    """The cells of a name."""
    owner = process(row.owner)
    when, answers = output.when(row.oldest), answered(seen.answers(row))
    state, note = seen.state(row), seen.note(row)
    status = status_of(row.owner)
    return (row.name, owner, state, row.pending, when, *status, answers, note)


def _alias(row: AliasRow) -> tuple[Cell, ...]:
    """The cells of a name that leads elsewhere."""
    note = f"leads to {row.to}" + (f"; {row.note}" if row.note else "")
    return (row.name, "", "alias", 0, "", "", "", "", note)


def _mirror(row: MirrorRow) -> tuple[Cell, ...]:
    """The cells of a name of another device."""
    what = f"is {row.to}" if row.name else "not listed to sessions now"
    note = what + (f"; {row.note}" if row.note else "")
    return (row.name or row.to, "", "mirror", 0, "", "", "", "", note)


def _session(row: SessionRow, seen: Measured) -> tuple[Cell, ...]:
    """The cells of a session whose name nobody claimed."""
    found = seen.of(row.socket)
    state = SILENT if found.answers is False else "unclaimed"
    note = found.why if row.socket else "it has no socket"
    status = status_of(row)
    return (row.address, process(row), state, 0, "", *status, answered(found), note)


def status_of(row: SessionRow | None) -> tuple[str, str]:
    """What a session says of itself, and since when."""
    if row is None:
        return "", ""
    waits = f"{row.status}: {row.waiting_for}" if row.waiting_for else row.status
    return waits, output.when(row.status_at)


def answered(found: Probe) -> str:
    """Whether a socket answered, and how fast; empty where it was not asked."""
    if found.answers is None:
        return ""
    return f"{found.ms:.1f} ms" if found.answers else "no"

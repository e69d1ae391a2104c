"""`quarantine`: what was refused or could not be read.  homi-queue(1).

Owns the showing of entries, by the files; the daemon lets in and throws away.
"""

import os
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import click

from homi import paths, render
from homi.admitted import Readmitted, ReadmittedRow
from homi.cli import options, output
from homi.cli.asking import sure
from homi.cli.caller import connect
from homi.cli.failures import refused
from homi.cli.meant import Family
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import NoInput, NotAllowed
from homi.render import Cell
from homi.requests import CallerClass, Quarantine
from homi.store.refusals import Entry, Kept, entries, find

COLUMNS = ("ID", "AGE", "REASON", "FROM", "TO", "BYTES")


@click.group(cls=Family, invoke_without_command=True, subcommand_metavar="[VERB ...]")
@options.as_json
@click.pass_context
def quarantine(ctx: click.Context, /, *, as_json: bool) -> None:
    """Look at what was refused, let it in, or throw it away.

    \b
      $ homi quarantine ls
      $ homi quarantine show 3f9a
      $ homi quarantine release 3f9a
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(ls, as_json=as_json)
    elif as_json:
        options.misplaced(ctx)


@quarantine.command()
@options.as_json
@click.pass_obj
def ls(home: str, /, *, as_json: bool = False) -> None:
    """List what is in quarantine, oldest first; shows no text.

    \b
      $ homi quarantine ls
    """
    root = _root(home)
    found = [kept.entry for kept in entries(str(root))]
    if as_json:
        for entry in found:
            output.json_line(entry)
        return
    rows = [_cells(entry) for entry in found]
    output.table(COLUMNS, rows, empty="nothing is in quarantine")


@quarantine.command()
@click.argument("entry", metavar="ID")
@click.option("--raw", is_flag=True, help="Print the very bytes and nothing else.")
@options.as_json
@click.pass_obj
def show(home: str, /, entry: str, *, raw: bool, as_json: bool) -> None:
    """Print why ID is in quarantine, and what it is.

    \b
      $ homi quarantine show 3f9a
      $ homi quarantine show --raw 3f9a > piece
    """
    kept = find(str(_root(home)), entry)
    if raw:
        if not kept.data and kept.entry.bytes:
            raise NoInput(f"the {kept.entry.bytes} bytes of it were not kept")
        output.raw(kept.data)
    elif as_json:
        output.json_line(_whole(kept))
    else:
        _show(kept)


@quarantine.command()
@click.argument("entry_ids", metavar="ID...", nargs=-1, required=True)
@options.as_json
@click.pass_obj
def release(home: str, /, entry_ids: tuple[str, ...], *, as_json: bool) -> int:
    """Submit refused messages again, as they were.

    What is stored then leaves the quarantine.

    \b
      $ homi quarantine release 3f9a
    """
    client, found = _found(home, entry_ids)
    request = Quarantine(i=1, do="release", ids=found)
    rows = client.call(request, Readmitted).rows
    return _tell(rows, lambda row: f"stored {row.message} to {row.to}", as_json=as_json)


@quarantine.command()
@click.argument("entry_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.as_json
@click.pass_obj
def drop(home: str, /, entry_ids: tuple[str, ...], *, yes: bool, as_json: bool) -> int:
    """Throw entries away, for ever.

    \b
      $ homi quarantine drop 3f9a
      $ homi quarantine drop --yes 3f9a 77c0
    """
    client, found = _found(home, entry_ids)
    if client.welcome.caller is not CallerClass.PERSON:
        raise NotAllowed("quarantine drop needs a person at a terminal")
    if not yes:
        sure(f"{len(found)} entries" if len(found) > 1 else f"entry {found[0]}")
    rows = client.call(Quarantine(i=1, do="drop", ids=found), Readmitted).rows
    return _tell(rows, lambda row: f"dropped {row.id}", as_json=as_json)


def _found(home: str, entry_ids: tuple[str, ...]) -> tuple[Connection, list[str]]:
    """The daemon, and the whole id of each entry."""
    root = _root(home)
    _, client = connect(root)
    if client is None:
        raise Absent("no daemon runs to decide it", hint="homi start")
    return client, [find(str(root), one).entry.id for one in entry_ids]


def _root(home: str) -> Path:
    """The state root, private where it is there; else 78."""
    root = paths.state_root(home)
    return paths.check_private(root) if os.path.lexists(root) else root


def _cells(entry: Entry) -> tuple[Cell, ...]:
    """The cells of a row."""
    when = output.when(entry.at)
    return entry.id, when, entry.reason, entry.from_, entry.to, entry.bytes


def _show(kept: Kept) -> None:
    """What is known of an entry, an empty line, and its content made harmless."""
    entry = kept.entry
    facts = {
        "id": entry.id,
        "at": entry.at,
        "reason": entry.reason,
        "why": entry.text,
        "from": entry.from_,
        "to": entry.to,
        "message": entry.message,
        "file": entry.file,
        "bytes": str(entry.bytes) if kept.data else f"{entry.bytes}, not kept",
    }
    for word, value in facts.items():
        if value:
            output.line(f"{word + ':':<9}{render.cell(value)}")
    if kept.data:
        output.raw(b"\n" + render.body(kept.data.decode("utf-8", "replace")).encode())


def _whole(kept: Kept) -> dict[str, object]:
    """An entry as one object: its content as text, or in base64 where it is none."""
    try:
        content = {"data": kept.data.decode()}
    except UnicodeDecodeError:
        content = {"base64": b64encode(kept.data).decode()}
    return render.fields(kept.entry) | content


def _tell(
    rows: list[ReadmittedRow], words: Callable[[ReadmittedRow], str], *, as_json: bool
) -> int:
    """A line for each, what could not be on stderr; the highest status."""
    status = 0
    for row in rows:
        if as_json:
            output.json_line(row)
        if row.code:
            about = f"{row.id}: {row.error}"
            status = max(status, refused(row, about, as_json=as_json))
        elif not as_json:
            output.line(words(row) + (" (already)" if row.duplicate else ""))
    return status

"""`claim`, `release` and `ls`: the names of this device.  homi-claim(1)."""

import os
from pathlib import Path

import click

from homi import paths
from homi.address import BUILT_IN, show
from homi.cli import options, output
from homi.cli.mail import Mail
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import NoInput
from homi.render import Cell, fields
from homi.reports import (
    Claimed,
    Done,
    Listing,
    NameRow,
)
from homi.requests import (
    Claim,
    List,
    Release,
)

COLUMNS = ("NAME", "OWNER", "STATE", "PENDING", "OLDEST")


@click.command()
@click.argument("name")
@click.option("--cwd", metavar="DIR", help="Only a session in DIR or below owns it.")
@click.option("--take", is_flag=True, help="Give it to the newest live session of it.")
@options.as_json
@click.pass_obj
def claim(
    home: str, /, name: str, cwd: str | None, *, take: bool, as_json: bool
) -> None:
    """Make NAME an address that keeps its mail at any hour.

    \b
      $ homi claim gds-agent
      $ homi claim --cwd ~/src/gds gds-agent
    """
    folder = None if cwd is None else _absolute(cwd)
    with Connection(paths.state_root(home)) as client:
        done = client.call(Claim(i=1, name=name, cwd=folder, take=take), Claimed)
    if as_json:
        output.json_line(done)
        return
    owner = f", owned by pid {done.owner}" if done.owner else ""
    what = "claimed" if done.fresh else "already claimed"
    output.line(f"{what} {done.name}{owner}")


def _absolute(folder: str) -> str:
    """folder as the daemon, which works in one of its own, can find it."""
    try:
        return os.path.abspath(folder)
    except OSError:
        raise NoInput(f"no folder {show(folder)}: this one was removed") from None


@click.command()
@click.argument("name")
@options.as_json
@click.pass_obj
def release(home: str, /, name: str, *, as_json: bool) -> None:
    """End the claim on NAME; its mailbox stays where it is.

    \b
      $ homi release gds-agent
    """
    with Connection(paths.state_root(home)) as client:
        done = client.call(Release(i=1, name=name), Done)
    if as_json:
        output.json_line(done)
        return
    output.line(done.text)
    if done.pending:
        what = "message stays" if done.pending == 1 else "messages stay"
        output.note(f"{done.pending} pending {what} in its mailbox")


@click.command()
@options.as_json
@click.pass_obj
def ls(home: str, /, *, as_json: bool) -> None:
    """List the claimed names, who owns them and what waits for them.

    \b
      $ homi ls
      $ homi ls | awk -F'\\t' '$4 > 0'    # names that hold mail
    """
    root = paths.state_root(home)
    try:
        with Connection(root) as client:
            listing = client.call(List(i=1), Listing)
    except Absent:
        listing = _from_files(root)
        output.note("no daemon runs: who owns a name is not known (homi start)")
    if as_json:
        for row in listing.names:
            output.json_line({"kind": "name", **fields(row)})
        for session in listing.sessions:
            output.json_line({"kind": "session", **fields(session)})
    else:
        output.table(COLUMNS, _rows(listing))


def _from_files(root: Path) -> Listing:
    """The names and their pending mail without a daemon."""
    mail = Mail(root)
    rows = []
    for name in mail.listed():
        pending = mail.load(name).mailbox.pending
        oldest = next(iter(pending.values()), None)
        rows.append(
            NameRow(
                name=name,
                state="built-in" if name in BUILT_IN else "unknown",
                pending=len(pending),
                oldest=oldest.at if oldest else "",
            )
        )
    return Listing(device="", names=rows)


def _rows(listing: Listing) -> list[tuple[Cell, ...]]:
    """A row a name; then the live sessions that own none but can be written to."""
    rows: list[tuple[Cell, ...]] = []
    for row in listing.names:
        owner = f"pid {row.owner.pid}" if row.owner else ""
        state = f"{row.state}: {row.note}" if row.note else row.state
        rows.append((row.name, owner, state, row.pending, output.when(row.oldest)))
    for session in listing.sessions:
        if session.address:
            rows.append((session.address, f"pid {session.pid}", "unclaimed", 0, ""))
    return rows

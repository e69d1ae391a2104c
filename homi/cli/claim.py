"""`claim` and `release`: making and ending the names of this device.  homi-claim(1)."""

import os

import click

from homi import paths
from homi.address import show
from homi.amount import amount
from homi.cli import options, output
from homi.connection import Connection
from homi.errors import NoInput, Usage
from homi.reports import Claimed, Freed
from homi.requests import Claim, Release
from homi.visible import visible


@click.command()
@click.argument("name")
@click.option("--cwd", metavar="DIR", help="Only a session in DIR or below owns it.")
@click.option("--take", is_flag=True, help="Give it to the newest live session of it.")
@click.option("--front", is_flag=True, help="Keep it listed while a session has it.")
@click.option("--no-front", is_flag=True, help="List the session under it again.")
@options.as_json
@click.pass_obj
def claim(
    home: str,
    /,
    name: str,
    cwd: str | None,
    *,
    take: bool,
    front: bool,
    no_front: bool,
    as_json: bool,
) -> None:
    """Make NAME an address that keeps its mail at any hour.

    \b
      $ homi claim gds-agent
      $ homi claim --cwd ~/src/gds gds-agent
      $ homi claim --front gds-agent    # its session is called gds-agent-live
    """
    if front and no_front:
        raise Usage("--front and --no-front are two things", hint="name one of them")
    folder = None if cwd is None else _absolute(cwd)
    with Connection(paths.state_root(home)) as client:
        asked = Claim(
            i=1,
            name=name,
            cwd=folder,
            take=take,
            front=front if front or no_front else None,
        )
        done = client.call(asked, Claimed)
    if as_json:
        output.json_line(done)
        return
    owner = f", owned by pid {done.owner}" if done.owner else ""
    what = "claimed" if done.fresh else "already claimed"
    where = ", in front" if done.front else ""
    output.line(f"{what} {done.name}{owner}{where}")
    if done.missing:
        output.note(
            f"no session lists it yet: no client has run here, {visible(done.missing)}"
            " is not there"
        )


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
        done = client.call(Release(i=1, name=name), Freed)
    if as_json:
        output.json_line(done)
        return
    output.line(done.text)
    if done.pending:
        left = amount(done.pending, "pending message stays", "pending messages stay")
        output.note(f"{left} in its mailbox")
    if done.newer:
        follow = "follows" if done.newer == 1 else "follow"
        output.note(f"{done.newer} of them waited for older mail, and {follow} now")
    for one in done.remains:
        output.note(f"{one.text} ({one.undo})")

"""`alias`: names that lead to other addresses.  homi-claim(1)."""

import click

from homi import paths
from homi.address import Name
from homi.cli import options, output
from homi.cli.mail import Mail
from homi.cli.meant import Family
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import HomiError
from homi.reports import Aliased, AliasRow, Listing
from homi.requests import Alias, List, Unalias

COLUMNS = ("ALIAS", "LEADS TO", "MAILBOX", "NOTE")


@click.group(cls=Family, invoke_without_command=True, subcommand_metavar="[VERB ...]")
@options.as_json
@click.pass_context
def alias(ctx: click.Context, /, *, as_json: bool) -> None:
    """Let a name lead to another address.

    \b
      $ homi alias add reviewer gds-agent
      $ homi alias ls
      $ homi alias rm reviewer
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(ls, as_json=as_json)
    elif as_json:
        options.misplaced(ctx)


@alias.command()
@click.argument("name", metavar="NAME")
@click.argument("to", metavar="ADDRESS")
@options.as_json
@click.pass_obj
def add(home: str, /, name: str, to: str, *, as_json: bool) -> None:
    """Let NAME lead to ADDRESS: what is sent to the one goes to the other.

    \b
      $ homi alias add reviewer gds-agent
    """
    with Connection(paths.state_root(home)) as client:
        done = client.call(Alias(i=1, name=name, to=to), Aliased)
    if as_json:
        output.json_line(done)
        return
    was = f" (before: {done.before})" if done.before not in ("", done.to) else ""
    already = "already " if done.before == done.to else ""
    output.line(f"{done.name} {already}leads to {done.to}{was}")


@alias.command()
@click.argument("given", metavar="NAME...", nargs=-1, required=True)
@options.as_json
@click.pass_obj
def rm(home: str, /, given: tuple[str, ...], *, as_json: bool) -> None:
    """End aliases; what they led to is not touched.

    \b
      $ homi alias rm reviewer
    """
    with Connection(paths.state_root(home)) as client:
        for name in given:
            done = client.call(Unalias(i=1, name=name), Aliased)
            if as_json:
                output.json_line(done)
            else:
                output.line(f"{done.name} leads to {done.to} no more")


@alias.command()
@options.as_json
@click.pass_obj
def ls(home: str, /, *, as_json: bool = False) -> None:
    """List the aliases, and the mailbox each leads to.

    \b
      $ homi alias ls
    """
    root = paths.state_root(home)
    try:
        with Connection(root) as client:
            rows = client.call(List(i=1), Listing).aliases
    except Absent:
        rows = from_files(Mail(root))
    if as_json:
        output.json_lines(rows)
        return
    cells = [(row.name, row.to, row.place, row.note) for row in rows]
    output.table(COLUMNS, cells, empty="no name leads elsewhere (homi alias add)")


def from_files(mail: Mail) -> list[AliasRow]:
    """The aliases as the files tell them."""
    return [_row(mail, name) for name in sorted(mail.shown().aliases)]


def _row(mail: Mail, name: Name) -> AliasRow:
    """One of them, with the mailbox it leads to or why to none."""
    to = mail.shown().leads_to(name) or ""
    try:
        return AliasRow(name, to, place=mail.recipient(to))
    except HomiError as error:
        return AliasRow(name, to, note=error.text)

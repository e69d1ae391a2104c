"""`command`: names whose mail is given to a command.  homi-command(1)."""

import os

import click
import msgspec

from homi import paths
from homi.cli import options, output
from homi.cli.mail import Mail
from homi.cli.meant import Family
from homi.commanded import CommandDone, CommandRow
from homi.commands import ready
from homi.commands.record import rows
from homi.commands.template import Source, Template
from homi.connection import Connection
from homi.errors import Usage
from homi.orders.commands import CommandBind, CommandOrder
from homi.visible import visible

COLUMNS = ("NAME", "COMMAND", "STATE", "SESSION", "CWD", "LAST RUN")


@click.group(cls=Family, invoke_without_command=True, subcommand_metavar="[VERB ...]")
@options.as_json
@click.pass_context
def command(ctx: click.Context, /, *, as_json: bool) -> None:
    """Give each letter for a name to a command: one run, one turn.

    \b
      $ homi command bind reviewer --template gemini --cwd ~/src/gds
      $ homi command bind lint -- ./lint.sh
      $ homi command ls
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(ls, as_json=as_json)
    elif as_json:
        options.misplaced(ctx)


@command.command()
@click.argument("name", metavar="NAME")
@click.argument("argv", nargs=-1, metavar="[-- ARGV...]")
@click.option("--template", metavar="NAME|FILE", help="How an agent is started.")
@click.option("--session", metavar="ID", default="", help="Go on with that session.")
@click.option("--cwd", metavar="DIR", help="Run it there; else in this folder.")
@options.as_json
@click.pass_obj
def bind(
    home: str,
    /,
    name: str,
    argv: tuple[str, ...],
    template: str | None,
    session: str,
    cwd: str | None,
    *,
    as_json: bool,
) -> None:
    """Have the letters for NAME, claimed if need be, given to a command.

    \b
      $ homi command bind reviewer --template claude --cwd ~/src/gds
      $ homi command bind reviewer --template opencode -- --model some/model
      $ homi command bind lint --cwd ~/src/gds -- ./lint.sh
    """
    label, chosen, args = _chosen(template, list(argv))
    asked = CommandBind(
        i=1,
        name=name,
        label=label,
        template=msgspec.to_builtins(chosen),
        cwd=os.path.realpath(cwd or "."),
        args=args,
        session=session,
        path=os.environ.get("PATH", ""),
    )
    _change(home, asked, as_json=as_json)


@command.command()
@click.argument("name", metavar="NAME")
@options.as_json
@click.pass_obj
def unbind(home: str, /, name: str, *, as_json: bool) -> None:
    """Start no more runs for NAME; it stays claimed, its mail waits.

    \b
      $ homi command unbind reviewer
    """
    _change(home, CommandOrder(i=1, do="unbind", name=name), as_json=as_json)


@command.command()
@click.argument("name", metavar="NAME")
@options.as_json
@click.pass_obj
def resume(home: str, /, name: str, *, as_json: bool) -> None:
    """Go on with NAME, which failed three times in a row.

    \b
      $ homi command resume reviewer
    """
    _change(home, CommandOrder(i=1, do="resume", name=name), as_json=as_json)


@command.command()
@options.as_json
@click.pass_obj
def ls(home: str, /, *, as_json: bool = False) -> None:
    """List the bound names, and how their last runs ended.

    \b
      $ homi command ls
      $ homi command ls --json | jq -r .run
    """
    root = paths.state_root(home)
    found = rows(str(root), Mail(root).shown().claims)
    if as_json:
        output.json_lines(found)
        return
    output.table(
        COLUMNS, [_cells(row) for row in found], empty="no name is bound to a command"
    )
    for row in found:
        if row.failure:
            output.note(f"{row.name}: {row.failure}")


def _chosen(given: str | None, argv: list[str]) -> tuple[str, Template, list[str]]:
    """What the command is called, how it runs, and what comes at its end."""
    if given is not None:
        label, template = ready.load(given)
        return label, template, argv
    if not argv:
        raise Usage(
            "which command is meant?",
            hint=f"-- ARGV..., or --template with one of {', '.join(ready.names())}",
        )
    # Of a command that nobody described what it prints is the answer.
    label = os.path.basename(argv[0]) or "command"
    return label, Template(argv=argv, answer=Source()), []


def _change(home: str, asked: CommandBind | CommandOrder, *, as_json: bool) -> None:
    """Have it done; say what it is now."""
    with Connection(paths.state_root(home)) as client:
        done = client.call(asked, CommandDone)
    if as_json:
        output.json_line(done)
    elif done.done == "bind":
        output.line(f"letters for {done.name} go to {done.label} in {done.cwd}")
    elif done.done == "unbind":
        output.line(f"letters for {done.name} go to {done.label} no more")
    else:
        output.line(f"letters for {done.name} go to {done.label} again")


def _cells(row: CommandRow) -> tuple[str, ...]:
    last = f"{row.run}: {row.end or 'goes on'}" if row.run else ""
    return (row.name, row.label, row.state, row.session, row.cwd, visible(last))

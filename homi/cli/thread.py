"""`thread`: a conversation as a tree, over all mailboxes.  homi-inbox(1).

Changes nothing; shows text only where a person asked for it.
"""

import click
import msgspec

from homi import paths
from homi.cli import options, output
from homi.cli.caller import connect
from homi.cli.mail import Mail
from homi.cli.rows import explained, sender, shown_ids
from homi.mail import Branch, Message, branches
from homi.render import Cell, fields

COLUMNS = ("ID", "FROM", "NAME", "KIND", "RUNG", "AGE")
INDENT = "  "
DEEPEST = 8  # levels that are indented: deeper ones would leave no room for the rest


@click.command()
@click.argument("message", metavar="ID")
@click.option("--brief", is_flag=True, help="With the first line of each text.")
@options.as_json
@click.pass_obj
def thread(home: str, /, message: str, *, brief: bool, as_json: bool) -> None:
    """Show the whole conversation that the message ID is in.

    \b
      $ homi thread 7c10
      $ homi thread --brief 7c10
    """
    mail = Mail(paths.state_root(home))
    me, client = connect(mail.root)
    start = mail.need(message, me.name)[0].id
    lines = list(branches(mail, start, brief=brief))
    known = explained((x.message for x in lines if x.message), client)
    lines = [x if x.message is None else _with(x, next(known)) for x in lines]
    if as_json:
        output.json_lines(map(_object, lines))
        return
    shown = shown_ids(mail, [line.id for line in lines])
    columns = (*COLUMNS, "TEXT") if brief else COLUMNS
    if not output.terminal():
        columns = ("DEPTH", *columns)
    output.table(columns, [_cells(line, shown[line.id], brief=brief) for line in lines])


def _with(line: Branch, message: Message) -> Branch:
    """The line with what is known of its message now."""
    return msgspec.structs.replace(line, message=message)


def _object(line: Branch) -> dict[str, object]:
    """A line of the tree in its JSON form: its place in it, then the message."""
    place = fields(line)
    del place["message"]
    known = {} if line.message is None else fields(line.message)
    return {**place, "missing": line.message is None, **known}


def _cells(line: Branch, shown: str, *, brief: bool) -> tuple[Cell, ...]:
    """A line of the tree as a row: indented for a person, else with its depth."""
    front: tuple[Cell, ...] = (line.depth, shown)
    if output.terminal():
        deep = f"[{line.depth}] " if line.depth > DEEPEST else ""
        front = (INDENT * min(line.depth, DEEPEST) + deep + shown,)
    row = line.message
    if row is None:
        return *front, "", "", "", "not here", "", *([""] if brief else [])
    text = [row.brief] if brief else []
    return *front, sender(row), row.name, row.kind, row.rung, output.when(row.at), *text

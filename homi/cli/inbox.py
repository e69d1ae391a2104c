"""`inbox`: the mail of a name, by the files.  homi-inbox(1).

Changes nothing; shows text only where a person asked for it.
"""

from collections.abc import Iterable
from typing import Any

import click

from homi import paths
from homi.cli import filters, options, output
from homi.cli.caller import connect
from homi.cli.filters import Chosen
from homi.cli.mail import Mail
from homi.cli.rows import explained, show_rows, spooled
from homi.errors import Usage
from homi.mail import listed
from homi.store.index import Entry
from homi.visible import visible


@click.command()
@click.argument("name", required=False)
@click.option("--pending", is_flag=True, help="Only what is not finished, the default.")
@click.option("--all", "every", is_flag=True, help="Whatever its rung, archived too.")
@filters.common
@click.option(
    "--after",
    type=options.number,
    metavar="SEQ",
    help="Only mail with a higher seq; --limit is then the first N.",
)
@click.option("--raw", is_flag=True, help="The stored lines, byte for byte.")
@options.as_json
@click.pass_obj
def inbox(
    home: str,
    /,
    name: str | None,
    *,
    as_json: bool,
    **chosen: Any,  # noqa: ANN401 - each is what its option is
) -> None:
    """List the pending mail of NAME, or your own; changes nothing.

    \b
      $ homi inbox
      $ homi inbox --brief gds-agent
      $ homi inbox --all --since 2d --from ci gds-agent
    """
    wanted = Chosen(**chosen)
    if wanted.pending and wanted.every:
        raise Usage("--pending and --all exclude each other")
    if wanted.raw and (wanted.brief or as_json):
        raise Usage("--raw shows the lines as they are", hint="--json has every field")
    mail = Mail(paths.state_root(home))
    me, client = connect(mail.root)
    place = mail.place(me.need("inbox") if name is None else name)
    only = None if wanted.every else True
    query = wanted.query(mail, names=(place,), pending=only)
    # Who goes on behind a message must not miss those next to it.
    entries = mail.latest(query) if wanted.after is None else mail.entries(query)
    if wanted.raw:
        _show_raw(mail, entries)
        return
    rows = (listed(one, brief=mail.brief(one, wanted.brief)) for one in entries)
    what = "mail" if wanted.every else "pending mail"
    show_rows(
        mail,
        explained(rows, client, place),
        as_json=as_json,
        brief=wanted.brief,
        empty=f"no {what} for {place}",
    )
    if client is None and (waits := len(spooled(mail, place))):
        output.note(f"{waits} for {place} in pickup/ (homi start takes that in)")


def _show_raw(mail: Mail, entries: Iterable[Entry]) -> None:
    """The lines as they are stored; nothing a terminal acts on is shown to one."""
    for entry in entries:
        line = mail.line(entry)
        if output.terminal():
            output.line(visible(line.decode().removesuffix("\n")))
        else:
            output.raw(line)

"""`inbox`: what is pending for a name, by the files.  homi-inbox(1).

Changes nothing; shows no text of any message.
"""

import click

from homi import paths
from homi.address import Name
from homi.cli import options, output
from homi.cli.caller import connect
from homi.cli.mail import Mail
from homi.cli.rows import explained, pending, show_rows, spooled


@click.command()
@click.argument("name", required=False)
@options.as_json
@click.pass_obj
def inbox(home: str, /, name: str | None, *, as_json: bool) -> None:
    """List the pending mail of NAME, or your own; changes nothing.

    \b
      $ homi inbox
      $ homi inbox gds-agent
    """
    mail = Mail(paths.state_root(home))
    me, client = connect(mail.root)
    place = mail.place(name or me.need("inbox"))
    rows = explained(pending(mail, [place]), client)
    show_rows(rows, as_json=as_json, empty=f"no pending mail for {place}")
    if client is None and (waits := _spooled_for(mail, place)):
        output.note(f"{waits} for {place} in pickup/ (homi start takes that in)")


def _spooled_for(mail: Mail, place: Name) -> int:
    """How much of what waits in pickup/ is addressed to place."""
    names = (row.name.partition("@")[0].lower() for row in spooled(mail))
    return sum(name == place for name in names)

"""`queue`: the pending mail of the device, with what it waits for.  homi-inbox(1)."""

import click

from homi import paths
from homi.cli import options
from homi.cli.caller import connect
from homi.cli.mail import Mail
from homi.cli.rows import explained, pending, show_rows, spooled


@click.command()
@options.as_json
@click.pass_obj
def queue(home: str, /, *, as_json: bool) -> None:
    """List all pending mail of this device, with what it waits for.

    \b
      $ homi queue
      $ homi queue --json | jq -r 'select(.rung == "deferred").id'
    """
    mail = Mail(paths.state_root(home))
    _, client = connect(mail.root)
    rows = explained(pending(mail, mail.mailboxes()), client)
    rows += spooled(mail)
    show_rows(rows, as_json=as_json, named=True, empty="no pending mail on this device")

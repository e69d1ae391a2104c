"""`wait`: until there is mail.  homi-inbox(1).

Owns going on over a restart of the daemon: the same question is asked again.
"""

import time

import click

from homi import paths
from homi.cli import options
from homi.cli.caller import connect, own
from homi.cli.mail import Mail
from homi.cli.rows import explained, pending, show_rows
from homi.connection import Connection
from homi.dial import Absent, Lost
from homi.errors import Unavailable
from homi.reports import Waited
from homi.requests import Wait

RETURN_LIMIT = 10.0  # s a daemon that went away may take to come back
REDIAL = 0.2  # s between two tries to reach it


@click.command()
@click.argument("name", required=False)
@options.of("wait")
@click.pass_obj
def wait(
    home: str,
    /,
    name: str | None,
    timeout: float | None,
    after: int | None,
    *,
    as_json: bool,
) -> None:
    """Wait for pending mail of NAME, or your own, and list it.

    \b
      $ homi wait
      $ homi wait --timeout 300 gds-agent    # 124 when none came
    """
    mail = Mail(paths.state_root(home))
    me, client = connect(mail.root)
    if client is None:
        raise Absent("no daemon runs, so nothing can be waited for", hint="homi start")
    asked = me.need("wait") if name is None else own(mail.root, name)
    ask = Wait(i=1, name=asked, after=after or 0)
    found, client = _wait(mail, client, ask, timeout)
    place = mail.place(found.name)
    rows = pending(mail, [place], frozenset(found.ids), after or 0)
    show_rows(mail, explained(rows, client, place), as_json=as_json)


def _wait(
    mail: Mail, client: Connection, ask: Wait, timeout: float | None
) -> tuple[Waited, Connection]:
    """The daemon's answer and who gave it; asked again, for the time that is left,
    if it went away."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        request = Wait(i=1, name=ask.name, after=ask.after, timeout=left)
        try:
            return client.wait(request, Waited, left), client
        except Lost as lost:
            client = _again(mail, lost)


def _again(mail: Mail, lost: Lost) -> Connection:
    """A new connection to a daemon that went away; 69 if it does not come back."""
    limit = time.monotonic() + RETURN_LIMIT
    while time.monotonic() < limit:
        try:
            return Connection(mail.root)
        except (Absent, Lost):
            time.sleep(REDIAL)
    raise Unavailable(
        f"cannot tell whether there is mail: {lost.text}", hint="homi start"
    ) from lost

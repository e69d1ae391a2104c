"""`set`: what counts for one name, shown and chosen.  homi-claim(1)."""

from pathlib import Path

import click

from homi import config, paths
from homi.address import Name
from homi.cli import options, output
from homi.cli.caller import own
from homi.cli.mail import Mail
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import NoSuchName
from homi.reports import Chosen, SettingRow
from homi.requests import Set
from homi.settings import LEGS, show_all

COLUMNS = ("SETTING", "VALUE", "WHOSE")


@click.command("set")
@click.argument("name")
@click.argument("pairs", metavar="[KEY=VALUE]...", nargs=-1)
@options.as_json
@click.pass_obj
def set_(home: str, /, name: str, pairs: tuple[str, ...], *, as_json: bool) -> None:
    """Show or choose what counts for NAME: legs, pace, quiet times.

    An empty value is the default again.

    \b
      $ homi set gds-agent
      $ homi set gds-agent pace=0.1/5 digest=off
      $ homi set gds-agent quiet=22:00-07:00@Europe/Berlin
      $ homi set gds-agent quiet=
    """
    root = paths.state_root(home)
    name = own(root, name)
    try:
        with Connection(root) as client:
            chosen = client.call(Set(i=1, name=name, pairs=list(pairs)), Chosen)
    except Absent:
        if pairs:
            raise
        chosen = _from_files(root, name)
    if as_json:
        output.json_line(chosen)
        return
    rows = [
        (row.key, row.value, "own" if row.own else "default") for row in chosen.settings
    ]
    output.table(COLUMNS, rows)


def _from_files(root: Path, name: str) -> Chosen:
    """What counts for a name, without a daemon."""
    mail = Mail(root)
    place = mail.recipient(name)
    claim = mail.book().claims.get(Name(place))
    if claim is None:
        raise NoSuchName(f"no claim of {place}", hint=f"homi claim {place}")
    raw = claim.get("settings")
    kept = raw if isinstance(raw, dict) else {}
    quiet = config.load(paths.config_file()).policy.quiet
    body = claim.get("body")
    run = isinstance(body, dict) and body.get("client") == "command"
    shown = show_all(kept, LEGS, quiet, run=run)
    return Chosen(place, [SettingRow(*one) for one in shown])

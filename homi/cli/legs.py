"""`legs`: the ways to the session that owns a name, and their state.  homi-ls(1)."""

import click

from homi import paths
from homi.cli import options, output
from homi.cli.caller import own
from homi.cli.ls import answered
from homi.cli.mail import Mail
from homi.connection import Connection
from homi.dial import Absent
from homi.peers.probe import Probe, probe
from homi.render import Cell, fields, process
from homi.reports import LegRow, LegsReport
from homi.requests import Legs

COLUMNS = (
    "NAME",
    "LEG",
    "USABLE",
    "WHY",
    "UNTIL",
    "PROOFS",
    "SESSION",
    "UNPROVEN",
    "ANSWERS",
)
SILENT = "unreachable"  # the reason the courier itself gives for such a session


@click.command()
@click.argument("name", required=False)
@options.no_probe
@options.as_json
@click.pass_obj
def legs(home: str, /, name: str | None, *, no_probe: bool, as_json: bool) -> None:
    """List the ways to the owner of NAME, or of every owned name.

    \b
      $ homi legs gds-agent
      $ homi legs --json | jq -r 'select(.usable | not)'
    """
    root = paths.state_root(home)
    name = None if name is None else own(root, name)
    try:
        with Connection(root) as client:
            report = client.call(Legs(i=1, name=name), LegsReport)
    except Absent as error:
        if name is not None:
            Mail(root).place(name)  # of an unknown name, that is the news
        raise Absent(
            "no daemon runs, so no leg is in use: mail waits in its mailbox",
            hint="homi start",
        ) from error
    sockets = (row.session.socket for row in report.rows if row.session)
    found = {} if no_probe else probe(sockets)
    rows = [(row, _asked(row, found)) for row in report.rows]
    if as_json:
        output.json_lines(_json(row, asked) for row, asked in rows)
    else:
        output.table(
            COLUMNS,
            [_cells(row, asked) for row, asked in rows],
            empty="no live session owns a name",
        )


def _asked(row: LegRow, found: dict[str, Probe]) -> Probe:
    """What was measured of the session."""
    return found.get(row.session.socket if row.session else "", Probe(None))


def _state(row: LegRow, asked: Probe) -> tuple[bool, str]:
    """Whether the leg can be used, and why not; never where nobody answers."""
    if row.usable and asked.answers is False:
        return False, f"{SILENT} ({asked.why})"
    return row.usable, row.why


def _json(row: LegRow, asked: Probe) -> dict[str, object]:
    """A leg for a program."""
    usable, why = _state(row, asked)
    return {**fields(row), "usable": usable, "why": why, "probe": asked}


def _cells(row: LegRow, asked: Probe) -> tuple[Cell, ...]:
    """A leg for a person."""
    usable, why = _state(row, asked)
    return (
        row.name,
        row.leg,
        "yes" if usable else "no",
        why,
        output.until(row.until),
        ",".join(row.proofs),
        process(row.session),
        row.unproven,
        answered(asked),
    )

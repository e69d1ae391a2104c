"""`doctor`: what may be wrong here, each with its fix.  homi-doctor(1)."""

from collections import Counter

import click

from homi import paths
from homi.cli import options, output
from homi.doctor.check import Grade, Row, examine, status
from homi.doctor.facts import Facts
from homi.doctor.machine import Machine
from homi.doctor.table import CHECKS
from homi.render import cell

COLUMNS = ("STATE", "CHECK", "FOUND")


@click.command()
@click.option("--fix", is_flag=True, help="Do what is safe, and look again.")
@click.option("--quick", is_flag=True, help="Leave out what takes long.")
@options.as_json
@click.pass_obj
def doctor(home: str, /, *, fix: bool, quick: bool, as_json: bool) -> int:
    """Look for what is wrong, and say what mends it.

    \b
      $ homi doctor
      $ homi doctor --quick
      $ homi doctor --json | jq -r 'select(.grade == "FAIL") | .fix'
    """
    facts = Facts(paths.state_root(home), Machine())
    rows: list[Row] = []
    for row in examine(CHECKS, facts, quick=quick, fix=fix):
        rows.append(row)
        if as_json:
            output.json_line(row)
    if not as_json:
        _tell(rows)
    return status(rows)


def _tell(rows: list[Row]) -> None:
    """The table; a fix stands behind what it mends."""
    if output.terminal():
        shown = [(row.grade.value, row.check, _found(row)) for row in rows]
        output.table(COLUMNS, shown, last=True)
    else:
        cells = [(one.grade.value, one.check, one.text, one.fix) for one in rows]
        output.table((), cells)
    for row in rows:
        if row.done:
            output.note(f"{row.check}: {cell(row.done)}")
    counts = Counter(row.grade for row in rows)
    output.note(
        f"{counts[Grade.FAIL]} failed, {counts[Grade.WARN]} to be looked at,"
        f" {counts[Grade.OK]} well, {counts[Grade.SKIP]} not looked at"
    )


def _found(row: Row) -> str:
    """What was found, and what mends it."""
    return f"{row.text}; fix: {row.fix}" if row.fix else row.text

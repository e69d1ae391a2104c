"""`doctor`: what may be wrong here, each with its fix.  homi-doctor(1)."""

import os
import re
from collections import Counter

import click
from msgspec.structs import replace

from homi import paths
from homi.cli import options, output
from homi.cli.main import MODULES
from homi.doctor.check import NO_DAEMON, Grade, Row, examine, status
from homi.doctor.facts import Facts
from homi.doctor.machine import Machine
from homi.doctor.table import CHECKS
from homi.render import cell
from homi.shell import quoted

# A command of ours, and whether it is for another machine.
_HOMI = re.compile(
    rf"(?<!\S)(ssh \S+ )?homi (?=(?:{'|'.join({*MODULES} - {'setup'})})\b)"
)
COLUMNS = ("STATE", "CHECK", "FOUND")


@click.command()
@click.option("--fix", is_flag=True, help="Do what is safe, and look again.")
@click.option("--quick", is_flag=True, help="Leave out what takes long.")
@click.option("--all", "every", is_flag=True, help="A line for what was not looked at.")
@options.as_json
@click.pass_obj
def doctor(home: str, /, *, fix: bool, quick: bool, every: bool, as_json: bool) -> int:
    """Look for what is wrong, and say what mends it.

    \b
      $ homi doctor
      $ homi doctor --quick
      $ homi doctor --json | jq -r 'select(.grade == "FAIL") | .fix'
    """
    facts = Facts(paths.state_root(home), Machine())
    rows: list[Row] = []
    for row in examine(CHECKS, facts, quick=quick, fix=fix):
        row = _there(row, home)
        rows.append(row)
        if as_json:
            output.json_line(row)
    if not as_json:
        _tell(rows, every=every)
    return status(rows)


def _there(row: Row, home: str) -> Row:
    """The row with commands that are about the same state root."""
    if not home:
        return row
    other = f"homi --home {quoted(os.path.abspath(home))} "

    def told(text: str) -> str:
        return _HOMI.sub(lambda found: found[0] if found[1] else other, text)

    return replace(row, fix=told(row.fix), hand=told(row.hand))


def _tell(rows: list[Row], *, every: bool) -> None:
    """The table; a fix stands behind what it mends."""
    listed = rows if every else _shortened(rows)
    if output.terminal():
        shown = [(row.grade.value, row.check, _found(row)) for row in listed]
        output.table(COLUMNS, shown, last=True)
    else:
        cells = [(o.grade.value, o.check, o.text, o.fix, o.hand) for o in listed]
        output.table((), cells)
    for row in rows:
        if row.done:
            output.note(f"{row.check}: {cell(row.done)}")
    counts = Counter(row.grade for row in rows)
    output.note(
        f"{counts[Grade.FAIL]} failed, {counts[Grade.WARN]} to be looked at,"
        f" {counts[Grade.OK]} well, {counts[Grade.SKIP]} not looked at"
    )


def _shortened(rows: list[Row]) -> list[Row]:
    """All that asks a daemon as one row, where the first of it stood."""
    skipped = [row for row in rows if row.text == NO_DAEMON]
    if len(skipped) < 2:
        return rows
    names = ", ".join(dict.fromkeys(row.check for row in skipped))
    text = f"{len(skipped)} checks ask a daemon, and none answers: {names}"
    one = replace(skipped[0], check="-", text=text)
    at = rows.index(skipped[0])
    return [*rows[:at], one, *(row for row in rows[at:] if row.text != NO_DAEMON)]


def _found(row: Row) -> str:
    """What was found, what a person does about it, and what mends it."""
    parts = (row.text, row.hand, f"fix: {row.fix}" if row.fix else "")
    return "; ".join(part for part in parts if part)

"""`prune`: old closed segments, and blobs that nobody names, removed.  homi-prune(1).

Owns the age as a person writes it, the dry run and the telling; the daemon removes.
"""

import re
import time
from pathlib import Path
from typing import Any

import click

from homi import paths
from homi.address import show
from homi.cli import options, output
from homi.cli.failures import refused
from homi.cli.mail import Mail
from homi.clock import rfc3339
from homi.connection import Connection
from homi.errors import StorageFailed
from homi.render import cell
from homi.reports import Pruned, PrunedRow
from homi.requests import Prune
from homi.store.disk import RealDisk
from homi.store.prune import DAY, LEAST, USUAL, plan
from homi.store.unnamed import ROW, awaited, unnamed

COLUMNS = ("NAME", "FILES", "MESSAGES", "BYTES", "UPTO", "NOTE")
DIGITS = 12  # of a blob's name, to a person
_AGE = re.compile(r"([0-9]{1,6})([dw])", re.ASCII)


def span(text: str) -> int:
    """An age as a person writes it, in seconds; nothing younger may go."""
    found = _AGE.fullmatch(text)
    if found is None:
        raise click.BadParameter(f"{show(text)} is no age: 90d, 26w")
    seconds = int(found[1]) * DAY * (7 if found[2] == "w" else 1)
    if seconds < LEAST:
        raise click.BadParameter(
            f"{text} is under {LEAST // DAY}d: ids are remembered that long"
        )
    return seconds


@click.command()
@click.argument("name", required=False)
@click.option(
    "--older-than",
    "older",
    type=span,
    metavar="AGE",
    help="Only what is that old: 90d (the default), 26w; 30d at least.",
)
@click.option("--dry-run", is_flag=True, help="Remove nothing, say what would go.")
@options.as_json
@click.pass_obj
def prune(
    home: str, /, name: str | None, older: int | None, *, dry_run: bool, as_json: bool
) -> int:
    """Remove old archived mail, of NAME or of all.

    \b
      $ homi prune --dry-run
      $ homi prune gds-agent --older-than 180d

    What is pending stays.  Without NAME old blobs that no kept message names go
    as well.
    """
    root = paths.state_root(home)
    older_s = USUAL if older is None else older
    if dry_run:
        rows = _planned(root, name, older_s)
    else:
        with Connection(root) as client:
            place = None if name is None else Mail(root).place(name)
            asked = Prune(i=1, name=place, older_s=older_s)
            rows = client.wait(asked, Pruned, None).rows
    return _tell(rows, as_json=as_json)


def _planned(root: Path, name: str | None, older_s: int) -> list[PrunedRow]:
    """What would go, from the files."""
    mail = Mail(root)
    names = mail.mailboxes() if name is None else [mail.place(name)]
    before = max(0.0, time.time() - older_s)
    try:
        plans = plan(RealDisk(), str(root), names, rfc3339(before))
        blobs = [] if name is not None else _blobs(mail, before)
    except OSError as error:
        raise StorageFailed(f"cannot read {error.filename}: {error.strerror}") from None
    rows = [one.row(len(one.old)) for one in plans]
    shown = [row for row in rows if row.files or row.note]
    return [*shown, *blobs]


def _blobs(mail: Mail, before: float) -> list[PrunedRow]:
    """A row for each blob that would go, from the files."""
    claims = mail.book().claims
    if coming := sorted(name for name, claim in claims.items() if _comes(claim)):
        return [PrunedRow(name=ROW, note=awaited(coming))]
    return [
        PrunedRow(name=f"{ROW}{one.name}", files=1, bytes=one.size)
        for one in unnamed(RealDisk(), str(mail.root), before)
    ]


def _comes(claim: dict[str, Any]) -> bool:
    """Whether not all is in place that came with it from another device."""
    came = claim.get("came")
    return isinstance(came, dict) and bool(came.get("manifest"))


def _shown(name: str) -> str:
    """A mailbox, or for a person the start of a blob's name."""
    short = name.startswith(ROW) and output.terminal()
    return name[: len(ROW) + DIGITS] if short else name


def _tell(rows: list[PrunedRow], *, as_json: bool) -> int:
    """A row a mailbox, what could not be removed on stderr too; the highest status."""
    status = 0
    if as_json:
        output.json_lines(rows)
    else:
        table = [
            (_shown(row.name), row.files, row.messages, row.bytes, row.upto, row.note)
            for row in rows
        ]
        output.table(COLUMNS, table, empty="no archived mail is that old")
    for row in rows:
        if row.code:
            about = f"{cell(row.name)}: {row.error}"
            status = max(status, refused(row, about, as_json=as_json))
    return status

"""`trace`: all that is known of one message, in order.  homi-inbox(1)."""

import click

from homi import ids, paths, render
from homi.cli import options, output
from homi.cli.mail import Mail
from homi.cli.rows import shown_ids
from homi.envelope import LedgerLine
from homi.errors import NoInput
from homi.mail import Line, Start, life, spooled_start, starts
from homi.render import Cell

COLUMNS = ("AT", "NAME", "RUNG", "REASON", "LEG", "SESSION", "BY")


@click.command()
@click.argument("message", metavar="ID")
@options.as_json
@click.pass_obj
def trace(home: str, /, message: str, *, as_json: bool) -> None:
    """Print what became of the message ID, from its first line on.

    \b
      $ homi trace 7c10
    """
    mail = Mail(paths.state_root(home))
    lives: list[tuple[str, Line]] = [
        (msg.to, spooled_start(found, msg))
        for found, msg in mail.spooled()
        if starts(msg.id, message.lower())
    ]
    for entry in mail.find(message):
        lives += [(entry.name, line) for line in life(mail, entry)]
    if not lives:
        raise NoInput(
            f"no message {message} in any mailbox here",
            hint="homi inbox shows the ids",
        )
    if as_json:
        output.json_lines({"name": name, **render.fields(x)} for name, x in lives)
        return
    rows = [_cells(place, line) for place, line in lives]
    named = {one for row in rows for one in ids.SHAPE.findall(str(row[-1]))}
    shown = shown_ids(mail, named)
    output.table(
        COLUMNS,
        [
            (*row, ids.SHAPE.sub(lambda one: shown[one[0]], str(last)))
            for *row, last in rows
        ],
    )


def _cells(place: str, line: Line) -> tuple[Cell, ...]:
    """A line of a life as a row."""
    if isinstance(line, Start):
        via = line.via
        process = "" if via.pid is None else f"pid {via.pid}"
        return line.at, place, line.rung, "", via.door, process, _sender(line)
    session = render.session(line.session)
    return line.at, place, line.rung, line.reason, line.leg, session, _decision(line)


def _sender(line: Start) -> str:
    """The sender with its device, and whether that was proven."""
    device = f"@{line.via.device}" if line.via.device else ""
    return f"{line.from_}{device}" + ("" if line.via.verified else ", not verified")


def _decision(line: LedgerLine) -> str:
    """Who or what moved it, and what goes with that."""
    by, proof = line.by or "", line.proof or ""
    parts = [by, "" if by.startswith(proof) else f"by {proof}"]
    parts.append("as a repeat" if line.repeat else "")
    parts.append(f"not before {line.until}" if line.until else "")
    return ", ".join(part for part in parts if part)

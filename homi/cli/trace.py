"""`trace`: all that is known of one message, in order.  homi-inbox(1)."""

import click

from homi import ids, paths, render
from homi.address import Device
from homi.cli import far, options, output
from homi.cli.mail import Mail
from homi.cli.rows import shown_ids
from homi.envelope import LedgerLine, MessageId, Rung
from homi.errors import NoInput
from homi.far import Step, Steps
from homi.mail import Line, Start, life, spooled_start, starts
from homi.render import Cell
from homi.store.places import device_of

COLUMNS = ("AT", "NAME", "RUNG", "REASON", "LEG", "SESSION", "BY")


@click.command()
@click.argument("message", metavar="ID")
@options.as_json
@click.pass_obj
def trace(home: str, /, message: str, *, as_json: bool) -> None:
    """Print what became of the message ID, here and elsewhere.

    \b
      $ homi trace 7c10
    """
    mail = Mail(paths.state_root(home))
    lives: list[tuple[str, Line]] = [
        (msg.to, spooled_start(found, msg))
        for found, msg in mail.spooled()
        if starts(msg.id, message.lower())
    ]
    here = mail.device  # what waits in the queue for it has not left
    sent: dict[tuple[Device, MessageId], str] = {}  # where else, and when heard of
    for entry in mail.find(message):
        lives += [(entry.name, line) for line in life(mail, entry)]
        device = device_of(entry.name)
        if device not in (None, here) and entry.rung is not Rung.MOVED:
            sent[device, entry.id] = entry.changed
    if not lives:
        raise NoInput(
            f"no message {message} in any mailbox here",
            hint="homi inbox shows the ids",
        )
    told = far.trace(mail.root, list(sent))
    if as_json:
        output.json_lines({"name": name, **render.fields(x)} for name, x in lives)
        output.json_lines(far.steps_json(told))
    else:
        _show(mail, lives, told)
    for steps, at in zip(told, sent.values(), strict=True):
        if not steps.asked:
            age = f"{output.when(at)}{' ago' if output.terminal() else ''}"
            output.note(f"{steps.device} ({steps.why}): known as of {age}")


def _show(mail: Mail, lives: list[tuple[str, Line]], told: list[Steps]) -> None:
    """A table of the lines, first those of this device."""
    rows = [_cells(place, line) for place, line in lives]
    rows += [_far(steps.device, step) for steps in told for step in steps.steps]
    named = {one for row in rows for one in ids.SHAPE.findall(str(row[-1]))}
    shown = shown_ids(mail, named)
    output.table(
        COLUMNS,
        [
            (*row, ids.SHAPE.sub(lambda one: shown[one[0]], str(last)))
            for *row, last in rows
        ],
        last=True,
    )


def _cells(place: str, line: Line) -> tuple[Cell, ...]:
    """A line of a life as a row."""
    if isinstance(line, Start):
        via = line.via
        process = "" if via.pid is None else f"pid {via.pid}"
        return line.at, place, line.rung, "", via.door, process, _sender(line)
    session = render.session(line.session)
    place = f"{place}/{line.member}" if line.member else place
    return line.at, place, line.rung, line.reason, line.leg, session, _decision(line)


def _far(device: str, step: Step) -> tuple[Cell, ...]:
    """A line that another device tells, by its own clock."""
    process = f"pid {step.pid}" if step.pid else ""
    where = step.name if step.name.startswith("@") else f"{step.name}@{device}"
    by = _way(step.by, step.proof, step.until, repeat=step.repeat)
    return step.at, where, step.rung, step.reason, step.leg, process, by


def _sender(line: Start) -> str:
    """The sender with its device, and whether that was proven."""
    device = f"@{line.via.device}" if line.via.device else ""
    return f"{line.from_}{device}" + ("" if line.via.verified else ", not verified")


def _decision(line: LedgerLine) -> str:
    """Who or what moved it, and what goes with that."""
    by, proof, until = line.by or "", line.proof or "", line.until or ""
    text = _way(by, proof, until, repeat=line.repeat)
    if line.allowed:
        text = f"{text} let a secret leave: {line.allowed}"
    return f"{text}, there at {line.there}" if line.there else text


def _way(by: str, proof: str, until: str, *, repeat: bool) -> str:
    """The parts of it that say something."""
    parts = [by, "" if by.startswith(proof) else f"by {proof}"]
    parts.append("as a repeat" if repeat else "")
    parts.append(f"not before {until}" if until else "")
    return ", ".join(part for part in parts if part)

"""`trace`: all that is known of one message, in order.  homi-inbox(1)."""

from collections.abc import Iterator

import click
import msgspec

from homi import paths, render
from homi.cli import options, output
from homi.cli.mail import Mail
from homi.envelope import Kind, LedgerLine, MessageId, Msg, Rung, Via
from homi.errors import NoInput
from homi.mail import Letter, starts
from homi.render import Cell
from homi.store import reading
from homi.store.lines import Unreadable

COLUMNS = ("AT", "NAME", "RUNG", "REASON", "LEG", "SESSION", "BY")


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a life: how the message came in."""

    seq: int = 0  # of its inbox line; 0 while it is only spooled
    id: MessageId
    rung: Rung
    at: str  # RFC 3339
    from_: str = msgspec.field(name="from")
    to: str  # as the sender wrote it
    kind: Kind
    reply_to: MessageId | None = None
    via: Via


Line = Start | LedgerLine


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
    lives = list(_spooled(mail, message))
    for letter in mail.find(message, mail.mailboxes()):
        lives += [(letter.place, line) for line in _life(mail, letter)]
    if not lives:
        raise NoInput(
            f"no message {message} in any mailbox here", hint="homi queue lists them"
        )
    if as_json:
        for place, line in lives:
            output.json_line({"name": place, **render.fields(line)})
    else:
        output.table(COLUMNS, [_cells(place, line) for place, line in lives])


def _life(mail: Mail, letter: Letter) -> Iterator[Line]:
    """The inbox line of a message, then every ledger line about it."""
    envelope = letter.envelope
    yield _start(letter.msg, Rung.STORED, envelope.at, envelope.via, envelope.seq)
    ledger = mail.root / "mail" / letter.place / reading.LEDGER
    for offset, line in reading.iter_ledger(ledger):
        if isinstance(line, Unreadable):
            output.note(f"{ledger}: at offset {offset}: {line.text}")
        elif line.seq == envelope.seq and line.id == letter.msg.id:
            yield line


def _spooled(mail: Mail, message: str) -> Iterator[tuple[str, Line]]:
    """The message as it waits in pickup/; nothing where it does not."""
    for found, msg in mail.spooled():
        if starts(msg.id, message.lower()):
            via = Via(door="pickup", uid=found.uid, pid=found.pid)
            yield msg.to, _start(msg, Rung.SPOOLED, found.at, via)


def _start(msg: Msg, rung: Rung, at: str, via: Via, seq: int = 0) -> Start:
    """The first line of the life of msg."""
    return Start(
        seq=seq,
        id=msg.id,
        rung=rung,
        at=at,
        from_=msg.from_,
        to=msg.to,
        kind=msg.kind,
        reply_to=msg.reply_to,
        via=via,
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
    parts = [line.by or "", f"by {line.proof}" if line.proof else ""]
    parts.append("as a repeat" if line.repeat else "")
    parts.append(f"not before {line.until}" if line.until else "")
    return ", ".join(part for part in parts if part)

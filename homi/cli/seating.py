"""What changes a seat: opening, typing, answering, ending.  homi-seat(1).

Owns the asking; the daemon decides who may, and does it.
"""

import os

import click
from msgspec.structs import replace

from homi import paths
from homi.cli import farseat, options, output
from homi.cli.submission import Plan, read_text
from homi.connection import Connection
from homi.errors import NotAllowed, NotReached, Unavailable, Usage
from homi.orders.seats import (
    FarSeat,
    SeatBind,
    SeatOrder,
    SeatRespond,
    SeatSend,
    SeatSpawn,
)
from homi.seated import SeatDone, SeatRow
from homi.visible import visible

WORK = 30.0  # s the daemon may take to type and to see what became of it


@click.command()
@click.argument("name")
@click.argument("argv", metavar="-- ARGV...", nargs=-1, required=True)
@click.option("--cwd", metavar="DIR", help="Where it runs; else here.")
@click.option("--client", metavar="WORD", default="", help="claude, codex or shell.")
@click.option("--size", metavar="CxR", help="Columns and rows: 120x40.")
@options.as_json
@click.pass_obj
def spawn(
    home: str,
    /,
    name: str,
    argv: tuple[str, ...],
    cwd: str | None,
    client: str,
    size: str | None,
    *,
    as_json: bool,
) -> None:
    """Open the seat NAME with a program.

    \b
      $ homi seat spawn ada --cwd ~/src/app -- claude --model opus
      $ homi seat spawn sh -- bash
    """
    columns, rows = _size(size or "120x40")
    request = SeatSpawn(
        i=1,
        name=name,
        argv=list(argv),
        cwd=options.folder(cwd),
        client=client,
        columns=columns,
        rows=rows,
        path=os.environ.get("PATH", ""),
    )
    with Connection(paths.state_root(home)) as daemon:
        opened = daemon.wait(request, SeatRow, WORK)
    if as_json:
        output.json_line(opened)
    else:
        output.line(f"{opened.seat} is open: {opened.pane}, pid {opened.pid}")


@click.command()
@click.argument("seat")
@click.argument("text", required=False)
@options.as_json
@click.pass_obj
def send(home: str, /, seat: str, text: str | None, *, as_json: bool) -> None:
    """Type TEXT, or standard input, into SEAT and press Enter.

    \b
      $ homi seat send ada 'run the tests'
      $ homi seat send ada < notes.md
      $ homi seat send ada@mini 'run the tests'

    Only where the seat waits for a line and nothing stands in it; else 75.
    """
    body = read_text(Plan(home, seat, text, "seat send"))
    done = _do(home, SeatSend(i=1, seat=seat, text=body))
    if as_json:
        output.json_line(done)
    elif done.gone:
        output.line(f"sent to {done.seat}, it is {done.state}")
    if not done.gone:
        raise NotReached(
            f"seat {done.seat} did not take the line: it still stands there",
            hint=f"homi seat read {done.seat}; do not send it again",
            reason="unverified",
        )


@click.command()
@click.argument("seat")
@click.argument("option")
@options.as_json
@click.pass_obj
def respond(home: str, /, seat: str, option: str, *, as_json: bool) -> None:
    """Answer what SEAT asks with OPTION, its number or its text.

    \b
      $ homi seat state ada
      $ homi seat respond ada 1
      $ homi seat respond ada No

    Never with one that holds for more than this once.
    """
    done = _do(home, SeatRespond(i=1, seat=seat, option=option))
    if as_json:
        output.json_line(done)
    else:
        output.line(f"answered {done.seat}: {visible(done.option)}")


@click.command()
@click.argument("seat")
@options.as_json
@click.pass_obj
def interrupt(home: str, /, seat: str, *, as_json: bool) -> None:
    """Press Escape once in SEAT, and tell what became of it.

    \b
      $ homi seat interrupt ada
    """
    done = _do(home, SeatOrder(i=1, do="interrupt", seat=seat))
    if as_json:
        output.json_line(done)
    else:
        draft = ", with a draft" if done.draft else ""
        output.line(f"{done.seat} was {done.before}, is {done.state}{draft}")


@click.command()
@click.argument("name")
@click.argument("seat", required=False)
@click.option("--relay/--off", default=None, help="Type the mail of NAME; no more.")
@options.as_json
@click.pass_obj
def bind(
    home: str, /, name: str, seat: str | None, *, relay: bool | None, as_json: bool
) -> None:
    """Let mail for NAME be typed into SEAT, as a last resort.

    \b
      $ homi seat bind gds-agent ada --relay
      $ homi seat bind gds-agent --off
    """
    if relay is None or relay != (seat is not None):
        raise Usage(
            "mail is typed into a seat only where that is asked for",
            hint="homi seat bind NAME SEAT --relay, homi seat bind NAME --off",
        )
    done = _do(home, SeatBind(i=1, name=name, seat=seat))
    if as_json:
        output.json_line(done)
    elif relay:
        output.line(f"mail for {done.name} is typed into {done.seat}")
    else:
        output.line(f"mail for {done.name} is typed nowhere")


@click.command()
@click.argument("seats", metavar="SEAT...", nargs=-1, required=True)
@options.as_json
@click.pass_obj
def kill(home: str, /, seats: tuple[str, ...], *, as_json: bool) -> None:
    """End seats, and what runs in them.

    \b
      $ homi seat kill ada
    """
    for each in seats:
        done = _do(home, SeatOrder(i=1, do="kill", seat=each))
        if as_json:
            output.json_line(done)
        else:
            output.line(f"killed {done.seat}")


def _do(home: str, request: SeatSend | SeatRespond | SeatOrder | SeatBind) -> SeatDone:
    """Have it done, by the daemon here or over a link."""
    if not isinstance(request, SeatBind):
        seat, device = farseat.split(request.seat)
        if device:
            return _far(home, request, seat, device)
        request = replace(request, seat=seat)
    with Connection(paths.state_root(home)) as daemon:
        return daemon.wait(request, SeatDone, WORK)


def _far(
    home: str, request: SeatSend | SeatRespond | SeatOrder, seat: str, device: str
) -> SeatDone:
    """Have it done on another device."""
    if isinstance(request, SeatSend):
        asked = FarSeat(i=1, do="send", device=device, seat=seat, text=request.text)
    elif isinstance(request, SeatRespond):
        chosen = request.option
        asked = FarSeat(i=1, do="respond", device=device, seat=seat, option=chosen)
    elif request.do == "interrupt":
        asked = FarSeat(i=1, do="interrupt", device=device, seat=seat)
    else:
        raise NotAllowed(
            f"{seat} is on {device}: seats are opened, bound and ended there only",
            hint=f"on {device}: homi seat kill {seat}",
        )
    done = farseat.ask(home, asked).done
    if done is None:
        raise Unavailable(f"{device} did not say what was done")
    return replace(done, seat=f"{done.seat}@{device}")


def _size(text: str) -> tuple[int, int]:
    """COLUMNSxROWS as numbers."""
    columns, x, rows = text.partition("x")
    if not (x and columns.isdecimal() and rows.isdecimal() and len(text) < 12):
        raise Usage(f"no size {visible(text[:40])}", hint="columns and rows: 120x40")
    return int(columns), int(rows)

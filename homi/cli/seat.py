"""`seat`: terminals that homi drives.  homi-seat(1).

Owns the showing of seats, which needs no daemon; what changes one is beside it.
"""

import time
from pathlib import Path

import click
from msgspec.structs import replace

from homi import paths
from homi.address import Name
from homi.cli import farseat, options, output, seating
from homi.cli.fast import load
from homi.cli.mail import Mail
from homi.cli.meant import Family
from homi.errors import NotReached, StorageFailed, TimedOut, Unavailable
from homi.orders.seats import FarSeat
from homi.render import Cell
from homi.seated import SeatRow, SeatState, asked, listed, row
from homi.seats.server import Server
from homi.seats.view import State

COLUMNS = ("SEAT", "STATE", "CLIENT", "PANE", "PID", "NAMES", "BY", "OPENED", "CWD")
LOOK = 0.2  # s between two looks at a seat that is waited for
HISTORY_MAX = 5000  # lines a seat keeps above its screen
FAR_MAX = 1000  # of those that another device shows


@click.group(cls=Family, invoke_without_command=True, subcommand_metavar="[VERB ...]")
@options.as_json
@click.pass_context
def seat(ctx: click.Context, /, *, as_json: bool) -> None:
    """Drive agents in terminals where nothing better exists.

    \b
      $ homi seat spawn ada --cwd ~/src/app -- claude
      $ homi seat wait ada && homi seat send ada 'run the tests'
      $ homi seat read ada
      $ homi seat bind gds-agent ada --relay
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(ls, device=None, as_json=as_json)
    elif as_json:
        options.misplaced(ctx)


for command in (
    seating.spawn,
    seating.send,
    seating.respond,
    seating.interrupt,
    seating.bind,
    seating.kill,
):
    seat.add_command(command)


@seat.command()
@click.argument("device", metavar="[DEVICE]", required=False)
@options.as_json
@click.pass_obj
def ls(home: str, /, device: str | None, *, as_json: bool) -> None:
    """List the seats, here or on DEVICE, and what each is doing.

    \b
      $ homi seat ls
      $ homi seat ls mini
      $ homi seat ls --json | jq -r 'select(.state == "approval").seat'
    """
    there = None if device is None else farseat.device(device)
    if there:
        said = farseat.ask(home, FarSeat(i=1, do="ls", device=there))
        rows = [replace(each, device=there) for each in said.rows]
    else:
        root = paths.state_root(home)
        rows = listed(Server.of(root), _bound(root))
    if as_json:
        output.json_lines(rows)
        return
    output.table(COLUMNS, [_cells(each) for each in rows], empty="no seat is open")


@seat.command()
@click.argument("seat")
@click.option("--lines", type=options.number, metavar="N", help="N lines above, too.")
@options.as_json
@click.pass_obj
def read(home: str, /, seat: str, lines: int | None, *, as_json: bool) -> None:
    """Print the screen of SEAT, secrets masked.

    \b
      $ homi seat read ada
      $ homi seat read ada --lines 500 | less
      $ homi seat read ada@mini
    """
    name, device = farseat.split(seat)
    if device:
        above = min(lines or 0, FAR_MAX)
        asked = FarSeat(i=1, do="read", device=device, seat=name, lines=above)
        farseat.show(seat, farseat.ask(home, asked).lines, as_json=as_json)
        return
    server = Server.of(paths.state_root(home))
    look = server.look(server.find(name), min(lines or 0, HISTORY_MAX))
    rows, width = look.screen.text, look.seat.pane.width
    load("homi.cli.masked", "show", look.seat.name, rows, width, as_json)


@seat.command()
@click.argument("seat")
@options.as_json
@click.pass_obj
def state(home: str, /, seat: str, *, as_json: bool) -> None:
    """Tell what SEAT is doing, and what it asks.

    \b
      $ homi seat state ada
      $ homi seat state ada --json | jq -r .row.state
      $ homi seat state ada@mini
    """
    found = _state(home, seat)
    if as_json:
        output.json_line(found)
    else:
        output.table(("WHAT", "IS"), _facts(found))


@seat.command()
@click.argument("seat")
@click.option(
    "--for",
    "wanted",
    type=click.Choice([each.value for each in State]),
    default=State.IDLE.value,
    metavar="STATE",
    help="Until it is that; idle.",
)
@click.option("--timeout", type=float, metavar="S", help="124 after S seconds.")
@options.as_json
@click.pass_obj
def wait(
    home: str, /, seat: str, wanted: str, timeout: float | None, *, as_json: bool
) -> None:
    """Wait until SEAT is idle, or in another state.

    \b
      $ homi seat wait ada --timeout 600
      $ homi seat wait ada --for approval
    """
    server = Server.of(paths.state_root(home))
    meant = server.find(seat)
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        look = server.look(meant)
        now = look.view.state
        if now == wanted:
            break
        if now is State.DEAD:
            raise NotReached(f"seat {meant.name} is dead", reason="dead")
        if deadline is not None and time.monotonic() >= deadline:
            raise TimedOut(f"seat {meant.name} is {now}, not {wanted}")
        time.sleep(LOOK)
    if as_json:
        output.json_line(row(look, []))
    else:
        output.line(f"{meant.name} is {now}")


def _state(home: str, given: str) -> SeatState:
    """What a seat is doing, here or there."""
    name, device = farseat.split(given)
    if device:
        request = FarSeat(i=1, do="state", device=device, seat=name)
        if (found := farseat.ask(home, request).state) is None:
            raise Unavailable(f"{device} told no state")
        return replace(found, row=replace(found.row, device=device))
    root = paths.state_root(home)
    server = Server.of(root)
    look = server.look(server.find(name))
    names = _bound(root).get(look.seat.ref, [])
    return SeatState(row=row(look, names), asked=asked(look.view.menu))


def _bound(root: Path) -> dict[str, list[Name]]:
    """Whose mail is typed into which seat, by its ref, as names.json has it."""
    found: dict[str, list[Name]] = {}
    try:
        claims = Mail(root).book().claims
    except StorageFailed as error:
        output.note(error.text)
        return found
    for name, claim in claims.items():
        body = claim.get("body")
        if isinstance(body, dict) and body.get("client") == "seat":
            found.setdefault(str(body.get("id")), []).append(name)
    return found


def _cells(one: SeatRow) -> tuple[Cell, ...]:
    """A seat for a person."""
    flags = [word for word, on in (("draft", one.draft), ("copy", one.copy_mode)) if on]
    state = f"{one.state} ({', '.join(flags)})" if flags else one.state
    ended = f" {one.ended}" if one.ended else ""
    return (
        f"{one.seat}@{one.device}" if one.device else one.seat,
        state + ended,
        one.client,
        one.pane,
        one.pid,
        " ".join(one.names),
        " ".join(one.by[:1]),
        output.when(one.at),
        one.cwd,
    )


def _facts(found: SeatState) -> list[tuple[Cell, ...]]:
    """What is known of one seat, a line each."""
    one = found.row
    facts: list[tuple[Cell, ...]] = [
        ("state", one.state),
        ("client", one.client),
        ("draft", "yes" if one.draft else "no"),
        ("copy mode", "yes" if one.copy_mode else "no"),
        ("title", one.title),
        ("cwd", one.cwd),
    ]
    if one.ended:
        facts.append(("ended", one.ended))
    if (asks := found.asked) is not None:
        facts.append(("asks", asks.kind))
        facts += [("about", line) for line in asks.about]
        for number, option in enumerate(asks.options):
            marks = " <" if number == asks.highlighted else ""
            marks += " (lasting)" if number in asks.lasting else ""
            facts.append((f"option {number + 1}", option + marks))
        if not asks.complete:
            facts.append(("note", "not read in full: a person must answer it"))
    return facts

"""`link`: the links to other devices, made and measured.  homi-link(1).

Owns the showing of links; the daemon keeps them up.
"""

import os
from collections.abc import Iterator

import click

from homi import paths
from homi.address import show
from homi.amount import amount
from homi.cli import admission, options, output, serve
from homi.cli.meant import Family
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import Unhealthy, Usage
from homi.linked import TURNED_AWAY, Checked, LinkRow, LinkRows
from homi.links import keys
from homi.links.book import Book, Peering
from homi.render import Cell, cell
from homi.reports import Done
from homi.requests import AddLink, CheckLink, Links, OrderLink

COLUMNS = (
    "DEVICE",
    "STATE",
    "SINCE",
    "HEARD",
    "ANSWERS",
    "PENDING",
    "OLDEST",
    "WAY",
    "HOST",
    "NEXT",
    "OFFSET",
    "NOTE",
)
OFFSET_SHOWN = 5.0  # s the clocks of two devices may differ before it is said
ACCEPTED = "accepted"  # the way of a connection that the other device dialled
SEATS = "may drive the seats here"
CHECK = 75.0  # s all of a check may take: a dial, then three probes


@click.group(cls=Family, invoke_without_command=True, subcommand_metavar="[VERB ...]")
@options.as_json
@click.pass_context
def link(ctx: click.Context, /, *, as_json: bool) -> None:
    """Keep mail going between this device and others.

    \b
      $ homi link ls
      $ homi link check mini
      $ homi link pause mini
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(ls, as_json=as_json, no_probe=False)
    elif as_json:
        options.misplaced(ctx)


for command in (admission.card, admission.admit, admission.expel):
    link.add_command(command)


@link.command()
@options.no_probe
@options.as_json
@click.pass_obj
def ls(home: str, /, *, no_probe: bool, as_json: bool) -> None:
    """List the linked devices, and how the link to each is.

    \b
      $ homi link ls
      $ homi link ls | awk -F'\\t' '$2 != "up"'    # the links that are not up
    """
    root = paths.state_root(home)
    try:
        with Connection(root) as client:
            asked = Links(i=1, probe=not no_probe)
            rows = client.call(asked, LinkRows).rows
    except Absent:
        rows = [_unknown(peering) for peering in Book.read(root)]
        output.note("no daemon runs: no link is up (homi start)")
    if as_json:
        output.json_lines(rows)
        return
    output.table(
        COLUMNS, [_cells(row) for row in rows], empty="no device is linked here"
    )
    if output.terminal():
        for row in rows:
            _explain(row)


@link.command()
@click.argument("device")
@click.option("--host", metavar="HOST", help="What ssh dials; '' if it dials us.")
@click.option("--key", metavar="KEY", help="The public key of DEVICE.")
@click.option("--via", metavar="DEV", help="Its mail goes over DEV; '' for none.")
@click.option("--mirror/--no-mirror", default=None, help="List its names here too.")
@click.option("--allow-seats/--no-allow-seats", default=None, help="Seats here.")
@options.as_json
@click.pass_obj
def add(
    home: str,
    /,
    device: str,
    host: str | None,
    key: str | None,
    via: str | None,
    *,
    as_json: bool,
    **may: bool | None,  # mirror, allow_seats; None: as it is
) -> None:
    """Link DEVICE, or change what is given of it; the rest stays.

    homi pair does this on both devices, and fetches the key.

    \b
      $ homi link add mini --host mini --key 'ssh-ed25519 AAAA...'
      $ homi link add attic --via mini
      $ homi link add mini --mirror
      $ homi link add mini --allow-seats    # it may type into terminals here
    """
    if key is not None and keys.blob(key) is None:
        raise Usage(
            f"{show(key)} is no device key",
            hint="it begins with ssh-ed25519, and is one argument: quote it",
        )
    request = AddLink(
        i=1,
        device=device,
        host=host,
        key=key,
        via=via,
        mirror=may["mirror"],
        seats=may["allow_seats"],
    )
    with Connection(paths.state_root(home)) as client:
        _done(client.call(request, Done), as_json=as_json)


@link.command()
@click.argument("device")
@options.as_json
@click.pass_obj
def rm(home: str, /, device: str, *, as_json: bool) -> None:
    """Forget DEVICE; the mail that waits for it stays in the queue.

    \b
      $ homi link rm mini
    """
    _order(home, OrderLink(i=1, do="rm", device=device), as_json=as_json)


@link.command()
@click.argument("device")
@options.as_json
@click.pass_obj
def pause(home: str, /, device: str, *, as_json: bool) -> None:
    """Let the link to DEVICE rest until it is resumed; mail is kept.

    \b
      $ homi link pause mini
    """
    _order(home, OrderLink(i=1, do="pause", device=device), as_json=as_json)


@link.command()
@click.argument("device")
@options.as_json
@click.pass_obj
def resume(home: str, /, device: str, *, as_json: bool) -> None:
    """Let a paused link work again; dial one that waits at once.

    \b
      $ homi link resume mini
    """
    _order(home, OrderLink(i=1, do="resume", device=device), as_json=as_json)


@link.command()
@click.argument("device")
@options.as_json
@click.pass_obj
def check(home: str, /, device: str, *, as_json: bool) -> None:
    """Send DEVICE three probes: kept on both disks, then answered.

    \b
      $ homi link check mini
    """
    with Connection(paths.state_root(home)) as client:
        found = client.wait(CheckLink(i=1, device=device), Checked, CHECK)
    if as_json:
        output.json_line(found)
    else:
        times = ", ".join(f"{ms:.1f}" for ms in found.ms)
        took = f" in {times} ms" if times else ""
        output.line(f"{found.device}: {found.kept} of {found.probes} probes{took}")
    if found.kept < found.probes:
        what = "intermittent" if found.kept else f"the link is {found.state}"
        why = f": {found.text}" if found.text else ""
        raise Unhealthy(f"{found.device}: {what}{why}", hint=found.fix)


@link.command("serve")
@click.option("--peer", metavar="DEV", required=True, help="The device it is for.")
@click.pass_obj
def serve_(home: str, /, peer: str) -> int:
    """Carry the exchange with DEV over stdin and stdout; sshd runs this.

    \b
      $ homi link serve --peer mini
    """
    root = paths.state_root(home)
    return serve.run(os.fspath(paths.control_socket(root)), peer)


def _order(home: str, request: OrderLink, *, as_json: bool) -> None:
    """Have it done, and say so."""
    with Connection(paths.state_root(home)) as client:
        _done(client.call(request, Done), as_json=as_json)


def _done(done: Done, *, as_json: bool) -> None:
    """What was done, and what waits all the same."""
    if as_json:
        output.json_line(done)
        return
    output.line(done.text)
    if done.pending:
        left = amount(done.pending, "message stays", "messages stay")
        output.note(f"{left} in the queue (homi queue reroute, bounce)")


def _unknown(peering: Peering) -> LinkRow:
    """A link as the file tells it."""
    return LinkRow(
        device=peering.device,
        state="paused" if peering.paused else "unknown",
        host=peering.host or "",
        via=peering.via or "",
        key=keys.fingerprint(peering.key) if peering.key else "",
        mirror=peering.mirror,
        seats=peering.seats,
    )


def _cells(row: LinkRow) -> tuple[Cell, ...]:
    """The cells of a row.

    For a person one column tells way and host, and one how lately it answered or was
    heard: all fits into 80 places so.  What is longer stands below the table.
    """
    person = output.terminal()
    seats = SEATS if row.seats else ""
    note = "; ".join(filter(None, (row.text, row.fix, seats, *_turned(row))))
    way = f"over {row.via}" if row.via else row.way
    answers = "" if row.ms is None else f"{row.ms:.1f} ms"
    if person and row.heard and not answers:
        answers = f"heard {output.when(row.heard)}"
    if person and row.host and way != ACCEPTED:
        way = way if row.via else f"to {row.host}"
    return (
        row.device,
        row.state,
        output.when(row.since),
        "" if person else output.when(row.heard),
        answers,
        row.pending,
        output.when(row.oldest),
        way,
        "" if person else row.host,
        output.until(row.next_try),
        "" if person else _offset(row),
        "" if person else note,
    )


def _offset(row: LinkRow) -> str:
    """How far the other clock is ahead, where that matters."""
    if row.offset_s is None or abs(row.offset_s) <= OFFSET_SHOWN:
        return ""
    return f"{row.offset_s:+.0f} s"


def _turned(row: LinkRow) -> Iterator[str]:
    """That it dialled this device in vain; why, where its own state does not say so."""
    turned = row.turned
    if turned is None:
        return
    ago = " ago" if output.terminal() else ""
    last = f"the last {output.when(turned.at)}{ago}"
    tries = amount(turned.tries, "try", "tries")
    why = "" if row.state in (TURNED_AWAY, turned.reason) else f": {turned.text}"
    yield f"turned away: {tries}, {last}{turned.whence}{why}"
    if why and turned.fix:
        yield f"to let it in: {turned.fix}"


def _explain(row: LinkRow) -> None:
    """Why a link is not up, and what mends it, in lines below the table."""
    if row.text:
        output.line(f"{row.device}: {cell(row.text)}")
    if row.fix:
        output.line(f"{row.device}: to mend it: {cell(row.fix)}")
    if offset := _offset(row):
        side = "behind" if offset.startswith("-") else "ahead of"
        output.line(f"{row.device}: its clock is {offset[1:]} {side} this one")
    if row.seats:
        output.line(f"{row.device}: {SEATS} (homi link add --no-allow-seats ends it)")
    for line in _turned(row):
        output.line(f"{row.device}: {cell(line)}")
    if row.said and row.state != "up":
        output.line(f"{row.device}: it also printed: {cell(row.said)}")

"""`queue hold`, `release`, `flush`, `requeue`, `reroute` and so on.  homi-queue(1).

Owns which messages are meant and the telling of each outcome; the daemon decides.
"""

import sys
from collections.abc import Iterable, Sequence

import click
from msgspec.structs import replace

from homi import paths
from homi.address import Address, Device, Name, parse_address
from homi.cli import options, output
from homi.cli.asking import sure
from homi.cli.caller import connect
from homi.cli.failures import refused
from homi.cli.mail import Mail
from homi.cli.rows import pending
from homi.connection import Connection
from homi.dial import Absent
from homi.envelope import FINISHED
from homi.errors import HomiError, NoInput, Usage, ambiguous
from homi.ids import is_id
from homi.mail import Message, starts
from homi.render import cell
from homi.reports import Ordered, OrderRow
from homi.requests import Deed, Letter, Order
from homi.store.places import titled

AT_ONCE = 1_000  # letters in one request: far below the longest line
DONE = {
    Deed.HOLD: "parked",
    Deed.RELEASE: "released",
    Deed.FLUSH: "flushed",
    Deed.REQUEUE: "requeued",
    Deed.REROUTE: "rerouted",
    Deed.BOUNCE: "bounced",
    Deed.DROP: "dropped",
}
NOT = {  # what an order did not have to do
    Deed.HOLD: "parked already",
    Deed.RELEASE: "not held by a person",
    Deed.FLUSH: "not waiting for a time",
    Deed.REQUEUE: "given to no session yet",
    Deed.REROUTE: "waits for that device already",
    Deed.BOUNCE: "bounced already",
    Deed.DROP: "dropped already",
}
# Of these the words say already how it is.
SAID = frozenset({Deed.HOLD, Deed.BOUNCE, Deed.DROP})
FOR_EVER = frozenset({Deed.BOUNCE, Deed.DROP})

HELP = {
    Deed.HOLD: """Let pending messages go out to nobody until they are released.

    \b
      $ homi queue hold 7c10
      $ homi queue hold --from ci        # all that ci has pending, for whomever
    """,
    Deed.RELEASE: """Let held messages go out again, each in its place in the order.

    \b
      $ homi queue release 7c10
      $ homi queue release --name gds-agent
    """,
    Deed.FLUSH: """Try what waits for a time now; all there is without ID.

    \b
      $ homi queue flush
      $ homi queue flush --name gds-agent
    """,
    Deed.REQUEUE: """Offer again what a session was given; it may be read twice.

    \b
      $ homi queue requeue 7c10
    """,
    Deed.REROUTE: """Let what waits for one device wait for another.

    \b
      $ homi queue reroute --to hub --name @mini    # all that mini has pending
      $ homi queue reroute --to hub 7c10
    """,
    Deed.BOUNCE: """Send pending messages back: each ends, its sender is told.

    \b
      $ homi queue bounce 7c10
      $ homi queue bounce --name @mini --yes        # all for mini, unasked
    """,
    Deed.DROP: """Throw pending messages away, for ever.

    \b
      $ homi queue drop 7c10
      $ homi queue drop --from ci --yes  # all that ci has pending, unasked
    """,
}


def verbs() -> list[click.Command]:
    """A command for each order."""
    return [_verb(do) for do in Deed]


def _verb(do: Deed) -> click.Command:
    """The command of one order; only what cannot be taken back is asked about."""

    @click.command(do.value, help=HELP[do])
    @click.argument("messages", metavar="[ID...]", nargs=-1)
    @click.option("--name", metavar="NAME", help="Only what is for NAME.")
    @click.option("--from", "sender", metavar="ADDR", help="All that ADDR sent.")
    @options.as_json
    @click.pass_obj
    def command(
        home: str,
        /,
        messages: tuple[str, ...],
        name: str | None,
        sender: str | None,
        *,
        as_json: bool,
        yes: bool = True,
        device: str | None = None,
    ) -> int:
        order = Order(do=do, name=name, to=device)
        return _order(order, home, messages, sender, as_json=as_json, yes=yes)

    if do is Deed.REROUTE:
        click.option(
            "--to", "device", metavar="DEVICE", required=True, help="Where it goes now."
        )(command)
    if do in FOR_EVER:
        click.option("--yes", is_flag=True, help="Do not ask.")(command)
    return command


def _order(
    order: Order,
    home: str,
    messages: tuple[str, ...],
    sender: str | None,
    *,
    as_json: bool,
    yes: bool,
) -> int:
    """Find what is meant, have it done, tell of each; the worst status."""
    do, name = order.do, order.name
    if not messages and name is None and sender is None and do is not Deed.FLUSH:
        raise Usage(f"which messages? {do} needs an ID", hint=f"homi queue {do} --help")
    mail = Mail(paths.state_root(home))
    _, client = connect(mail.root)
    if client is None:
        raise Absent("no daemon runs to decide it", hint="homi start")
    place = None if name is None else mail.place(name)
    if do is Deed.FLUSH and not messages and sender is None:
        rows = client.call(replace(order, i=1, name=place), Ordered).rows
        failed: list[OrderRow] = []
    else:
        away = do is Deed.REROUTE
        letters, failed = _meant(mail, messages, place, sender, away=away)
        if not messages and not yes and len(letters) > 1:
            back = ("send back", "sent back") if do is Deed.BOUNCE else ()
            sure(f"{len(letters)} messages", *back)
        rows = _ordered(client, order, letters)
    if not rows and not failed and not as_json:
        output.note("nothing there that it would change")
    return _tell(do, failed + rows, as_json=as_json)


def _ordered(
    client: Connection, order: Order, letters: Sequence[Letter]
) -> list[OrderRow]:
    """The daemon's rows on these letters."""
    rows: list[OrderRow] = []
    for at in range(0, len(letters), AT_ONCE):
        some = list(letters[at : at + AT_ONCE])
        asked = replace(order, i=1, name=None, letters=some)
        rows += client.call(asked, Ordered).rows
    return rows


def _meant(
    mail: Mail,
    messages: tuple[str, ...],
    place: Name | None,
    sender: str | None,
    *,
    away: bool,
) -> tuple[list[Letter], list[OrderRow]]:
    """The letters that ids and options mean, and a row for each id that is none.
    away: options mean out queues only."""
    rows = _all_pending(mail, messages, place, away=away)
    if sender is not None:
        wanted = parse_address(sender)
        rows = [row for row in rows if _from(row) == wanted]
    if not messages:
        return [Letter(row.name, row.id) for row in rows], []
    letters: dict[Letter, None] = {}
    failed = []
    for given in _given(messages):
        try:
            letters |= dict.fromkeys(_found(mail, rows, given, place))
        except HomiError as error:
            failed.append(
                OrderRow("", given, code=error.code, error=error.text, hint=error.hint)
            )
    return list(letters), failed


def _all_pending(
    mail: Mail, messages: tuple[str, ...], place: Name | None, *, away: bool
) -> list[Message]:
    """What is pending there; of out queues, which may be long, what ids mean."""
    if place is not None:
        return pending(mail, [place])
    queues = mail.queues()
    if not messages:
        return pending(mail, queues if away else [*mail.mailboxes(), *queues])
    return pending(mail, mail.mailboxes())


def _from(row: Message) -> Address:
    """Who sent it, as an address."""
    return Address(Name(row.from_), Device(row.device) if row.device else None)


def _given(messages: Iterable[str]) -> Iterable[str]:
    """The ids in the order given; those of standard input, one a line, where - is."""
    for given in messages:
        if given != "-":
            yield given
        elif sys.stdin is not None:
            if sys.stdin.isatty():
                output.note("type the ids, one a line; Ctrl-D ends it")
            yield from filter(None, (line.strip() for line in sys.stdin))


def _found(
    mail: Mail, rows: list[Message], given: str, place: Name | None
) -> list[Letter]:
    """The letters of one id or start of one: of what is pending, else of all mail."""
    wanted = given.lower()
    found = [row for row in rows if starts(row.id, wanted)] if wanted else []
    if is_id(wanted):
        found = [row for row in found if row.id == wanted]
    exact = sorted({row.id for row in found})
    if len(exact) > 1:
        raise ambiguous(wanted, *exact)
    if exact:
        return [Letter(row.name, row.id) for row in found]
    letters = mail.need(given, None) if place is None else mail.find(given, [place])
    if not letters and place is not None:
        raise NoInput(f"no message {given} in {titled(place)}")
    # One that was rerouted is in two queues, and waits in one of them.
    waits = [each for each in letters if each.rung not in FINISHED]
    return [Letter(each.name, each.id) for each in waits or letters]


def _tell(do: Deed, rows: list[OrderRow], *, as_json: bool) -> int:
    """A line for each, what could not be on stderr; the highest status."""
    status = 0
    lines = []
    for row in rows:
        if as_json:
            output.json_line(row)
        if row.code:
            status = max(status, refused(row, _about(row), as_json=as_json))
        elif not as_json:
            lines.append(_line(do, row))
    if lines:
        output.line("\n".join(lines))
    return status


def _about(row: OrderRow) -> str:
    """What went wrong with it; what was never found names itself."""
    return f"{cell(row.id)} in {row.name}: {row.error}" if row.name else row.error


def _line(do: Deed, row: OrderRow) -> str:
    """One outcome in words."""
    if not row.already:
        # What a session was given it may have read, whatever becomes of it here.
        given = f" (pid {row.given} was given it)" if row.given else ""
        to = f" to {row.to}" if row.to else ""
        return f"{DONE[do]} {row.id} in {row.name}{to}{given}"
    why = f" ({row.reason})" if row.reason else ""
    state = "" if do in SAID else f", it is {row.rung}{why}"
    return f"{row.id} in {row.name}: {NOT[do]}{state}"

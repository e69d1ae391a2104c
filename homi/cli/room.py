"""`room`: names whose mail goes to their members.  homi-room(1)."""

from collections.abc import Iterator

import click

from homi import paths
from homi.amount import amount
from homi.cli import options, output
from homi.cli.mail import Mail
from homi.cli.meant import Family
from homi.company import MemberRow, RoomChanged, RoomRow, RoomRows
from homi.connection import Connection
from homi.dial import Absent
from homi.errors import Unavailable, Usage
from homi.mail.rooms import rooms
from homi.render import Cell
from homi.requests import Room, Rooms

COLUMNS = ("ROOM", "MEMBER", "SINCE", "GETS", "PENDING", "REASON", "UNTIL")
NOBODY = "-"


@click.group(cls=Family, invoke_without_command=True, subcommand_metavar="[VERB ...]")
@options.as_json
@click.pass_context
def room(ctx: click.Context, /, *, as_json: bool) -> None:
    """Give several one name; its mail goes to each of them.

    \b
      $ homi room create nightly ada bob ci@mini
      $ homi send nightly 'the build is red'
      $ homi room join nightly --notify eve
      $ homi room ls
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(ls, as_json=as_json)
    elif as_json:
        options.misplaced(ctx)


@room.command()
@click.argument("name", metavar="NAME")
@click.argument("names", metavar="[MEMBER...]", nargs=-1)
@options.as_json
@click.pass_obj
def create(home: str, /, name: str, names: tuple[str, ...], *, as_json: bool) -> None:
    """Make the room NAME; a session is in what it makes.

    \b
      $ homi room create nightly ada bob ci@mini
    """
    _change(home, Room(i=1, do="create", name=name, members=[*names]), as_json=as_json)


@room.command()
@click.argument("name", metavar="ROOM")
@click.argument("names", metavar="[MEMBER...]", nargs=-1)
@click.option("--notify", is_flag=True, help="A notice at a time, in place of copies.")
@options.as_json
@click.pass_obj
def join(
    home: str, /, name: str, names: tuple[str, ...], *, notify: bool, as_json: bool
) -> None:
    """Let MEMBER, or yourself, get what comes to ROOM from now on.

    \b
      $ homi room join nightly              # yourself
      $ homi room join nightly --notify eve
      $ homi room join nightly@hub          # a room of a linked device
    """
    asked = Room(i=1, do="join", name=name, members=[*names], notify=notify)
    _change(home, asked, as_json=as_json)


@room.command()
@click.argument("name", metavar="ROOM")
@click.argument("names", metavar="[MEMBER...]", nargs=-1)
@options.as_json
@click.pass_obj
def leave(home: str, /, name: str, names: tuple[str, ...], *, as_json: bool) -> None:
    """Let MEMBER, or yourself, get nothing of ROOM any more.

    \b
      $ homi room leave nightly eve
    """
    _change(home, Room(i=1, do="leave", name=name, members=[*names]), as_json=as_json)


@room.command()
@click.argument("name", metavar="ROOM")
@options.as_json
@click.pass_obj
def rm(home: str, /, name: str, *, as_json: bool) -> None:
    """End ROOM; its mailbox stays on disk.

    \b
      $ homi room rm nightly
    """
    _change(home, Room(i=1, do="rm", name=name), as_json=as_json)


@room.command()
@click.argument("name", metavar="[ROOM | @DEVICE]", required=False)
@options.as_json
@click.pass_obj
def ls(home: str, /, name: str | None = None, *, as_json: bool = False) -> None:
    """List the members of ROOM, or of all, and what waits for each.

    \b
      $ homi room ls
      $ homi room ls nightly --json
      $ homi room ls @hub                   # the rooms of a linked device
    """
    root = paths.state_root(home)
    try:
        with Connection(root) as client:
            rows = client.call(Rooms(i=1, name=name), RoomRows).rooms
    except Absent:
        rows = _from_files(Mail(root), name)
        output.note("no daemon runs: what waits for each is not known (homi start)")
    if as_json:
        output.json_lines(rows)
        return
    cells = [cell for row in rows for cell in _cells(row)]
    output.table(COLUMNS, cells, empty="no room here (homi room create)")


def _change(home: str, asked: Room, *, as_json: bool) -> None:
    """Have it done; say of each member what it was."""
    with Connection(paths.state_root(home)) as client:
        done = client.call(asked, RoomChanged)
    if as_json:
        output.json_line(done)
        return
    if done.done == "create":
        output.line(f"created {done.name}, {amount(done.total, 'member')}")
    if done.done == "rm":
        output.line(
            f"removed {done.name}, it had {amount(len(done.members), 'member')}"
        )
        if done.pending:
            stay = "pending message stays", "pending messages stay"
            output.note(f"{amount(done.pending, *stay)} in its mailbox")
    verb = {"join": "joined", "leave": "left"}.get(done.done)
    for member in done.members if verb else ():
        output.line(f"{member} {verb} {done.name}")
    gets = f", and gets {_gets(notify=asked.notify)}" if asked.do == "join" else ""
    for member in done.already:
        output.line(f"{member} is in {done.name} already{gets}")


def _gets(*, notify: bool) -> str:
    """What comes to a member."""
    return "notices" if notify else "copies"


def _cells(row: RoomRow) -> Iterator[tuple[Cell, ...]]:
    """A line a member; one for a room without any."""
    for one in row.members:
        gets = _gets(notify=one.notify)
        since = output.when(one.at)
        pending = "" if one.pending is None else one.pending
        until = output.until(one.until)
        yield row.name, one.member, since, gets, pending, one.reason, until
    if not row.members:
        yield row.name, NOBODY, output.when(row.at), "", row.pending, "", ""


def _from_files(mail: Mail, name: str | None) -> list[RoomRow]:
    """The rooms as the files tell them."""
    known = rooms(mail)
    if name is not None:
        if "@" in name:
            text = f"{name}: its members are kept on that device, which nobody asks now"
            raise Unavailable(text, hint="homi start")
        found = mail.place(name)
        if found not in known:
            raise Usage(f"{found} is no room", hint="homi room ls shows the rooms here")
        known = {found: known[found]}
    return [
        RoomRow(
            name=each,
            at=str(mail.shown().claims[each].get("at", "")),
            pending=mail.waiting([each])[each][0],
            members=[
                MemberRow(one.address, one.at, notify=one.notify) for one in members
            ],
        )
        for each, members in known.items()
    ]

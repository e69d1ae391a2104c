"""`codex`: threads of Codex that have names.  homi-codex(1)."""

import os
import shutil
from pathlib import Path

import click

from homi import paths
from homi.address import show
from homi.cli import headless as runs
from homi.cli import options, output
from homi.cli.mail import Mail
from homi.cli.meant import Family
from homi.codex import ask
from homi.codex.thread import Failed, Status, Thread, Unreachable, plain
from homi.connection import Connection
from homi.errors import NoInput, NotReached, Usage
from homi.ids import SHAPE
from homi.orders.codex import CodexPeer
from homi.threads import Peered, ThreadRow

NOT_KNOWN = Status("notLoaded")
COLUMNS = ("THREAD", "NAME", "STATUS", "CWD", "TITLE")

_home = click.option("--home", "codex_home", metavar="DIR", help="Of which Codex.")


@click.group(cls=Family, invoke_without_command=True, subcommand_metavar="[VERB ...]")
@options.as_json
@click.pass_context
def codex(ctx: click.Context, /, *, as_json: bool) -> None:
    """Give a thread of Codex a name; its mail comes there as turns.

    \b
      $ homi codex peer gds-agent --cwd ~/src/gds
      $ homi codex ls
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(ls, as_json=as_json)
    elif as_json:
        options.misplaced(ctx)


@codex.command()
@click.argument("name", metavar="NAME")
@click.option("--thread", metavar="ID", help="That thread.")
@click.option("--cwd", metavar="DIR", help="The one thread that is open in DIR.")
@click.option("--headless", is_flag=True, help="One of homi's own, in no terminal.")
@_home
@options.as_json
@click.pass_obj
def peer(
    home: str,
    /,
    name: str,
    thread: str | None,
    cwd: str | None,
    codex_home: str | None,
    *,
    headless: bool,
    as_json: bool,
) -> None:
    """Bind NAME, which is claimed if it is not, to a thread.

    \b
      $ homi codex peer gds-agent --cwd .
      $ homi codex peer gds-agent --thread 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b
      $ homi codex peer reviewer --headless --cwd ~/src/gds
    """
    place = _codex_home(codex_home)
    if headless:
        session = "" if thread is None else _free(place, thread)
        folder = os.path.realpath(os.path.expanduser(cwd or os.curdir))
        root = paths.state_root(home)
        done = runs.order(root, name, "codex", (), folder, session, place)
        runs.tell(done, as_json=as_json)
        return
    if (thread is None) == (cwd is None):
        raise Usage("which thread is meant?", hint="either --thread ID or --cwd DIR")
    found = _open_in(place, cwd) if thread is None else _of_id(place, thread)
    asked = CodexPeer(
        i=1,
        name=name,
        thread=found.id,
        home=place,
        cwd=found.cwd,
        program=shutil.which("codex") or "",
    )
    _change(home, asked, as_json=as_json)


@codex.command()
@click.argument("name", metavar="NAME")
@options.as_json
@click.pass_obj
def unpeer(home: str, /, name: str, *, as_json: bool) -> None:
    """Bind NAME to no thread; it stays claimed, its mail waits.

    \b
      $ homi codex unpeer gds-agent
    """
    _change(home, CodexPeer(i=1, name=name), as_json=as_json)


@codex.command()
@_home
@options.as_json
@click.pass_obj
def ls(home: str, /, codex_home: str | None = None, *, as_json: bool = False) -> None:
    """List the threads that some client has open, and whose they are.

    \b
      $ homi codex ls
      $ homi codex ls --json | jq -r .thread
    """
    place = _codex_home(codex_home)
    names = _names(Mail(paths.state_root(home)))
    rows = [
        ThreadRow(
            thread=one.id,
            status=one.status.word,
            cwd=one.cwd,
            title=plain(one.name or one.preview)[:80],
            name=names.get(one.id, ""),
            home=place,
        )
        for one in ask.loaded(place)
    ]
    if as_json:
        output.json_lines(rows)
        return
    cells = [(row.thread, row.name, row.status, row.cwd, row.title) for row in rows]
    output.table(COLUMNS, cells, empty=f"no thread of Codex is open ({place})")


def _change(home: str, asked: CodexPeer, *, as_json: bool) -> None:
    """Have it done; say what it is now."""
    with Connection(paths.state_root(home)) as client:
        done = client.call(asked, Peered)
    if as_json:
        output.json_line(done)
    elif done.done == "peer":
        output.line(f"{done.name} is Codex thread {done.thread}")
    else:
        output.line(f"{done.name} is no thread any more, it was {done.thread}")


def _codex_home(given: str | None) -> str:
    """The home that is meant, as the daemon can find it."""
    named = given or os.environ.get("CODEX_HOME")
    place = named or str(Path.home() / ".codex")
    real = os.path.realpath(place)
    if not os.path.isdir(real):
        hint = "--home names a CODEX_HOME"
        if not named:
            hint = f"Codex has not run here: start it once, or {hint}"
        raise NoInput(f"no folder {show(place)}", hint=hint)
    return real


def _open_in(place: str, cwd: str | None) -> Thread:
    """The one thread whose folder that is; 66 for none, 64 for several."""
    folder = os.path.realpath(cwd or ".")
    found = [t for t in ask.loaded(place) if os.path.realpath(t.cwd) == folder]
    if not found:
        raise NoInput(
            f"no thread of Codex is open in {show(folder)}", hint="homi codex ls"
        )
    if len(found) > 1:
        ids = ", ".join(one.id for one in found)
        raise Usage(
            f"{len(found)} threads are open in {show(folder)}: {ids}",
            hint="name one of them with --thread",
        )
    return found[0]


def _of_id(place: str, wanted: str) -> Thread:
    """The thread of that id, which need not be open, nor its Codex run."""
    wanted = wanted.lower()
    if not SHAPE.fullmatch(wanted):
        raise Usage(f"a thread is named by a UUID, not {show(wanted)}")
    try:
        return ask.thread(place, wanted)
    except Unreachable as error:
        output.note(f"{error.text}: mail waits until it does")
        return Thread(wanted, NOT_KNOWN)
    except Failed as error:
        raise NoInput(
            f"no thread {wanted} in {show(place)}: {error.text}", hint="homi codex ls"
        ) from error


def _free(place: str, wanted: str) -> str:
    """The id of a thread that nobody has open, and nothing waits for: what is in its
    queue would be lost as a run in it ends."""
    found = _of_id(place, wanted)
    if found.status.word != NOT_KNOWN.word:
        raise NotReached(
            f"thread {found.id} is open",
            hint="close it, or leave out --headless: its mail comes there as turns",
            reason="busy",
        )
    try:
        rows = ask.waiting(place, found.id)
    except (Failed, Unreachable):
        rows = 0
    if rows:
        raise NotReached(
            f"{rows} wait in the queue of thread {found.id}: a run would lose them",
            hint=f"codex resume {found.id} gets them done",
            reason="busy",
        )
    return found.id


def _names(mail: Mail) -> dict[str, str]:
    """The name of each thread that has one, by the files."""
    found = {}
    for name, claim in mail.shown().claims.items():
        body = claim.get("body")
        if isinstance(body, dict) and body.get("client") == "codex":
            found[str(body.get("id"))] = str(name)
    return found

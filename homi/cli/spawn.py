"""`spawn`, `respawn`, `unspawn` and `fan`: agents that homi starts.  homi-spawn(1).

Owns the list of what was started, which needs no daemon; the daemon starts and ends.
"""

import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict, Unpack

import click
import msgspec
from msgspec.structs import replace

from homi import paths
from homi.cli import headless as runs
from homi.cli import options, output
from homi.cli.options import Command
from homi.connection import Connection
from homi.dial import TRIES, Late, Lost
from homi.errors import HomiError, Usage
from homi.orders.spawn import Respawn, Spawn, Unspawn
from homi.render import Cell
from homi.spawn.clients import CLAUDE, CLIENTS
from homi.spawn.rows import row
from homi.spawn.state import State
from homi.spawned import SpawnRow, Unspawned
from homi.store.whole import read_plain
from homi.visible import visible

COLUMNS = ("NAME", "STATE", "CLIENT", "PID", "STARTS", "BY", "STARTED", "CWD", "SAID")
LIST = "ls"
READY = 60.0  # s for an agent to be ready
BEFORE = 90.0  # s until it is begun: git may have to write a large tree
FAN_MAX = 32  # agents of one fan

client = click.option(
    "--cli",
    "client",
    default=CLAUDE,
    metavar="WORD",
    help=f"{', '.join(CLIENTS)}; {CLAUDE}.",
)
cwd = click.option("--cwd", metavar="DIR", help="Where it runs; else here.")
_tree = click.option("--worktree", is_flag=True, help="In a git worktree of its own.")
_timeout = click.option(
    "--timeout", type=float, default=READY, metavar="S", help="75 after S seconds; 60."
)


class How(TypedDict):
    """The options that say what is started, and where."""

    client: str
    cwd: str | None
    worktree: bool
    timeout: float


def how(command: Command) -> Command:
    """Those options."""
    for option in reversed((client, cwd, _tree, _timeout)):
        command = option(command)
    return command


@click.command()
@click.argument("name", required=False)
@click.argument("argv", metavar="[-- ARGV...]", nargs=-1)
@how
@click.option("--on-mail", is_flag=True, help="When mail waits and nobody has NAME.")
@click.option("--headless", is_flag=True, help="No terminal: a run for each letter.")
@options.as_json
@click.pass_obj
def spawn(
    home: str,
    /,
    name: str | None,
    argv: tuple[str, ...],
    *,
    on_mail: bool,
    headless: bool,
    as_json: bool,
    **how: Unpack[How],
) -> None:
    """Start an agent that has NAME; ls lists those.

    \b
      $ homi spawn reviewer --cwd ~/src/app
      $ homi spawn nightly --on-mail -- --model opus
      $ homi spawn fix-210 --worktree
      $ homi spawn triage --headless --cli gemini
      $ homi spawn
    """
    root = paths.state_root(home)
    # Every other list is had by ls: an agent of that name is not what is wanted.
    if name is None or (name == LIST and not argv):
        _list(root, as_json=as_json)
        return
    if headless and on_mail:
        raise Usage(
            "--headless and --on-mail: each letter starts a run anyway",
            hint="leave --on-mail out",
        )
    if headless:
        word, own = how["client"], how["worktree"]
        done = runs.bind(root, name, argv, word, options.folder(how["cwd"]), own=own)
        runs.tell(done, as_json=as_json)
        return
    request = replace(asked(name, argv, how), on_mail=on_mail)
    with Connection(root) as daemon:
        found = daemon.wait(request, SpawnRow, BEFORE + request.timeout)
    if as_json:
        output.json_line(found)
    elif on_mail and not found.pid:
        output.line(f"{found.name} is started when mail waits for it")
    else:
        _ready(found)


@click.command()
@click.argument("name")
@click.option("--now", is_flag=True, help="End the one before whatever it does.")
@_timeout
@options.as_json
@click.pass_obj
def respawn(
    home: str, /, name: str, timeout: float, *, now: bool, as_json: bool
) -> None:
    """Start NAME's agent anew; the one before then ends, once idle.

    \b
      $ homi respawn reviewer
    """
    with Connection(paths.state_root(home)) as daemon:
        request = Respawn(
            i=1,
            name=name,
            now=now,
            timeout=seconds(timeout),
            order=secrets.token_hex(8),
        )
        found = daemon.wait(request, SpawnRow, BEFORE + timeout)
    if as_json:
        output.json_line(found)
    else:
        _ready(found)


@click.command()
@click.argument("name")
@click.option("--end", is_flag=True, help="And end what runs.")
@options.as_json
@click.pass_obj
def unspawn(home: str, /, name: str, *, end: bool, as_json: bool) -> None:
    """Start NAME no more; it stays claimed.

    \b
      $ homi unspawn nightly
      $ homi unspawn --end fix-210
    """
    with Connection(paths.state_root(home)) as daemon:
        done = daemon.call(Unspawn(i=1, name=name, end=end), Unspawned)
    if as_json:
        output.json_line(done)
        return
    ended = f", pid {done.ended} was told to end" if done.ended else ""
    output.line(f"{done.name} is started no more{ended}")
    if done.tree:
        output.note(f"its worktree stays: git worktree remove {visible(done.tree)}")


@click.command()
@click.argument("count", metavar="N", type=options.number)
@click.argument("name", metavar="NAME")
@click.argument("argv", metavar="[-- ARGV...]", nargs=-1)
@how
@options.as_json
@click.pass_obj
def fan(
    home: str,
    /,
    count: int,
    name: str,
    argv: tuple[str, ...],
    *,
    as_json: bool,
    **how: Unpack[How],
) -> None:
    """Start N agents, NAME-1 to NAME-N, all at once.

    \b
      $ homi fan 3 reviewer --cwd ~/src/app
      $ homi fan 4 fix --worktree --cwd ~/src/app -- --model opus
    """
    if not count:
        raise Usage("0 agents are none: 1 at least")
    if count > FAN_MAX:
        raise Usage(f"{count} agents are too many at once: {FAN_MAX} at most")
    wanted = [
        replace(asked(f"{name}-{number}", argv, how), i=number)
        for number in range(1, count + 1)
    ]
    failed: HomiError | None = None
    for number, found in _each(paths.state_root(home), wanted, how["timeout"]):
        if isinstance(found, HomiError):
            failed = failed or found
            output.note(f"{name}-{number}: {found.text}")
        elif as_json:
            output.json_line(found)
        else:
            _ready(found)
    if failed is not None:
        raise type(failed)(f"not all of {name} were started", hint="homi spawn")


def _each(
    root: Path, wanted: list[Spawn], timeout: float
) -> Iterator[tuple[int, SpawnRow | HomiError]]:
    """What became of each, as they are ready; the rest of them is asked for again of
    a daemon that restarted meanwhile."""
    left = {request.i: request for request in wanted}
    for tries in range(TRIES, 0, -1):
        with Connection(root) as daemon:
            try:
                daemon.put(list(left.values()), BEFORE + timeout)
                while left:
                    number, found = daemon.take(SpawnRow)
                    left.pop(number, None)
                    yield number, found
                return
            except Lost as lost:
                if tries == 1 or isinstance(lost, Late):
                    raise


def asked(name: str, argv: tuple[str, ...], how: How) -> Spawn:
    """What is asked of the daemon."""
    return Spawn(
        i=1,
        name=name,
        cwd=options.folder(how["cwd"]),
        client=how["client"],
        argv=list(argv),
        path=os.environ.get("PATH", ""),
        worktree=how["worktree"],
        timeout=seconds(how["timeout"]),
        order=secrets.token_hex(8),
    )


def seconds(timeout: float) -> float:
    """64 for what is no time to wait."""
    if not 0 <= timeout <= options.SECONDS_MAX:
        raise Usage(f"--timeout {timeout:g} is no time to wait")
    return timeout


def _ready(found: SpawnRow) -> None:
    """Say that it can be written to."""
    where = f", in {visible(found.tree)}" if found.tree else ""
    output.line(
        f"{found.name} is {found.state}: {found.client}, pid {found.pid}{where}"
    )


def _list(root: Path, *, as_json: bool) -> None:
    """What homi starts, as its file tells it."""
    now = time.time()
    rows = [row(one, now) for _, one in sorted(_state(root).spawns.items())]
    if as_json:
        output.json_lines(rows)
        return
    output.table(COLUMNS, [_cells(one) for one in rows], empty="homi started no agent")


def _state(root: Path) -> State:
    """The whole of the file; noted where it is damaged."""
    path = root / "spawns.json"
    try:
        raw = msgspec.json.decode(read_plain(path), type=dict[str, object])
        return msgspec.convert(raw, State)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, RecursionError):
        output.note(f"cannot read {path}: what was started is not known")
    return State()


def _cells(one: SpawnRow) -> tuple[Cell, ...]:
    """A name for a person."""
    on_mail = " (on mail)" if one.on_mail and one.state != "waiting" else ""
    return (
        one.name,
        one.state + on_mail,
        one.client,
        one.pid or "",
        one.starts,
        " ".join(one.by[:1]),
        output.when(one.started),
        one.cwd,
        visible(one.said),
    )

"""`spawn --headless`: a name whose letters are runs of an agent without a terminal.

Owns which of the clients have such a form; homi-command(1) is how it works.
"""

import os
from pathlib import Path

import msgspec
from msgspec.structs import replace

from homi.address import parse_claimable, show
from homi.cli import output
from homi.commanded import CommandDone
from homi.commands import ready
from homi.connection import Connection
from homi.errors import Usage
from homi.orders.commands import CommandBind
from homi.seats import launch
from homi.spawn import clients, tree

HOME = "CODEX_HOME"


def bind(
    root: Path, name: str, argv: tuple[str, ...], client: str, cwd: str, *, own: bool
) -> CommandDone:
    """Bind name to the template of that client; own: in a worktree of its own."""
    if client not in clients.CLIENTS:
        raise Usage(
            f"no client {show(client)} is known",
            hint=f"one of {', '.join(clients.CLIENTS)}",
        )
    # Before a tree is made: nothing is begun for a program that is not there.
    _, template = ready.load(client)
    path = os.environ.get("PATH", "")
    launch.program(template.argv, path, launch.folder(cwd), launch.CLIENT)
    where = tree.make(root, parse_claimable(name), cwd) if own else cwd
    return order(root, name, client, argv, where)


def order(
    root: Path,
    name: str,
    client: str,
    argv: tuple[str, ...],
    cwd: str,
    session: str = "",
    home: str = "",
) -> CommandDone:
    """The same in a folder that is there, going on with session.  home: of Codex; else
    that of who asks, which need not be the daemon's."""
    label, template = ready.load(client)
    home = home or os.environ.get(HOME, "")
    if client == clients.CODEX and home:
        template = replace(template, env=[*template.env, f"{HOME}={home}"])
    request = CommandBind(
        i=1,
        name=name,
        label=label,
        template=msgspec.to_builtins(template),
        cwd=cwd,
        args=list(argv),
        session=session,
        path=os.environ.get("PATH", ""),
    )
    with Connection(root) as daemon:
        return daemon.call(request, CommandDone)


def tell(done: CommandDone, *, as_json: bool) -> None:
    """Say what the name is bound to."""
    if as_json:
        output.json_line(done)
    else:
        output.line(f"{done.name} is bound to {done.label}: each letter is one run")

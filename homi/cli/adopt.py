"""`adopt` and `retitle`: a session that there is gets a name.  homi-spawn(1).

Owns which process a pane has; the daemon knows the sessions.
"""

import os

import click

from homi import paths
from homi.address import show
from homi.cli import options, output
from homi.connection import Connection
from homi.errors import NoInput, Usage
from homi.orders.spawn import Adopt, Retitle
from homi.seats.server import Server
from homi.seats.tmux import Tmux
from homi.spawned import Adopted
from homi.visible import visible


@click.command()
@click.argument("name")
@click.option("--session", metavar="ID", default="", help="The session of that id.")
@click.option("--pane", metavar="%N", default="", help="What runs in that tmux pane.")
@options.as_json
@click.pass_obj
def adopt(home: str, /, name: str, session: str, pane: str, *, as_json: bool) -> None:
    """Give a running session NAME, and see that it goes by it.

    \b
      $ homi adopt reviewer --pane '%3'
      $ homi adopt reviewer --session 0b6f1d5e-2b8e-4c5e-9a53-6d2f6f0c9a11
    """
    if bool(session) == bool(pane):
        raise Usage("which session?", hint="either --session ID or --pane %N")
    root = paths.state_root(home)
    pid = _process(Server.of(root), pane) if pane else 0
    with Connection(root) as daemon:
        request = Adopt(i=1, name=name, session=session, pid=pid)
        done = daemon.wait(request, Adopted, 10.0)
    if as_json:
        output.json_line(done)
        return
    was = f", was {visible(done.was)}" if done.was else ""
    output.line(f"{done.name} is session {done.pid} now{was}")


@click.command()
@click.argument("session", metavar="ID")
@click.argument("name")
@options.as_json
@click.pass_obj
def retitle(home: str, /, session: str, name: str, *, as_json: bool) -> None:
    """Let the dormant session ID go by NAME when it is resumed.

    \b
      $ homi retitle 0b6f1d5e-2b8e-4c5e-9a53-6d2f6f0c9a11 reviewer
    """
    with Connection(paths.state_root(home)) as daemon:
        done = daemon.call(Retitle(i=1, name=name, session=session), Adopted)
    if as_json:
        output.json_line(done)
        return
    was = f", was {visible(done.was)}" if done.was else ""
    output.line(f"{done.session} is called {done.name} when it is resumed{was}")


def _process(server: Server, pane: str) -> int:
    """The process in a pane: of the tmux that this command runs in, else a seat's."""
    if not (pane.startswith("%") and pane[1:].isdecimal()):
        raise Usage(f"{show(pane)} is no pane", hint="%N, as tmux list-panes -a has it")
    outer = os.environ.get("TMUX", "").rpartition(",")[0].rpartition(",")[0]
    if not outer:
        return server.find(pane).pane.pid
    question = ("display-message", "-p", "-t", pane, "#{pane_pid}")
    said = Tmux(outer).ask(question).strip()
    if not said.isdecimal():
        raise NoInput(f"no pane {pane}")
    return int(said)

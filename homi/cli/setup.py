"""`setup`: a client told of homi, or the daemon a service; and back.  homi-setup(1).

Owns how each part is told; homi.setup has the files.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import click

from homi import paths
from homi.cli import options, output
from homi.cli.fast import complain
from homi.connection import Connection
from homi.dial import Absent, Lost
from homi.errors import BadMessage, Usage
from homi.render import cell
from homi.setup import manager as managers
from homi.setup import program, service
from homi.setup.editor import State
from homi.setup.installation import CLIENTS, Installation, Row
from homi.visible import visible_lines

COLUMNS = ("STATE", "PART", "FILE")
WHICH = (*CLIENTS, service.CLIENT)
TOLD = {State.ABSENT: "not there"}  # as a person reads it


@click.command()
@click.argument("client", metavar="CLIENT", type=click.Choice(sorted(WHICH)))
@click.option("--dry-run", "dry", is_flag=True, help="Show what would change.")
@click.option("--remove", is_flag=True, help="Take homi out again.")
@click.option("--config-dir", "config", metavar="DIR", help="The client's folder.")
@click.option("--homi", "exe", metavar="PATH", help="The homi that it is to run.")
@options.as_json
@click.pass_obj
def setup(
    home: str,
    /,
    client: str,
    config: str | None,
    exe: str | None,
    *,
    dry: bool,
    remove: bool,
    as_json: bool,
) -> int:
    """Tell claude or codex of homi, or make the daemon a service.

    \b
      $ homi setup claude --dry-run    # what would change, and nothing more
      $ homi setup claude
      $ homi setup codex
      $ homi setup claude --remove
      $ homi setup service             # it starts at each login
      $ homi setup service --remove    # the mail stays
    """
    if client == service.CLIENT:
        home = home or _elsewhere()
    command = program.words(exe or "", home)
    if client == service.CLIENT:
        if config:
            raise Usage("a service has no --config-dir", hint="homi setup --help")
        return _serve(home, command, dry=dry, remove=remove, as_json=as_json)
    installation = Installation(client, config or "", command)
    rows: list[Row] = []
    try:
        for row in installation.change(remove=remove, dry=dry):
            rows.append(row)
    finally:
        # What was done before a failure is told, too.
        _tell(rows, dry=dry, as_json=as_json)
    if not (remove or dry):
        for text in program.warnings(command):
            output.note(text)
    return _left(rows)


def _serve(
    home: str, command: Sequence[str], *, dry: bool, remove: bool, as_json: bool
) -> int:
    """The daemon as a service, or no more one."""
    root = paths.state_root(home)
    manager = managers.manager()
    running = not (remove or dry) and _runs(root) and not manager.active()
    change = service.Service(manager, command, root).change
    row = change(remove=remove, dry=dry, running=running)
    _tell([row], dry=dry, as_json=as_json)
    if row.state in (State.LEFT, State.KEPT):
        return _left([row])
    if remove and not dry:
        if row.state is State.ABSENT and _runs(root):
            output.note("no service started the daemon that runs: homi stop ends it")
        output.note(f"the mail stays in {root}; rm -r takes it away for good")
    elif not dry:
        if running:
            text = "a daemon runs already: homi stop, and the service starts the next"
            output.note(text)
        for note in manager.notes():
            output.note(note)
    return os.EX_OK


def _elsewhere() -> str:
    """The root where a variable of this shell names one: a service manager has none
    of them, and the service would serve another root."""
    root = os.fspath(paths.state_root(None))
    return "" if root == os.path.expanduser("~/.local/state/homi") else root


def _runs(root: Path) -> bool:
    """Whether a daemon answers that no service manager started."""
    try:
        with Connection(root):
            return True
    except (Absent, Lost):
        return False


def _tell(rows: Sequence[Row], *, dry: bool, as_json: bool) -> None:
    """The rows, or with dry their differences."""
    if as_json:
        output.json_lines(rows)
    elif dry:
        for row in rows:
            _raw(row.diff)
        if not any(row.diff for row in rows):
            output.note("nothing would change")
    else:
        shown = [(TOLD.get(one.state, one.state), one.part, one.file) for one in rows]
        output.table(COLUMNS, shown)


def _left(rows: Sequence[Row]) -> int:
    """What a person has to know or to do; 65 where a file could not be edited."""
    status = 0
    for row in (one for one in rows if one.note):
        text = f"{row.file}: {row.note}"
        if row.state is not State.LEFT:
            output.note(cell(text))
            continue
        if row.paste:
            _raw(row.paste + "\n")
        by_hand = "paste the above into it" if row.paste else "take homi out by hand"
        status = complain(BadMessage(text, hint=by_hand))
    return status


def _raw(text: str) -> None:
    """Text of a file: as it is for a program, harmless on a terminal."""
    if text and output.terminal():
        text = "".join(f"{line}\n" for line in visible_lines(text))
    output.raw(text.encode())

"""The names that are bound to commands, as the files tell of them.

Owns the rows that `homi command ls` shows; works without the daemon.
"""

import os
from collections.abc import Mapping

import msgspec

from homi.address import Name
from homi.claims import Body
from homi.clock import rfc3339
from homi.commanded import CommandRow
from homi.commands import run as runs
from homi.commands.binding import CLIENT, Command, read
from homi.commands.known import FILE, Binding, State
from homi.commands.run import Run
from homi.commands.verdict import CRASHES, crashed, judge, shown
from homi.errors import BadConfig, HomiError
from homi.seats import launch
from homi.store.disk import RealDisk
from homi.store.whole import read_whole


def rows(root: str, claims: Mapping[Name, Mapping[str, object]]) -> list[CommandRow]:
    """A row for each name, of the claims as names.json has them."""
    known, ran = _known(root), list(runs.every(root))
    found = []
    for name, claim in sorted(claims.items()):
        try:
            body = msgspec.convert(claim.get("body"), Body)
            command = read(body)
        except (msgspec.ValidationError, BadConfig):
            continue
        if body.client == CLIENT:
            own = [run for run in ran if run.plan.body == body.id]
            found.append(_row(name, command, known.get(body.id, Binding()), own))
    return found


def held(ran: list[Run], resumed: int) -> bool:
    """Whether the last runs all failed, so many that no more is begun."""
    last = [run for run in ran if run.plan.n > resumed][-CRASHES:]
    return len(last) == CRASHES and all(
        not run.goes_on and crashed(judge(run)) for run in last
    )


def _row(name: str, command: Command, known: Binding, ran: list[Run]) -> CommandRow:
    """One name; ran: its runs, the last one last."""
    last = ran[-1] if ran else None
    busy = last is not None and last.end is None and last.goes_on
    failure = _missing(command)
    state = "missing" if failure else "idle"
    state = "held" if held(ran, known.resumed) else state
    return CommandRow(
        name=name,
        label=command.label,
        state="busy" if busy else state,
        session=known.session or command.session,
        cwd=command.cwd,
        argv=command.template.argv,
        path=command.path,
        run="" if last is None else last.folder,
        at="" if last is None else rfc3339(last.plan.at),
        end="" if last is None else shown(last),
        failure=failure,
    )


def _missing(command: Command) -> str:
    """What a run would find gone, its folder or its program; empty: nothing."""
    try:
        launch.program(command.template.argv, command.path, launch.folder(command.cwd))
    except HomiError as error:
        return error.text
    return ""


def _known(root: str) -> dict[str, Binding]:
    """What commands.json holds, as far as it can be read."""
    try:
        data = read_whole(RealDisk(), os.path.join(root, FILE))
        return msgspec.json.decode(data or b"{}", type=State).bindings
    except (OSError, msgspec.MsgspecError):
        return {}

"""Programs in seats: opened for names, found again, ended.

Owns the steps with tmux, which block; who starts what, and when, is the keeper's.
homi-spawn(1).
"""

import contextlib
import enum
import os
import signal
from pathlib import Path
from typing import NamedTuple, Protocol

from homi.address import Name
from homi.claims import Body
from homi.errors import CannotCreate
from homi.peers import process
from homi.seats import launch
from homi.seats.server import Opening, Seat, Server
from homi.seats.view import State
from homi.spawn import clients
from homi.spawn.state import Run, Spawned


class Stand(NamedTuple):
    """How the seat of a program was found."""

    seat: str  # its name
    asks: bool  # by its screen
    attended: bool  # a terminal shows it


class Means(enum.Enum):
    """How a program is brought to its end, the gentlest first."""

    HANG_UP = enum.auto()  # its terminal goes
    ASK = enum.auto()
    FORCE = enum.auto()


class Programs(Protocol):
    """What the keeper has done beside its loop."""

    def open(self, spawned: Spawned, run: Run) -> Run:
        """Start it; HomiError where it cannot be, and nothing runs then."""
        ...

    def find(self, spawned: Spawned, run: Run) -> Run | None:
        """What was started for run before a crash hid it; None: nothing."""
        ...

    def body(self, spawned: Spawned, run: Run) -> Body | None:
        """What the name is bound to by it; None: its own record tells."""
        ...

    def end(self, run: Run, means: Means) -> None:
        """Have it end, without waiting for that; one that is gone is fine."""
        ...


class Seated:
    """Programs in the seats of one state root."""

    def __init__(self, root: Path) -> None:
        """Nothing runs before the first."""
        self._server = Server.of(root)

    def open(self, spawned: Spawned, run: Run) -> Run:
        """Open a seat of the name; a dead one of that name makes room for it."""
        path = spawned.path or os.environ.get("PATH", os.defpath)
        argv = clients.command(spawned.client, Name(run.called), spawned.argv)
        argv[0] = launch.program(argv, path, spawned.cwd, launch.CLIENT)
        opening = Opening(
            name=self._free(spawned.name),
            argv=argv,
            cwd=launch.folder(spawned.cwd),
            client=spawned.client,
            by=spawned.by,
        )
        return _of(self._server.spawn(opening, launch.environment(path)), run)

    def find(self, spawned: Spawned, run: Run) -> Run | None:
        """A seat of the name that is not older than the order."""
        old = spawned.old.seat if spawned.old is not None else ""
        # Another name may be called as a second seat of this one: that one comes last.
        # tmux tells whole seconds.
        wanted = _seats(spawned.name)
        found = {
            wanted.index(seat.name): seat
            for seat in self._server.seats()
            if seat.name in wanted and seat.at >= int(run.at) and seat.ref != old
        }
        return _of(found[min(found)], run) if found else None

    def body(self, spawned: Spawned, run: Run) -> Body | None:
        """What a name is bound to whose client has no record; None: it has one."""
        if spawned.client != clients.CODEX:
            return None
        return Body(
            client="seat",
            id=run.seat,
            home=self._server.tmux.socket,
            cwd=spawned.cwd,
            options={"seat": spawned.name},
        )

    def end(self, run: Run, means: Means) -> None:
        """Close its seat, or signal its process group; one whose seat is gone cannot
        be hung up: it is asked."""
        if means is Means.HANG_UP:
            for seat in self._server.seats():
                if seat.ref == run.seat:
                    self._server.kill(seat)
                    return
        number = signal.SIGKILL if means is Means.FORCE else signal.SIGTERM
        if run.pid and process.alive(run.pid, run.start):
            with contextlib.suppress(ProcessLookupError):
                # tmux gives each a group of its own.
                own = os.getpgid(run.pid) == run.pid
                (os.killpg if own else os.kill)(run.pid, number)

    def look(self, run: Run) -> Stand | None:
        """Its seat as it is now; None where it is gone."""
        for seat in self._server.seats():
            if seat.ref == run.seat:
                look = self._server.look(seat)
                asks = look.view.state is State.APPROVAL
                return Stand(seat.name, asks, look.typed > 0)
        return None

    def _free(self, name: Name) -> str:
        """The first name for a seat of name that no living one has."""
        seats = {seat.name: seat for seat in self._server.seats()}
        for wanted in _seats(name):
            seat = seats.get(wanted)
            if seat is not None and seat.pane.dead:
                self._server.kill(seat)
                seat = None
            if seat is None:
                return wanted
        raise CannotCreate(
            f"nine seats of {name} are open", hint=f"homi seat kill {name}"
        )


def _seats(name: Name) -> list[str]:
    """What the seats of a name are called."""
    return [name, *(f"{name}-seat{number}" for number in range(2, 10))]


def _of(seat: Seat, run: Run) -> Run:
    """The run that a seat is."""
    return Run(
        at=run.at,
        seat=seat.ref,
        pid=seat.pane.pid,
        start=seat.pane.start,
        called=run.called,
    )

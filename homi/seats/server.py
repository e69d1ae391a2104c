"""The private tmux server of a state root: which seats there are, and their screens.

Owns what a seat is: a pane by its id, with the pid and start time of its program, so
that a reused id is another seat.  What it knows of one is kept at the pane itself.
homi-seat(1) is the page.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from homi import paths
from homi.address import nearest, spelled
from homi.errors import CannotCreate, NoInput
from homi.peers import process
from homi.seats import screen
from homi.seats.screen import Pane, Screen
from homi.seats.states import client_of, judge
from homi.seats.tmux import Command, NoPane, NoServer, Tmux
from homi.seats.view import View

_FIELDS = (
    *("pane_id", "pane_pid", "@homi_seat", "@homi_start", "@homi_by", "@homi_client"),
    *("session_created", "pane_dead", "pane_dead_status", "pane_dead_signal"),
    "pane_in_mode",
    *("alternate_on", "cursor_x", "cursor_y", "pane_width", "pane_height"),
    *("pane_current_command", "pane_current_path", "pane_title"),
)
_FACTS = "\t".join(f"#{{{field}}}" for field in _FIELDS)
_CLIENTS = "#{pane_id}\t#{client_activity}"
# tmux would expand a folder that it is given, #(...) as a command of a shell's too, and
# take another one where that is not there; a single word it would give to a shell.
_ENTER = 'cd -- "$1" && shift && exec "$@"'


class Seat(msgspec.Struct, frozen=True, kw_only=True):
    """One pane that homi may drive."""

    name: str  # as it was spawned; of a pane that was not, its id
    pane: Pane
    by: list[str] = []  # who spawned it, then who spawned the seat of that one
    at: float = 0.0  # wall seconds: when it was opened
    ended: str = ""  # exit status of its program, or signal N; after pane.dead
    socket: str = ""  # of its tmux server

    @property
    def ref(self) -> str:
        """What names it for ever: id, pid and start time."""
        return f"{self.pane.id}.{self.pane.pid}.{self.pane.start}"


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A seat at one moment."""

    seat: Seat
    screen: Screen
    view: View
    typed: float = 0.0  # wall seconds: when a person last pressed a key there


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What a new seat is to be."""

    name: str
    argv: list[str]
    cwd: str
    client: str = ""
    columns: int = 120
    rows: int = 40
    by: list[str] = []


class Server:
    """The seats behind one socket."""

    def __init__(self, socket: str) -> None:
        """Nothing is started before the first seat."""
        self.tmux = Tmux(socket)

    @classmethod
    def of(cls, root: Path) -> "Server":
        """That of a state root."""
        return cls(os.fspath(paths.seat_socket(root)))

    def seats(self) -> list[Seat]:
        """Every seat, the oldest first."""
        listing = ("list-panes", "-a", "-F", _FACTS)
        if not os.path.lexists(self.tmux.socket):
            return []  # no server ever ran: that needs no tmux to know
        try:
            found = self._listed(listing)
            if any(seat.pane.dead and not seat.ended for seat in found):
                # tmux 3.3a now and then misses that a child ended, until the next does.
                found = self._listed(("run-shell", "true"), listing)
        except NoServer:
            return []
        return sorted(found, key=lambda seat: seat.at)

    def find(self, given: str) -> Seat:
        """The seat of that name, pane id or ref; NoInput (66) with the nearest."""
        seats = self.seats()
        for seat in seats:
            if given in (seat.name, seat.pane.id, seat.ref):
                return seat
        near = nearest(given, [seat.name for seat in seats])
        raise NoInput(
            f"no seat {spelled(given)}",
            hint=f"did you mean {near}?" if near else "homi seat ls shows them",
        )

    def look(self, seat: Seat, history: int = 0) -> Look:
        """The seat as it is now; NoPane (66) where it is gone or another has its id."""
        target = ("-t", seat.pane.id)
        said = self.tmux.ask(
            ("display-message", "-p", *target, _FACTS),
            ("list-clients", "-F", _CLIENTS),
            ("display-message", "-p", *target, ""),
            ("capture-pane", "-p", "-e", *target, *_back(history)),
        )
        facts, _, rest = said.partition("\n")
        clients, _, captured = f"\n{rest}".partition("\n\n")
        now = self._seat(facts)
        if now is None or now.ref != seat.ref:
            raise NoPane(f"seat {seat.name} is gone", hint="homi seat ls")
        shown = screen.read(captured, now.pane)
        typed = _typed(clients, seat.pane.id)
        return Look(seat=now, screen=shown, view=judge(shown), typed=typed)

    def guarded(self, seat: Seat, *commands: Command) -> bool:
        """Have commands done if that very program has the pane and no mode of tmux's
        has its keys: judged by the server in the same step.  False: nothing was."""
        same = f"#{{==:#{{pane_pid}},{seat.pane.pid}}}"
        free = "#{==:#{pane_in_mode},0}"
        then = " ; ".join(" ".join(command) for command in commands)
        said = self.tmux.ask(
            (
                *("if-shell", "-F", "-t", seat.pane.id),
                f"#{{&&:{same},#{{&&:{free},#{{==:#{{pane_dead}},0}}}}}}",
                f"{then} ; display-message -p done",
            )
        )
        return said.strip() == "done"

    @contextlib.contextmanager
    def hands(self) -> Iterator[None]:
        """While it lasts nobody else of ours types into a seat of this server."""
        lock = os.open(f"{self.tmux.socket}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def spawn(self, opening: Opening, env: Mapping[str, str]) -> Seat:
        """Open a seat; CannotCreate (73) where the name is taken, NoInput (66) where
        its folder or its program is not there."""
        if any(seat.name == opening.name for seat in self.seats()):
            raise CannotCreate(
                f"seat {opening.name} is open already",
                hint=f"homi seat kill {opening.name}, or another name",
            )
        paths.make_private(Path(self.tmux.socket).parent)
        said = self.tmux.ask(
            ("start-server",),
            ("set-option", "-g", "remain-on-exit", "on"),
            ("set-option", "-g", "status", "off"),
            ("set-option", "-g", "default-terminal", "tmux-256color"),
            ("set-option", "-g", "history-limit", "5000"),
            ("set-option", "-g", "update-environment", ""),
            ("set-option", "-s", "focus-events", "on"),
            (
                *("new-session", "-d", "-P", "-F", "#{pane_id}"),
                # tmux allows no dot in it; a name of ours has no comma.
                *("-s", opening.name.replace(".", ","), "-n", "seat"),
                *("-x", str(opening.columns), "-y", str(opening.rows)),
                *("-e", f"HOMI_SEAT={opening.name}"),
                *("--", "/bin/sh", "-c", _ENTER, "sh", opening.cwd, *opening.argv),
            ),
            ("set-option", "-p", "@homi_seat", opening.name),
            ("set-option", "-p", "@homi_by", " ".join(opening.by)),
            ("set-option", "-p", "@homi_client", opening.client),
            env=env,
        )
        seat = self.find(said.strip())
        kept = ("set-option", "-p", "-t", seat.pane.id, "@homi_start", seat.pane.start)
        self.tmux.ask(kept)
        return seat

    def kill(self, seat: Seat) -> None:
        """End the seat, and what runs in it; NoPane (66) where another has its id."""
        same = f"#{{==:#{{pane_pid}},{seat.pane.pid}}}"
        end = f"kill-pane -t {seat.pane.id} ; display-message -p done"
        said = self.tmux.ask(("if-shell", "-F", "-t", seat.pane.id, same, end))
        if said.strip() != "done":
            raise NoPane(f"seat {seat.name} is gone", hint="homi seat ls")

    def _listed(self, *commands: Command) -> list[Seat]:
        """The seats of a listing."""
        found = [self._seat(line) for line in self.tmux.ask(*commands).splitlines()]
        return [seat for seat in found if seat is not None]

    def _seat(self, line: str) -> Seat | None:
        """A seat by its facts; None where they are not whole."""
        values = line.split("\t", len(_FIELDS) - 1)
        if len(values) < len(_FIELDS) or not values[1].isdecimal():
            return None
        of = dict(zip(_FIELDS, values, strict=True))
        pid = int(of["pane_pid"])
        # Of a program that ended only what was noted can be told.
        start = process.start_time(pid) or of["@homi_start"]
        if of["pane_dead"] == "1" and of["@homi_start"]:
            start = of["@homi_start"]
        pane = Pane(
            id=of["pane_id"],
            pid=pid,
            start=start,
            client=of["@homi_client"],
            command=of["pane_current_command"],
            title=of["pane_title"],
            cwd=of["pane_current_path"],
            cursor=(int(of["cursor_x"] or 0), int(of["cursor_y"] or 0)),
            width=int(of["pane_width"]),
            height=int(of["pane_height"]),
            dead=of["pane_dead"] == "1",
            alternate=of["alternate_on"] == "1",
            copy_mode=of["pane_in_mode"] not in ("", "0"),
        )
        return Seat(
            name=of["@homi_seat"] or pane.id,
            pane=pane,
            by=of["@homi_by"].split(),
            at=float(of["session_created"] or 0),
            ended=_ended(of) if pane.dead else "",
            socket=self.tmux.socket,
        )


def client(seat: Seat) -> str:
    """Which client draws the seat's screen."""
    return client_of(seat.pane.command, seat.pane.client)


def _ended(of: Mapping[str, str]) -> str:
    """How the program ended, once tmux has waited for it."""
    signal = of["pane_dead_signal"]
    return of["pane_dead_status"] or (f"signal {signal}" if signal else "")


def _back(history: int) -> tuple[str, ...]:
    """The lines above the screen that are wanted, too."""
    return ("-S", str(-history)) if history else ()


def _typed(clients: str, pane: str) -> float:
    """When somebody at a terminal last did anything in that pane."""
    found = 0.0
    for line in clients.splitlines():
        shown, tab, when = line.partition("\t")
        if tab and shown == pane and when.isdecimal():
            found = max(found, float(when))
    # A clock that was set back must not keep a seat closed.
    return min(found, time.time())

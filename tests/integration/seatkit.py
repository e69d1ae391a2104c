"""A seat with a program in it that draws as Claude Code does, and what it was given."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from homi.seats.server import Opening, Seat, Server
from homi.seats.view import State
from tests.standin.place import until

SCREENFUL = Path(__file__).parents[1] / "standin" / "screenful.py"

needs_tmux = pytest.mark.skipif(
    shutil.which("tmux") is None, reason="tmux is not installed"
)


def argv(log: Path) -> list[str]:
    """The program and its log."""
    return [sys.executable, str(SCREENFUL), str(log)]


class Stand:
    """One seat with the program in it."""

    def __init__(self, server: Server, folder: Path, name: str) -> None:
        """Open, and ready for a line."""
        self.server = server
        self.log = folder / f"{name}.log"
        self.log.touch()
        opening = Opening(
            name=name, argv=argv(self.log), cwd=str(folder), client="claude"
        )
        env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(folder)}
        self.seat: Seat = server.spawn(opening, env)
        self.becomes(State.IDLE)

    def state(self) -> State:
        """What the rules say now."""
        return self.server.look(self.seat).view.state

    def becomes(self, state: State) -> None:
        """Wait until it is that."""
        until(lambda: self.state() is state, f"the seat is {state}")

    def empty(self) -> None:
        """Wait until its line is empty."""
        until(lambda: not self.server.look(self.seat).view.draft, "the line is empty")

    def got(self, what: str) -> list[str]:
        """What the program was given of a kind."""
        found: list[dict[str, Any]] = [
            json.loads(line) for line in self.log.read_text().splitlines()
        ]
        return [each[what] for each in found if what in each]

    def keys(self, *keys: str) -> None:
        """Press keys as if at the terminal."""
        self.server.tmux.ask(("send-keys", "-t", self.seat.pane.id, *keys))

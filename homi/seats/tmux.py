"""The program tmux: commands to one server, by its socket.

The one home of it.  Owns what its command line makes of arguments; knows no seat.
homi-seat(1) says which version, and why no library stands between.
"""

import os
import shutil
from collections.abc import Mapping, Sequence

from homi import child
from homi.errors import NoInput, Unavailable

PATIENCE = 10.0  # s: a server that does not answer by then is stuck
_LEAKED = ("TMUX", "TMUX_PANE", "TMUX_TMPDIR")  # of whatever server called us
_NO_SERVER = (
    *("no server running", "error connecting", "server exited", "lost server"),
    "no current target",  # its last pane is gone, itself in a moment
)
_NO_PANE = ("can't find pane", "can't find window", "can't find session")

Command = Sequence[str]


class NoPane(NoInput):
    """The pane is gone, or it is another than the one that is meant."""


class NoServer(NoPane):
    """No tmux server has that socket: there is no pane either."""


class Tmux:
    """A server of our own; a command starts it where it is allowed to."""

    def __init__(self, socket: str) -> None:
        """Nothing is started."""
        self.socket = socket

    def ask(
        self,
        *commands: Command,
        given: str = "",
        env: Mapping[str, str] | None = None,
    ) -> str:
        """What these commands print, done one after the other, with given on stdin.

        NoServer, NoPane; Unavailable (69) where tmux is missing or fails.
        """
        argv = [program(), "-u", "-f", os.devnull, "-S", self.socket]
        for number, command in enumerate(commands):
            argv += [";"] * (number > 0) + [literal(word) for word in command]
        found = os.environ if env is None else env
        clean = {name: value for name, value in found.items() if name not in _LEAKED}
        said = child.run(
            argv, patience=PATIENCE, given=given, env=clean, errors="surrogateescape"
        )
        if said.status:
            raise _failure(said.err.strip())
        return said.out


def program() -> str:
    """The path of tmux; Unavailable (69) with the PATH that was searched."""
    found = shutil.which("tmux")
    if found is None:
        raise Unavailable(
            f"tmux is not in PATH ({os.environ.get('PATH', '')})",
            hint="install tmux, 3.2 or later",
        )
    return found


def literal(word: str) -> str:
    """The word so that tmux takes it as it is: a ; at its end would end the command."""
    return word[:-1] + "\\;" if word.endswith(";") else word


def _failure(said: str) -> Unavailable | NoInput:
    """What a failed command means."""
    line = said.splitlines()[-1] if said else "no word of why"
    if any(words in said for words in _NO_SERVER):
        return NoServer("no seat is open here", hint="homi seat spawn NAME -- ARGV...")
    if any(words in said for words in _NO_PANE):
        return NoPane("the pane is gone", hint="homi seat ls")
    return Unavailable(f"tmux: {line}")

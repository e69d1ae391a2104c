"""What may be asked of the daemon about agents that it starts: one struct a verb.

Owns the fields; homi.requests lists them with all others.  homi-protocol(7).
"""

import msgspec

from homi.request import CallerClass, Request


class Spawn(Request, frozen=True, tag="spawn"):
    """Claim name and start an agent for it; answered when it can be written to."""

    name: str
    cwd: str
    client: str = "claude"
    argv: list[str] = msgspec.field(default_factory=list)  # behind what homi gives
    path: str = ""  # the PATH of who asks; empty: the daemon's
    on_mail: bool = False  # not now: when mail waits and nobody has the name
    worktree: bool = False  # in a git worktree of its own
    brief: bool = False  # ended, and the name released, when who asks is gone
    timeout: float = 60.0  # s until 75 is answered; it goes on starting
    order: str = ""  # an id of who asks: with the same one it is the same order

    @property
    def again(self) -> bool:
        """The program that was started is the one that is waited for."""
        return bool(self.order) and not self.brief


class Respawn(Request, frozen=True, tag="respawn"):
    """Start what has name once more, and end it when the new one can be written to."""

    name: str
    now: bool = False  # whatever it does, not only when it is idle
    timeout: float = 60.0  # s until 75 is answered; it goes on starting
    order: str = ""  # as of spawn

    @property
    def again(self) -> bool:
        """As of spawn."""
        return bool(self.order)


class Unspawn(Request, frozen=True, tag="unspawn"):
    """Start name no more."""

    name: str
    end: bool = False  # and end what runs


class Adopt(Request, frozen=True, tag="adopt"):
    """Give a running session the name, which is claimed if it is not."""

    soon = True
    name: str
    session: str = ""  # its id
    pid: int = 0  # or a process that it is, or that started it


class Retitle(Request, frozen=True, tag="retitle"):
    """Let a conversation that nobody has open go by name, which is claimed."""

    soon = True
    # It writes a file of another program's.
    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    name: str
    session: str  # its id

"""What a program that took another's place is called: as that one was, once it may.

Owns when it is renamed; by which means is the door's.  homi-spawn(1).
"""

from collections.abc import Callable

from msgspec.structs import replace

from homi.address import Name
from homi.names import Names
from homi.sessions import Session, Sessions
from homi.spawn import clients
from homi.spawn.endings import session_of
from homi.spawn.state import Spawns


class Calling:
    """The names that programs go by.  On the loop's thread."""

    def __init__(self, spawns: Spawns, names: Names, sessions: Sessions) -> None:
        """Nobody is renamed before sweep()."""
        self.rename: Callable[[Session, Name], None] = lambda _session, _name: None
        self._spawns = spawns
        self._names = names
        self._sessions = sessions

    def successor(self, name: Name) -> Name:
        """A free name for who is to take the place of the one before."""
        return clients.successor(name, self._taken)

    def sweep(self) -> None:
        """Let who took another's place, which is gone, be called as that one was."""
        for spawned in self._spawns.all():
            name, run = spawned.name, spawned.run
            if run is None or not run.ready or run.called == name:
                continue
            session = session_of(self._sessions, run)
            if session is not None and not self._sessions.by_address(name):
                self._spawns.note(replace(spawned, run=replace(run, called=name)))
                self.rename(session, name)

    def _taken(self, name: Name) -> bool:
        """Whether a claim or a session has that name."""
        return bool(self._names.get(name) or self._sessions.by_address(name))

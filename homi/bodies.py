"""What watches the bodies of names: one watcher for each client without records.

Owns the list; each watcher tells homi.sessions who stands and who falls.  A new
client is a line here.
"""

import asyncio
from typing import Protocol

from homi.names import Names
from homi.seatwatch import SeatWatch
from homi.sessions import Sessions


class Watcher(Protocol):
    """Tells which bodies of one client can be reached."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch from now on."""
        ...

    def stop(self) -> None:
        """Watch nothing more; tells nothing."""
        ...

    def sweep(self) -> None:
        """Look again, for a notice that got lost."""
        ...


class Bodies:
    """Every watcher of one daemon."""

    def __init__(self, names: Names, sessions: Sessions) -> None:
        """Nothing is watched before start()."""
        self._watchers: list[Watcher] = [SeatWatch(names, sessions)]

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let all of them watch."""
        for watcher in self._watchers:
            watcher.start(loop)

    def stop(self) -> None:
        """End all of them."""
        for watcher in self._watchers:
            watcher.stop()

    def sweep(self) -> None:
        """Have each look again."""
        for watcher in self._watchers:
            watcher.sweep()

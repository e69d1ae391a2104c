"""What watches the bodies of names: one watcher for each client without records.

Owns the list; each watcher tells homi.sessions who stands and who falls.  A new
client is a line here.
"""

import asyncio
from collections.abc import Iterable
from typing import Protocol

from homi.address import Name
from homi.envelope import Reason


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

    def why(self, name: Name) -> Reason | None:
        """Why the body of name cannot be reached; None: it can, or is no concern."""
        ...


class Bodies:
    """Every watcher of one daemon."""

    def __init__(self, watchers: Iterable[Watcher]) -> None:
        """Nothing is watched before start()."""
        self._watchers = list(watchers)

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

    def why(self, name: Name) -> Reason | None:
        """Why the body of name cannot be reached; None: it can, or it has none."""
        found = (watcher.why(name) for watcher in self._watchers)
        return next((reason for reason in found if reason is not None), None)

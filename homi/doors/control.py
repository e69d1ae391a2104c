"""The control socket: who is let in, and how many at once.

Owns the socket and its connections; what is said on one is in doors.dialogue.
homi-protocol(7) is the page.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path

from homi.config import CONTROL_CONNECTIONS
from homi.doors.dialogue import Connection, Talker
from homi.doors.entrance import Entrance, Listener
from homi.doors.verbs import Verbs
from homi.doors.wire import BigLine, LineProtocol, Outbox
from homi.errors import HomiError, Unavailable
from homi.folders import FolderWatch
from homi.inheritance import Bequest, Inherited
from homi.paths import make_private
from homi.peers.credentials import peer_credentials

log = logging.getLogger("homi.control")


def _no_links(_wire: LineProtocol, _peer: str, _origin: str) -> Talker:
    """Replaced by the daemon before the first caller."""
    raise Unavailable("the daemon is starting")


class ControlDoor:
    """The listening socket and its bound on connections."""

    def __init__(
        self, path: Path, device: str, verbs: Callable[[int, int, str | None], Verbs]
    ) -> None:
        """verbs makes what answers a caller, given its pid, its uid and the
        thread of Codex it says it is a tool of."""
        self.device = device
        self.verbs = verbs
        self._path = path
        self._listener: Listener | None = None
        self._open: set[LineProtocol] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._big = BigLine()
        self.joined: Callable[[], bool] = bool  # see Outbox
        self.link: Callable[[LineProtocol, str, str], Talker] = _no_links
        self.inherited = Inherited()
        self.heir: Bequest | None = None  # who goes on with the socket after close()
        self._watch = FolderWatch([os.fspath(path.parent)], self._changed)

    def start(self) -> None:
        """Bind and listen; CannotCreate (73) where that cannot be."""
        self._loop = asyncio.get_running_loop()
        self._outbox = Outbox(self._loop, self.joined)
        make_private(self._path.parent)
        self._entrance = Entrance(
            self._loop, self._admit, self._full, inherited=self.inherited
        )
        path = os.fspath(self._path)
        self._listener = self._entrance.open(0, path)
        self._watch.attach(self._loop)

    def repair(self) -> None:
        """Bind again where the socket was deleted or replaced under us."""
        old = self._listener
        if old is None or not old.displaced():
            return
        try:
            make_private(self._path.parent)
            self._listener = self._entrance.open(0, old.path)
        except HomiError as error:
            log.error("socket %s is lost: %s", old.path, error.text)
            return
        log.warning("socket %s was taken away, bound again", old.path)
        self._entrance.drain(old)
        self._entrance.close(old)

    def _changed(self, _folder: str, names: list[str] | None) -> None:
        """Something in the folder of the socket came or went."""
        if names is None or self._path.name in names:
            self.repair()

    def _full(self) -> bool:
        """Whether the next connection must wait in the backlog."""
        return self.connections >= CONTROL_CONNECTIONS

    def _admit(self, accepted: socket.socket, _listener: Listener) -> None:
        """Put a protocol on an accepted socket."""
        task = self._loop.create_task(self._connect(accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        """The other end may be gone already."""
        try:
            pid, uid = peer_credentials(accepted)
            wire = LineProtocol(
                self._outbox, self._big, lambda wire: Connection(self, wire, pid, uid)
            )
            await self._loop.connect_accepted_socket(lambda: wire, accepted)
        except OSError as error:
            log.info("a control connection ended at once: %s", error)
            accepted.close()
            return
        self._open.add(wire)

    def lost(self, wire: LineProtocol) -> None:
        """A connection ended: there is room for another."""
        self._open.discard(wire)
        self._entrance.room()

    @property
    def connections(self) -> int:
        """How many are open, or about to be."""
        return len(self._open) + len(self._tasks)

    def flush(self) -> None:
        """Write every answer that is ready."""
        self._outbox.flush()

    def stop_accepting(self) -> None:
        """Take no more connections; those open go on."""
        self._watch.detach()
        self._entrance.shut()
        if self._listener is not None:
            self._listener.mark()

    def close(self) -> None:
        """End every connection after its queued answers, then the socket."""
        self._watch.detach()
        for wire in list(self._open):
            wire.close()
        if self._listener is not None and self.heir is not None:
            self._entrance.leave(self._listener, self.heir)
        elif self._listener is not None:
            self._entrance.close(self._listener)
        self._listener = None

"""The listeners of a door: accepting, and not accepting, without a spin.

Owns which listener is armed.  What an accepted socket says is not its business.
homi-protocol(7) has the rules.
"""

import asyncio
import contextlib
import logging
import os
import socket
import stat
from collections.abc import Callable

from homi.doors.bind import BACKLOG, bind_private, identity, unlink_own
from homi.inheritance import Bequest, Inherited

log = logging.getLogger("homi.peer")

ACCEPTS_A_TURN = 64
OURS = 0o600
REST = 0.5  # s: the backlog waits, a loop that spins on EMFILE does not


class Listener:
    """A bound socket and the number it stands for."""

    __slots__ = ("armed", "fd", "file", "number", "path", "sock")

    def __init__(self, number: int, path: str, inherited: Inherited) -> None:
        """Bind at path, where it is not inherited; CannotCreate (73) where that
        cannot be."""
        self.number = number
        self.path = path
        self.sock = inherited.listener(path, BACKLOG) or bind_private(path)
        self.fd = self.sock.fileno()
        self.file = identity(path)
        self.armed = False
        self._mode(OURS)  # an inherited one was marked

    def mark(self) -> None:
        """Let whoever looks at the file see that callers wait for the next homi."""
        self._mode(OURS | stat.S_IXUSR)

    def _mode(self, mode: int) -> None:
        """Give that to its own file."""
        with contextlib.suppress(OSError):
            if not self.displaced():
                os.chmod(self.path, mode)

    def displaced(self) -> bool:
        """Whether its file was deleted or replaced: no sender finds it any more."""
        return identity(self.path) != self.file


class Entrance:
    """All listeners of one door, armed while connections may come in."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        admit: Callable[[socket.socket, Listener], None],
        full: Callable[[], bool],
        *,
        rest: float = REST,
        inherited: Inherited | None = None,
    ) -> None:
        """admit takes each accepted socket; nothing is accepted while full().
        inherited: sockets that need not be bound."""
        self._inherited = inherited or Inherited()
        self._loop = loop
        self._admit = admit
        self._full = full
        self._rest = rest
        self._listeners: dict[int, Listener] = {}
        self._resting: list[Listener] = []
        self._timer: asyncio.TimerHandle | None = None
        self._shut = False
        self._crowded = False  # who rests does so for want of room, not of means
        self.wakeups = 0  # times a listener was ready; a spin would show here

    def open(self, number: int, path: str) -> Listener:
        """Bind, listen and arm; CannotCreate (73) where that cannot be."""
        listener = Listener(number, path, self._inherited)
        self._listeners[listener.fd] = listener
        if not self._shut:
            self._arm(listener)
        return listener

    def close(self, listener: Listener) -> None:
        """Disarm, close (its backlog sees an error) and remove its own file."""
        self._forget(listener)
        listener.sock.close()
        unlink_own(listener.path, listener.file)

    def leave(self, listener: Listener, heir: Bequest, *, line: bool = False) -> None:
        """Disarm, and let heir have it as it is: its backlog waits."""
        if listener.displaced():
            self.close(listener)
            return
        self._forget(listener)
        heir.listener(listener.sock, listener.path, line=line)

    def _forget(self, listener: Listener) -> None:
        """Nothing happens at it any more."""
        self._disarm(listener)
        del self._listeners[listener.fd]
        if listener in self._resting:
            self._resting.remove(listener)

    def drain(self, listener: Listener) -> None:
        """Admit who already connected to a listener that is about to close."""
        if not self._shut:
            self._accept(listener)

    def shut(self) -> None:
        """Disarm all, leave them open: from now on the backlog waits."""
        self._shut = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for listener in self._listeners.values():
            self._disarm(listener)

    def room(self) -> None:
        """There is room again: wake the listeners that rest for the bound."""
        if self._crowded and self._timer is not None:
            self._timer.cancel()
            self._wake()

    def _ready(self, listener: Listener) -> None:
        """Accept a share of what waits, or let this listener rest."""
        self.wakeups += 1
        if self._timer is not None:
            self._let_rest(listener)
        else:
            self._accept(listener)

    def _accept(self, listener: Listener) -> None:
        """Accept up to a turn's share."""
        for _ in range(ACCEPTS_A_TURN):
            if self._full():
                self._crowded = True
                self._let_rest(listener)
                return
            try:
                sock, _address = listener.sock.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                # EMFILE, ENFILE, ENOBUFS, ENOMEM: the backlog keeps who waits.
                log.warning("peer cannot accept for %.1f s: %s", self._rest, error)
                self._let_rest(listener)
                return
            sock.setblocking(False)
            self._admit(sock, listener)

    def _let_rest(self, listener: Listener) -> None:
        """Disarm it for a while.  Others follow when they are ready themselves: one
        wake-up each instead of a thousand system calls at once."""
        if self._shut:
            return
        self._disarm(listener)
        if listener.fd in self._listeners and listener not in self._resting:
            self._resting.append(listener)
        if self._timer is None:
            self._timer = self._loop.call_later(self._rest, self._wake)

    def _wake(self) -> None:
        """Arm all that rest."""
        self._timer = None
        self._crowded = False
        resting, self._resting = self._resting, []
        for listener in resting:
            self._arm(listener)

    def _arm(self, listener: Listener) -> None:
        """Be told when someone connects."""
        if not listener.armed:
            listener.armed = True
            self._loop.add_reader(listener.fd, self._ready, listener)

    def _disarm(self, listener: Listener) -> None:
        """Let the backlog wait."""
        if listener.armed:
            listener.armed = False
            self._loop.remove_reader(listener.fd)

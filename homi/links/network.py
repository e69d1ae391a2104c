"""Notices that the network changed, by rtnetlink(7); Linux only.

Owns one netlink socket and what of its messages means that a way may have opened.
Elsewhere there are none: the redials come in their own time.
"""

import asyncio
import logging
import socket
import struct
import sys
from collections.abc import Callable

log = logging.getLogger("homi.links")

NEW_LINK, NEW_ADDRESS, NEW_ROUTE = 16, 20, 24
_GROUPS = 0x1 | 0x10 | 0x40 | 0x100 | 0x400  # link, v4 address, route; v6 the same
_HEAD = struct.Struct("=IHHII")  # length, type, flags, sequence, port
_READ = 64 << 10
SETTLE = 0.2  # s: an interface that comes up sends a dozen of them
REST = 5.0  # s: a machine that makes interfaces all day is no reason to dial all day


class Network:
    """Tells when an address or a route appeared."""

    def __init__(self, changed: Callable[[], None]) -> None:
        """changed is called a moment behind the first notice of a burst."""
        self._changed = changed
        self._socket: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._told = float("-inf")

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Listen from now on, where the system has such notices."""
        if not sys.platform.startswith("linux"):
            return
        try:
            self._socket = socket.socket(
                socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0
            )
            self._socket.bind((0, _GROUPS))
        except OSError as error:
            log.info("no notices of the network: %s", error.strerror)
            self.detach()
            return
        self._loop = loop
        loop.add_reader(self._socket.fileno(), self._readable)

    def detach(self) -> None:
        """Listen no more; twice is fine."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._socket is not None:
            if self._loop is not None:
                self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def _readable(self) -> None:
        """Read all there is; one notice of an opened way is enough."""
        opened = False
        while self._socket is not None:
            try:
                opened = opens(self._socket.recv(_READ)) or opened
            except BlockingIOError:
                break
            except OSError:
                opened = True  # more came than was kept (ENOBUFS): anything may be
                break
        if opened and self._timer is None and self._loop is not None:
            wait = max(SETTLE, self._told + REST - self._loop.time())
            self._timer = self._loop.call_later(wait, self._tell)

    def _tell(self) -> None:
        self._timer = None
        if self._loop is not None:
            self._told = self._loop.time()
        self._changed()


def opens(data: bytes) -> bool:
    """Whether any message in data says that an address, a route or a link came."""
    at = 0
    while at + _HEAD.size <= len(data):
        length, kind, *_ = _HEAD.unpack_from(data, at)
        if kind in (NEW_LINK, NEW_ADDRESS, NEW_ROUTE):
            return True
        if length < _HEAD.size:
            return False
        at += (length + 3) & ~3
    return False

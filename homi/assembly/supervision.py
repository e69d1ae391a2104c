"""What a service manager is told: ready, about to end, and still alive.

Owns the datagrams of sd_notify(3); without a manager that asked for them nothing is
sent.  homid(8).
"""

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Mapping

ASKED = 2  # signs of life within the time that systemd bears without one


class Supervision:
    """The manager that started this process, if it wants to be told."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Nothing is told before ready()."""
        self._address = environment.get("NOTIFY_SOCKET", "")
        self._every = _interval(environment)
        self._timer: asyncio.TimerHandle | None = None

    def ready(self, loop: asyncio.AbstractEventLoop) -> None:
        """Every door is open; from now on the loop shows that it turns."""
        self._tell("READY=1")
        if self._every:
            self._alive(loop)

    def ending(self, *, follows: bool) -> None:
        """Nothing new is taken; follows: another homi goes on in this process."""
        if self._timer is not None:
            self._timer.cancel()
        if follows:
            micros = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            self._tell(f"RELOADING=1\nMONOTONIC_USEC={micros}\nWATCHDOG=1")
        else:
            self._tell("STOPPING=1")

    def _alive(self, loop: asyncio.AbstractEventLoop) -> None:
        """A sign of life, and the next one later."""
        self._tell("WATCHDOG=1")
        self._timer = loop.call_later(self._every, self._alive, loop)

    def _tell(self, text: str) -> None:
        """One datagram; a manager that does not read it is no reason to wait."""
        if self._address[:1] not in ("/", "@"):
            return
        address = self._address
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock,
            contextlib.suppress(OSError),
        ):
            sock.setblocking(False)
            name = "\0" + address[1:] if address.startswith("@") else address
            sock.sendto(text.encode(), name)


def _interval(environment: Mapping[str, str]) -> float:
    """Seconds between signs of life; 0 where nobody waits for them."""
    micros = environment.get("WATCHDOG_USEC", "")
    meant = environment.get("WATCHDOG_PID", str(os.getpid()))
    if not micros.isdecimal() or meant != str(os.getpid()):
        return 0.0
    return int(micros) / 1e6 / ASKED

"""Notices that time went on without this process: a suspend, or a stepped clock.

Owns the comparison of the clocks, and on Linux a timer that the kernel cancels when
the wall clock is set, as it is at a resume: no tick looks for it.  timerfd_create(2).
"""

import asyncio
import contextlib
import ctypes
import logging
import os
import struct
import sys
from collections.abc import Callable
from typing import NamedTuple

from homi.clock import Clock

log = logging.getLogger("homi.links")

JUMP = 2.0  # s by which two clocks may drift apart between two looks
_REALTIME = 0
_CLOEXEC, _NONBLOCK = os.O_CLOEXEC, os.O_NONBLOCK
_ABSOLUTE, _CANCEL_ON_SET = 1, 2
_NEVER = struct.pack("=qqqq", 0, 0, (1 << 33), 0)  # no interval; in 2242


class Jump(NamedTuple):
    """What the clocks show since the last look."""

    slept: float  # s the machine was suspended
    stepped: float  # s the wall clock was moved beyond that


class Suspends:
    """Tells of each suspend and each step of the wall clock."""

    def __init__(self, clock: Clock, woke: Callable[[Jump], None]) -> None:
        """woke is called behind each, with how far the clocks moved."""
        self._clock = clock
        self._woke = woke
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fd = -1
        self._seen = self._look()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Be woken by the kernel from now on, where it can."""
        self._seen = self._look()
        try:
            self._fd = _timer()
        except OSError as error:
            log.info("no notices of a suspend, only looks: %s", error.strerror)
            return
        self._loop = loop
        loop.add_reader(self._fd, self._readable)

    def detach(self) -> None:
        """Look no more; twice is fine."""
        if self._fd >= 0:
            if self._loop is not None:
                self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def check(self) -> None:
        """Look at the clocks now; tell if they moved apart."""
        slept, step = self._look()
        before = self._seen
        self._seen = slept, step
        jump = Jump(slept - before[0], step - before[1])
        if abs(jump.slept) > JUMP or abs(jump.stepped) > JUMP:
            log.info("clocks: asleep %.1f s, set by %.1f s", *jump)
            self._woke(jump)

    def _look(self) -> tuple[float, float]:
        """Seconds asleep since boot, and what the wall clock is ahead of both."""
        boot = self._clock.boot()
        return boot - self._clock.monotonic(), self._clock.wall() - boot

    def _readable(self) -> None:
        """The kernel cancelled the timer: it has to be set again."""
        with contextlib.suppress(OSError):
            os.read(self._fd, 8)
        try:
            _arm(self._fd)
        except OSError:
            self.detach()
        self.check()


def _timer() -> int:
    """A timer that never ends but is cancelled when the clock is set."""
    if not sys.platform.startswith("linux"):
        raise OSError(0, "not a Linux system")
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.timerfd_create(_REALTIME, _CLOEXEC | _NONBLOCK)
    if fd < 0:
        raise _os_error("timerfd_create")
    try:
        _arm(fd)
    except OSError:
        os.close(fd)
        raise
    return int(fd)


def _arm(fd: int) -> None:
    """Wait for the next time the clock is set; OSError else."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.timerfd_settime(fd, _ABSOLUTE | _CANCEL_ON_SET, _NEVER, None) < 0:
        raise _os_error("timerfd_settime")


def _os_error(what: str) -> OSError:
    """The error the C library just reported."""
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), what)

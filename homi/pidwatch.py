"""Tells when processes end: a pidfd each where the system has it, else a poll.

Owns the descriptors and timers; knows nothing of what a process is to us.
"""

import asyncio
import os
from collections.abc import Callable

from homi.peers import process

POLL = 1.0  # s between two looks at the processes that have no pidfd


class PidWatch:
    """Watched processes, each told gone at most once.  On the loop's thread."""

    def __init__(self, gone: Callable[[int], None], *, pidfds: bool = True) -> None:
        """gone(pid) is called on the loop; pidfds False polls even on Linux."""
        self._gone = gone
        self._pidfds = pidfds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starts: dict[int, str] = {}
        self._fds: dict[int, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell from now on; who ended before is told by the caller's own look."""
        self._loop = loop

    def detach(self) -> None:
        """Watch nothing; tells nothing more."""
        for pid in list(self._starts):
            self.forget(pid)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._loop = None

    def watch(self, pid: int, start: str) -> bool:
        """Tell when that very process ends; False when it is gone already.

        Its pidfd is opened before its start time is compared, so that no end
        between the two goes unseen.
        """
        self.forget(pid)
        fd = self._open(pid)
        if not process.alive(pid, start):
            if fd is not None:
                os.close(fd)
            return False
        self._starts[pid] = start
        if self._loop is None:
            return True
        if fd is not None:
            self._fds[pid] = fd
            self._loop.add_reader(fd, self._ended, pid)
        elif self._timer is None:
            self._timer = self._loop.call_later(POLL, self._poll)
        return True

    def forget(self, pid: int) -> None:
        """Watch it no more; one that is not watched is fine."""
        self._starts.pop(pid, None)
        fd = self._fds.pop(pid, None)
        if fd is not None:
            # Disarm before the close: an armed number may be given out again.
            if self._loop is not None:
                self._loop.remove_reader(fd)
            os.close(fd)

    def _open(self, pid: int) -> int | None:
        """A pidfd for pid; None: poll it, or it is gone (the start time tells)."""
        if not self._pidfds or self._loop is None:
            return None
        try:
            return process.open_pidfd(pid)
        except OSError:
            # ESRCH: gone.  EMFILE and the like: the poll does it.
            return None

    def _ended(self, pid: int) -> None:
        """The pidfd of pid became readable."""
        self.forget(pid)
        self._gone(pid)

    def _poll(self) -> None:
        """Look at every process that has no pidfd; go on while there is one."""
        self._timer = None
        for pid, start in list(self._starts.items()):
            if pid not in self._fds and not process.alive(pid, start):
                self._ended(pid)
        if self._loop is not None and len(self._starts) > len(self._fds):
            self._timer = self._loop.call_later(POLL, self._poll)

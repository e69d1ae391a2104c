"""Children that a homi left to the one that follows in its process.

Owns that they are waited for when they end, since nobody else knows of them: a git
that was at work, for one.  homid(8).
"""

import asyncio
import contextlib
import os
from pathlib import Path

from homi.peers import process
from homi.pidwatch import PidWatch


class Orphans:
    """The children of this process that it did not start as what it is now."""

    def __init__(self, children: list[int]) -> None:
        """Nothing is waited for before start()."""
        self._children = children
        self._pids = PidWatch(_reap)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for each, now or when it ends."""
        self._pids.attach(loop)
        for pid in self._children:
            start = process.start_time(pid)
            if start is None or not self._pids.watch(pid, start):
                _reap(pid)

    def stop(self) -> None:
        """Wait for none any more."""
        self._pids.detach()


def children() -> list[int]:
    """Those there are; none where the system does not tell."""
    try:
        text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def _reap(pid: int) -> None:
    """Take note of its end; fine where it goes on, or somebody did."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)

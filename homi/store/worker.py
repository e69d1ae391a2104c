"""A thread that does one kind of work, piece after piece.

Owns the thread and the way back to the loop; knows nothing of the work.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any


class Worker:
    """One thread.  put() costs one queue entry, its answer one call on the loop."""

    def __init__(
        self, name: str, loop: asyncio.AbstractEventLoop, nice: int = 0
    ) -> None:
        """Start the thread; it dies with the process.  nice: how far others go first,
        where a system can tell its threads apart."""
        self._nice = nice
        self._loop = loop
        self._jobs: SimpleQueue[
            tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]] | None
        ] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(
        self,
        work: Callable[[], Any],
        done: Callable[[Any, BaseException | None], None],
    ) -> None:
        """Do work in the thread, then done(its result, what it raised) on the loop."""
        self._jobs.put((work, done))

    def stop(self, patience: float) -> bool:
        """Let the thread end behind what it was given; wait for it so many seconds.
        Whether it has ended."""
        self._jobs.put(None)
        self._thread.join(patience)
        return not self._thread.is_alive()

    def _run(self) -> None:
        """The thread."""
        if self._nice and sys.platform == "linux":
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._nice)
        while (job := self._jobs.get()) is not None:
            work, done = job
            self._loop.call_soon_threadsafe(done, *attempt(work))
            del job, work, done  # or they live until the next job comes


def attempt(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """The result of work, or what it raised, to be raised where it shows."""
    try:
        return work(), None
    except BaseException as error:
        return None, error

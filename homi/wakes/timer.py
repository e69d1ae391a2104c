"""The next moment at which a wake is due: one timer for all of them.

Owns the heap of times; a clock that was set is the caller's to tell.
"""

import asyncio
import heapq
from collections.abc import Callable

from homi.clock import Clock

# What is fired before others have their turn of the loop: wakes, and seconds.
TURN, TURN_TIME = 16, 0.01


class Timer:
    """Calls back with each wake that is due.  On the loop's thread."""

    def __init__(self, clock: Clock, due: Callable[[str], None]) -> None:
        """Nothing is called before start()."""
        self._clock = clock
        self._due = due
        self._heap: list[tuple[float, str]] = []
        self._at: dict[str, float] = {}  # of what is in the heap the valid ones
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handle: asyncio.Handle | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call from now on."""
        self._loop = loop
        self.arm()

    def stop(self) -> None:
        """Call no more."""
        self._loop = None
        self._disarm()

    def set(self, wake: str, at: float | None) -> None:
        """Call back with wake at that wall second, or never."""
        if self._at.get(wake) == at:
            return
        if at is None:
            self._at.pop(wake, None)
        else:
            self._at[wake] = at
            heapq.heappush(self._heap, (at, wake))
            if len(self._heap) > 2 * len(self._at) + 64:
                self._heap = [(at, wake) for wake, at in self._at.items()]
                heapq.heapify(self._heap)
        if self._heap and self._heap[0][1] == wake:
            self.arm()

    def at(self, wake: str) -> float | None:
        """When it is due."""
        return self._at.get(wake)

    def arm(self) -> None:
        """Wait for the first of them, as the clock stands now."""
        self._disarm()
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        if self._loop is None or not self._heap:
            return
        wait = self._heap[0][0] - self._clock.wall()
        self._handle = self._loop.call_later(max(wait, 0.0), self._turn)

    def _turn(self) -> None:
        """Some of those that are due."""
        self._handle = None
        now, left = self._clock.wall(), TURN
        end = self._clock.monotonic() + TURN_TIME
        while self._heap and left and self._clock.monotonic() < end:
            at, wake = self._heap[0]
            if self._at.get(wake) != at:
                heapq.heappop(self._heap)
                continue
            if at > now:
                break
            heapq.heappop(self._heap)
            del self._at[wake]
            left -= 1
            self._due(wake)
        self.arm()

    def _disarm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

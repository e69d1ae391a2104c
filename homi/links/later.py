"""A call that several ask for, made once.

Owns the timer of it; knows nothing of what is called.
"""

import asyncio
from collections.abc import Callable


class Later:
    """A call that is made once, a while after it was asked for."""

    def __init__(self, delay: float) -> None:
        """Nothing is called before start()."""
        self._delay = delay
        self._call: Callable[[], None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        """Make call from now on when it is asked for."""
        self._loop, self._call = loop, call

    def __call__(self) -> None:
        """Ask for it; several times are one."""
        if self._timer is None and self._loop is not None:
            self._timer = self._loop.call_later(self._delay, self._due)

    def stop(self) -> None:
        """Make the call that is asked for now, and none behind it."""
        if self._timer is not None:
            self._timer.cancel()
            self._due()
        self._loop = None

    def _due(self) -> None:
        self._timer = None
        if self._call is not None:
            self._call()

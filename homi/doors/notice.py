"""Notices that a file of ours was taken away, from the folders they are in.

Owns one inotify descriptor and joins its notices into one call.  Where there is
no inotify the sweep finds out.
"""

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Iterable

from homi import inotify

MASK = (
    inotify.DELETE
    | inotify.MOVED_FROM
    | inotify.MOVED_TO
    | inotify.DELETE_SELF
    | inotify.MOVE_SELF
    | inotify.ONLYDIR
)
SELF = inotify.DELETE_SELF | inotify.MOVE_SELF | inotify.IGNORED | inotify.OVERFLOW
JOIN = 0.05  # s: a cleaner takes many files at once

_NUMBER = re.compile(r"([0-9]{1,18})\.(?:json|sock|[0-9a-f]{64}\.key)", re.ASCII)


class Notice:
    """Calls back with the numbers whose files changed; None: look at all."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        told: Callable[[set[int] | None], None],
        ours: Callable[[int], bool],
    ) -> None:
        """ours tells the numbers that matter; the clients' own files change often."""
        self._loop = loop
        self._told = told
        self._ours = ours
        self._numbers: set[int] = set()
        self._all = False
        self._timer: asyncio.TimerHandle | None = None
        self._watch = inotify.Inotify() if inotify.available() else None
        if self._watch is not None:
            loop.add_reader(self._watch.fd, self._read)

    def add(self, folders: Iterable[str]) -> None:
        """Watch these folders; one that is not there is watched by a later call."""
        if self._watch is None:
            return
        for folder in folders:
            with contextlib.suppress(OSError):
                self._watch.add(os.path.abspath(folder), MASK)

    def close(self) -> None:
        """Hear nothing any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._watch is not None and self._watch.fd >= 0:
            self._loop.remove_reader(self._watch.fd)
            self._watch.close()

    def _read(self) -> None:
        """Note what happened, tell it a moment later."""
        assert self._watch is not None
        for event in self._watch.read():
            if event.mask & SELF:
                self._all = True
            elif found := _NUMBER.fullmatch(event.name):
                number = int(found[1])
                if self._ours(number):
                    self._numbers.add(number)
        if (self._all or self._numbers) and self._timer is None:
            self._timer = self._loop.call_later(JOIN, self._tell)

    def _tell(self) -> None:
        """One call for all that was noted."""
        self._timer = None
        numbers, self._numbers = self._numbers, set()
        everything, self._all = self._all, False
        self._told(None if everything else numbers)

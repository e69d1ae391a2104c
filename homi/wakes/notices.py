"""Notices of the folders in which files are waited for, where the system has them.

Owns one inotify descriptor; whoever asked is told to look, and which files are still
written.  Losing a notice costs time: the sweep looks, too.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable

from homi import inotify
from homi.inotify import Inotify

log = logging.getLogger("homi.wakes")

MASK = (
    inotify.MODIFY
    | inotify.CREATE
    | inotify.CLOSE_WRITE
    | inotify.MOVED_TO
    | inotify.ONLYDIR
)
_OPEN = inotify.MODIFY | inotify.CREATE
_CLOSED = inotify.CLOSE_WRITE | inotify.MOVED_TO


class Notices:
    """Tells wakes that something happened in their folders.  On the loop's thread."""

    def __init__(self, stirred: Callable[[str, str, bool], None]) -> None:
        """stirred(wake, path, writing) is called for each; path empty: look at all."""
        self._stirred = stirred
        self._inotify: Inotify | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._folders: dict[int, str] = {}
        self._wakes: dict[int, set[str]] = {}

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell from now on, where the system can."""
        if not inotify.available():
            return
        try:
            self._inotify = Inotify()
        except OSError as error:
            log.info("no notices of files, only looks: %s", error.strerror)
            return
        self._loop = loop
        loop.add_reader(self._inotify.fd, self._read)

    def detach(self) -> None:
        """Tell nothing more."""
        if self._inotify is not None:
            if self._loop is not None:
                self._loop.remove_reader(self._inotify.fd)
            self._inotify.close()
        self._inotify = None
        self._folders.clear()
        self._wakes.clear()

    def watch(self, wake: str, folders: list[str]) -> bool:
        """Tell wake of these folders, and of no other any more; whether one is new, in
        which something may have happened before."""
        if self._inotify is None:
            return False
        now, new = set(), False
        for folder in folders:
            with contextlib.suppress(OSError):  # gone, or too many: the sweep looks
                wd = self._inotify.add(folder, MASK)
                now.add(wd)
                self._folders[wd] = folder
                new = new or wake not in self._wakes.get(wd, ())
                self._wakes.setdefault(wd, set()).add(wake)
        for wd in [wd for wd, wakes in self._wakes.items() if wake in wakes]:
            if wd not in now:
                self._wakes[wd].discard(wake)
                if not self._wakes[wd]:
                    self._drop(wd)
        return new

    def _drop(self, wd: int) -> None:
        """Nobody waits for that folder any more."""
        if self._inotify is not None:
            self._inotify.remove(wd)
        self._wakes.pop(wd, None)
        self._folders.pop(wd, None)

    def _read(self) -> None:
        """Pass the notices on."""
        for event in [] if self._inotify is None else self._inotify.read():
            if event.mask & inotify.OVERFLOW:
                for wake in set().union(*self._wakes.values()):
                    self._stirred(wake, "", False)
                continue
            wakes = list(self._wakes.get(event.wd, ()))
            if event.mask & inotify.IGNORED:
                self._wakes.pop(event.wd, None)
                self._folders.pop(event.wd, None)
            for wake in wakes:
                self._pass(wake, event)

    def _pass(self, wake: str, event: inotify.Event) -> None:
        """One notice to one wake."""
        folder = self._folders.get(event.wd, "")
        path = os.path.join(folder, event.name) if event.name else ""
        if event.mask & _CLOSED:
            self._stirred(wake, path, False)
        elif event.mask & (_OPEN | inotify.IGNORED):
            self._stirred(wake, path, bool(event.mask & _OPEN))

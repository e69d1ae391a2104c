"""Notices that a file of ours changed, in the folders they are in, joined into one.

Owns which notices concern us.  Where there is no inotify the sweep finds out.
"""

import asyncio
import re
from collections.abc import Callable

from homi import inotify
from homi.folders import FolderWatch

JOIN = 0.05  # s: a cleaner takes many files at once

_NUMBER = re.compile(r"([0-9]{1,18})\.(?:json|sock|[0-9a-f]{64}\.key)", re.ASCII)


class Notice:
    """Calls back with the numbers whose files changed; None: look at all."""

    def __init__(
        self,
        folders: list[str],
        told: Callable[[set[int] | None], None],
        ours: Callable[[int], bool],
    ) -> None:
        """ours tells the numbers that matter; the clients' own files change often."""
        self._told = told
        self._ours = ours
        self._numbers: set[int] = set()
        self._all = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watch = FolderWatch(folders, self._changed)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell from now on."""
        self._loop = loop
        if inotify.available():
            self._watch.attach(loop)

    def close(self) -> None:
        """Tell nothing any more."""
        self._watch.detach()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._loop = None

    def verify(self) -> None:
        """Watch anew what was replaced without a notice."""
        self._watch.verify()

    def _changed(self, _folder: str, names: list[str] | None) -> None:
        """Note what concerns us, tell it a moment later."""
        if names is None:
            self._all = True
        else:
            self._numbers.update(self._concerned(names))
        if (self._all or self._numbers) and self._timer is None and self._loop:
            self._timer = self._loop.call_later(JOIN, self._tell)

    def _concerned(self, names: list[str]) -> set[int]:
        """Our numbers among the changed files."""
        found = (_NUMBER.fullmatch(name) for name in names)
        return {int(each[1]) for each in found if each and self._ours(int(each[1]))}

    def _tell(self) -> None:
        """One call for all that was noted."""
        self._timer = None
        numbers, self._numbers = self._numbers, set()
        everything, self._all = self._all, False
        self._told(None if everything else numbers)

"""Tells when something moves in folders that are watched for a while.

Owns one inotify descriptor.  A notice is a hint: whoever gets it looks for himself,
and looks by a timer as well.
"""

import asyncio
from collections.abc import Callable

from homi import inotify

_MASK = (
    inotify.MODIFY
    | inotify.CLOSE_WRITE
    | inotify.CREATE
    | inotify.MOVED_TO
    | inotify.MOVED_FROM
    | inotify.ONLYDIR
)

Hint = Callable[[str], None]


class Notices:
    """Hints of changes in folders.  On the loop's thread; nothing is told where
    the system has no inotify."""

    def __init__(self) -> None:
        """Nothing is open before watch(), and nothing behind close()."""
        self._inotify: inotify.Inotify | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._folders: dict[int, str] = {}
        self._hints: dict[str, list[Hint]] = {}

    def watch(self, folder: str, hint: Hint) -> bool:
        """Call hint with the name of what moved in folder, '' when it is not known;
        whether the folder could be watched."""
        if not inotify.available():
            return False
        try:
            if self._inotify is None:
                self._open()
            if self._inotify is None:
                return False
            number = self._inotify.add(folder, _MASK)
        except OSError:
            return False
        self._folders[number] = folder
        self._hints.setdefault(folder, []).append(hint)
        return True

    def unwatch(self, folder: str, hint: Hint) -> None:
        """Call hint no more.

        The descriptor stays for the next letter: to close one takes the kernel tens of
        milliseconds, in which no mail would be accepted.
        """
        hints = self._hints.get(folder, [])
        if hint in hints:
            hints.remove(hint)
        if not hints and self._hints.pop(folder, None) is not None:
            numbers = [n for n, path in self._folders.items() if path == folder]
            for number in numbers:
                del self._folders[number]
                if self._inotify is not None:
                    self._inotify.remove(number)

    def close(self) -> None:
        """Tell nothing more, and give the descriptor back."""
        if self._loop is not None and self._inotify is not None:
            self._loop.remove_reader(self._inotify.fd)
            self._inotify.close()
        self._inotify = self._loop = None
        self._folders.clear()
        self._hints.clear()

    def _open(self) -> None:
        """Open the descriptor and put it into the running loop."""
        self._inotify = inotify.Inotify()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._inotify.fd, self._readable)

    def _readable(self) -> None:
        """Tell each hint of each thing that moved, once a batch."""
        if self._inotify is None:
            return
        moved: dict[tuple[str, str], None] = {}
        for event in self._inotify.read():
            if event.mask & inotify.OVERFLOW:
                moved.update(((folder, ""), None) for folder in self._hints)
            elif (folder := self._folders.get(event.wd)) is not None:
                if event.mask & inotify.IGNORED:
                    del self._folders[event.wd]
                moved[folder, event.name] = None
        for folder, name in moved:
            for hint in list(self._hints.get(folder, ())):
                hint(name)

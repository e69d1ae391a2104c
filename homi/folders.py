"""Tells which files of a folder changed, also of a folder that comes and goes.

Owns the watches: on the folder itself, or on its nearest existing parent while it
is absent.  By inotify where there is one, else every file is a suspect twice a
second.  Knows nothing of what the files are.
"""

import asyncio
import os
from collections.abc import Callable

from homi import inotify

POLL = 0.5  # s between two looks where there is no inotify

_FILES = (
    inotify.CREATE
    | inotify.CLOSE_WRITE
    | inotify.MOVED_TO
    | inotify.MOVED_FROM
    | inotify.DELETE
)
_SELF = inotify.DELETE_SELF | inotify.MOVE_SELF
_LOST = _SELF | inotify.UNMOUNT | inotify.IGNORED
# One mask for both uses: a folder may be the parent of another watched one.
_MASK = _FILES | _SELF | inotify.ONLYDIR
_TRIES = 8  # a folder made and removed faster than we climb is left to its parent

# The folder, and the changed names in order of their last change; None: scan it.
Changed = Callable[[str, list[str] | None], None]


class _Watch:
    """Where a folder is watched: at itself, or at a parent of it."""

    def __init__(self, wd: int, path: str, inode: tuple[int, int]) -> None:
        self.wd = wd
        self.path = path
        self.inode = inode

    def tells_of_itself(self, event: inotify.Event, folder: str) -> bool:
        """Whether folder must be looked for again: this place went, or the next
        one on the way down to it came."""
        if event.mask & _LOST:
            return True
        return self.path != folder and event.name == _below(self.path, folder)


class FolderWatch:
    """Watches for a fixed set of folders.  On the loop's thread."""

    def __init__(
        self, folders: list[str], changed: Changed, *, notices: bool = True
    ) -> None:
        """changed is called on the loop; notices False polls even on Linux."""
        self._folders = folders
        self._changed = changed
        self._notices = notices and inotify.available()
        self._inotify: inotify.Inotify | None = None
        self._watches: dict[str, _Watch] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell from now on.  What is there already is for the caller to scan."""
        self._loop = loop
        if self._notices:
            try:
                self._inotify = inotify.Inotify()
            except OSError:
                # Out of instances or descriptors: the poll below is slower and true.
                self._inotify = None
        if self._inotify is not None:
            loop.add_reader(self._inotify.fd, self._readable)
            for folder in self._folders:
                self._place(folder)
        self._poll_later()

    def detach(self) -> None:
        """Tell nothing more, and give the descriptor back."""
        if self._loop is not None and self._inotify is not None:
            self._loop.remove_reader(self._inotify.fd)
            self._inotify.close()
        if self._timer is not None:
            self._timer.cancel()
        self._inotify = self._timer = self._loop = None
        self._watches.clear()

    def verify(self) -> None:
        """Watch anew what was replaced without a notice, a parent renamed, say.

        The caller scans after this call, not before.
        """
        if self._inotify is None:
            return
        for folder in self._folders:
            inode = _inode(folder)
            watch = self._watches.get(folder)
            there = watch.inode if watch and watch.path == folder else None
            if watch is None or there != inode:
                self._replace(folder)

    def _readable(self) -> None:
        """Take the events at hand, then tell each folder once."""
        names: dict[str, dict[str, None]] = {}
        lost: set[str] = set()
        for event in [] if self._inotify is None else self._inotify.read():
            if event.mask & inotify.OVERFLOW:
                lost.update(self._folders)
            self._sort(event, names, lost)
        for folder in self._folders:
            if folder in lost:
                self._replace(folder)
                self._changed(folder, None)
            elif folder in names:
                self._changed(folder, list(names[folder]))

    def _sort(
        self, event: inotify.Event, names: dict[str, dict[str, None]], lost: set[str]
    ) -> None:
        """Note the event for each folder it is about."""
        for folder, watch in self._watches.items():
            if watch.wd != event.wd:
                continue
            if watch.tells_of_itself(event, folder):
                lost.add(folder)
            elif watch.path == folder:
                # To the end: names come in order of their last event.
                seen = names.setdefault(folder, {})
                seen.pop(event.name, None)
                seen[event.name] = None

    def _place(self, folder: str) -> None:
        """Watch folder, or the nearest parent that exists; nothing when none can be."""
        for _ in range(_TRIES):
            path = folder
            while not self._add(folder, path):
                above = os.path.dirname(path)
                if above == path:
                    return
                path = above
            # What is missing may have been made while we climbed; then the
            # watch on the parent would never tell of it.
            if path == folder or not _exists_below(path, folder):
                return
            self._drop(folder)
        self._add(folder, os.path.dirname(folder))

    def _add(self, folder: str, path: str) -> bool:
        """Let path's watch serve folder; False when path cannot be watched."""
        if self._inotify is None:
            return False
        try:
            wd = self._inotify.add(path, _MASK)
        except OSError:
            return False
        self._watches[folder] = _Watch(wd, path, _inode(path) or (0, 0))
        return True

    def _drop(self, folder: str) -> None:
        """End the watch of folder, unless another folder uses the same."""
        watch = self._watches.pop(folder, None)
        if watch is None or self._inotify is None:
            return
        if all(other.wd != watch.wd for other in self._watches.values()):
            self._inotify.remove(watch.wd)

    def _replace(self, folder: str) -> None:
        """Find the place to watch folder again."""
        self._drop(folder)
        self._place(folder)
        self._poll_later()

    def _poll_later(self) -> None:
        """Look again soon while any folder has no watch at all."""
        blind = len(self._watches) < len(self._folders)
        if blind and self._timer is None and self._loop is not None:
            self._timer = self._loop.call_later(POLL, self._poll)

    def _poll(self) -> None:
        """Every file of an unwatched folder may have changed."""
        self._timer = None
        for folder in self._folders:
            if folder not in self._watches:
                self._place(folder)
                self._changed(folder, None)
        self._poll_later()


def _below(parent: str, folder: str) -> str:
    """The first path component of folder under parent."""
    return os.path.relpath(folder, parent).partition(os.sep)[0]


def _exists_below(parent: str, folder: str) -> bool:
    """Whether the next folder down is there, and can be entered."""
    below = os.path.join(parent, _below(parent, folder))
    return os.path.isdir(below) and os.access(below, os.R_OK | os.X_OK)


def _inode(path: str) -> tuple[int, int] | None:
    """Which folder stands at path now."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino

"""The files that a pattern matches, with what tells one version from the next.

Owns the walk, which is bounded: a pattern may mean a whole disk.  Runs in a thread.
homi-wake(1) has the rules.
"""

import errno
import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from homi.address import show
from homi.errors import NotReached, Usage

FILES_MAX = 10_000  # matched by one pattern: each is remembered
ENTRIES_MAX = 200_000  # looked at in one walk
PARTS_MAX = 64  # of a pattern, each a folder to go down into
FOLDERS_MAX = 64  # watched for one pattern; in others the sweep finds what is new
ANY_DEPTH = "**"
_MAGIC = re.compile(r"[*?\[]")
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


class Found(NamedTuple):
    """One thing that a trigger looks for."""

    mark: str  # changes with it
    facts: list[tuple[str, str]]


class Walk(NamedTuple):
    """What a pattern matched, and where more may come."""

    files: dict[str, Found]
    folders: list[str]
    hidden: tuple[str, ...] = ()  # could not be looked at: what is there is not known


def checked(pattern: str) -> str:
    """The pattern, if it is one for whole paths; Usage (64) else."""
    if not pattern.startswith("/"):
        raise Usage(f"the pattern {show(pattern)} does not begin at /")
    if "\0" in pattern or len(os.fsencode(pattern)) > 4096:
        raise Usage("the pattern is no path")
    parts = pattern.split("/")
    if len(parts) > PARTS_MAX:
        raise Usage(f"the pattern has {len(parts)} parts, {PARTS_MAX} are looked into")
    if ".." in parts:
        raise Usage(f"the pattern {show(pattern)} goes back by ..")
    if parts.count(ANY_DEPTH) > 1:
        raise Usage(f"the pattern {show(pattern)} has ** more than once")
    return pattern


def named(path: str) -> str:
    """A path as text that can be kept and sent: a name may hold bytes that are none."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def walk(pattern: str, stopped: Callable[[], bool] = lambda: False) -> Walk:
    """Every regular file that matches now; NotReached (75) for too many."""
    parts = [part for part in pattern.split("/") if part]
    return _Walker(pattern, stopped).walk(parts)


class _Walker:
    """One walk."""

    def __init__(self, pattern: str, stopped: Callable[[], bool]) -> None:
        self._pattern = pattern
        self._stopped = stopped
        self._left = ENTRIES_MAX
        self._files: dict[str, Found] = {}
        self._folders: list[str] = []
        self._dark: list[str] = []

    def walk(self, parts: list[str]) -> Walk:
        """All of it."""
        self._below("/", parts)
        return Walk(self._files, self._folders, tuple(self._dark))

    def _below(self, folder: str, parts: list[str]) -> None:
        """What matches parts in folder."""
        # What no pattern stands in is not listed, however much there is.
        while len(parts) > 1 and not _MAGIC.search(parts[0]):
            folder = os.path.join(folder, parts[0])
            parts = parts[1:]
        if not parts:
            return
        if len(self._folders) < FOLDERS_MAX and os.path.isdir(folder):
            self._folders.append(folder)
        first, rest = parts[0], parts[1:]
        if first == ANY_DEPTH:
            self._any_depth(folder, rest or ["*"])
        elif not rest and not _MAGIC.search(first):
            self._file(os.path.join(folder, first))
        else:
            matches = re.compile(fnmatch.translate(first)).match
            # Closed before the next is opened: a tree may be deeper than files may be
            # open, or calls be nested.
            for entry in list(self._entries(folder)):
                if _hidden(entry.name, first) or not matches(entry.name):
                    continue
                if not rest:
                    self._file(entry.path)
                elif _is_dir(entry, links=True):
                    self._below(entry.path, rest)

    def _any_depth(self, folder: str, rest: list[str]) -> None:
        """rest, in folder and in every folder below; no link is followed."""
        waiting = [folder]
        while waiting:
            folder = waiting.pop()
            self._below(folder, rest)
            waiting += [
                entry.path
                for entry in self._entries(folder)
                if not entry.name.startswith(".") and _is_dir(entry, links=False)
            ]

    def _entries(self, folder: str) -> Iterator[os.DirEntry[str]]:
        """What is in a folder; nothing where it cannot be read."""
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._left -= 1
                    if self._left < 0 or self._stopped():
                        raise NotReached(
                            f"{show(self._pattern)}: more than {ENTRIES_MAX} entries"
                            " to look at",
                            hint="a pattern that means fewer folders",
                            reason="too-many",
                        )
                    yield entry
        except OSError as error:
            self._missed(folder, error)

    def _file(self, path: str) -> None:
        """One that matches, if it is a file."""
        try:
            found = os.stat(path)
        except OSError as error:
            self._missed(path, error)
            return
        if not stat.S_ISREG(found.st_mode):
            return
        if len(self._files) >= FILES_MAX:
            raise NotReached(
                f"{show(self._pattern)} matches more than {FILES_MAX} files",
                hint="a pattern that means fewer",
                reason="too-many",
            )
        mark = f"{found.st_mtime_ns}:{found.st_size}:{found.st_ino}"
        name = named(path)
        self._files[name] = Found(mark, [("file", name), ("size", str(found.st_size))])

    def _missed(self, path: str, error: OSError) -> None:
        """Something there could not be looked at."""
        if error.errno not in _ABSENT:
            self._dark.append(named(path))


def _hidden(name: str, part: str) -> bool:
    """As a shell has it: a leading dot is matched by a dot only."""
    return name.startswith(".") and not part.startswith(".")


def _is_dir(entry: os.DirEntry[str], *, links: bool) -> bool:
    """Whether it is a folder; links: or leads to one."""
    try:
        return entry.is_dir(follow_symlinks=links)
    except OSError:
        return False

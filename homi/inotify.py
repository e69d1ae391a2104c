"""Linux file notices by inotify(7), through the C library.

Owns one inotify descriptor and the decoding of its events; knows nothing of what
is watched or why.  Nothing here blocks: the descriptor goes into a loop.
"""

import ctypes
import os
import struct
import sys
from typing import NamedTuple

MODIFY = 0x2
CLOSE_WRITE = 0x8
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
UNMOUNT = 0x2000
OVERFLOW = 0x4000  # events were lost: scan
IGNORED = 0x8000  # the watch is gone
ONLYDIR = 0x1000000

_HEAD = struct.Struct("iIII")
_READ = 256 << 10  # bytes: some thousand events, so that a burst collapses


class Event(NamedTuple):
    """One notice: wd names the watch, name the file in it ('' for itself)."""

    wd: int
    mask: int
    name: str


def available() -> bool:
    """Whether this system has inotify."""
    return sys.platform.startswith("linux")


class Inotify:
    """One descriptor and its watches; close() gives all of them back."""

    def __init__(self) -> None:
        """Open the descriptor, non-blocking and closed on exec; OSError else."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise _os_error("inotify_init1")

    def add(self, path: str, mask: int) -> int:
        """Watch path; the same inode gives the same number.  OSError if absent."""
        wd = self._libc.inotify_add_watch(self.fd, os.fsencode(path), mask)
        if wd < 0:
            raise _os_error(path)
        return int(wd)

    def remove(self, wd: int) -> None:
        """End a watch; one that is gone already is fine."""
        self._libc.inotify_rm_watch(self.fd, wd)

    def read(self) -> list[Event]:
        """The events at hand, in order; never blocks.  Empty when there are none."""
        try:
            data = os.read(self.fd, _READ)
        except BlockingIOError:
            return []
        events = []
        at = 0
        while at < len(data):
            wd, mask, _cookie, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            name = data[at : at + length].rstrip(b"\0")
            at += length
            events.append(Event(wd, mask, os.fsdecode(name)))
        return events

    def close(self) -> None:
        """Give the descriptor and all watches back; twice is fine."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _os_error(what: str) -> OSError:
    """The error the C library just reported."""
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), what)

"""The sockets of numbers: one a claim, built-in or desk number, at a lasting path.

Owns which number is bound where, and binds again what was taken away.  Knows
nothing of what a number stands for.  homi-legs(7) says why the folder matters.
"""

import logging
import os
from collections.abc import Iterable

from homi.doors.bind import clear
from homi.doors.entrance import Entrance, Listener
from homi.errors import CannotCreate, HomiError
from homi.inheritance import Bequest
from homi.peers.sockets import make_socket_folder, private_folder, socket_path

log = logging.getLogger("homi.peer")

RECEIPTS = 0  # the number of a socket that stands for nobody: receipts only


class Sockets:
    """Bound numbers of one door."""

    def __init__(self, entrance: Entrance, folder: str) -> None:
        """BadConfig (78) where others could reach into folder."""
        self._entrance = entrance
        self.folder = make_socket_folder(folder)
        self.bound: dict[int, Listener] = {}
        self.failed: dict[int, str] = {}  # number → why it is not bound
        self._lines: dict[str, Listener] = {}

    def path(self, number: int) -> str:
        """Where the number's socket is, bound or not."""
        return socket_path(self.folder, number)

    def open(self, number: int) -> bool:
        """Bind the number if it is not; whether it is bound now."""
        if number in self.bound:
            return True
        try:
            self.bound[number] = self._entrance.open(number, self.path(number))
        except HomiError as error:
            self.failed[number] = error.text
            log.error("socket %d is not bound: %s", number, error.text)
            return False
        self.failed.pop(number, None)
        return True

    def close(self, number: int) -> None:
        """Give the number's socket up, file and all."""
        self.failed.pop(number, None)
        listener = self.bound.pop(number, None)
        if listener is not None:
            self._entrance.close(listener)

    def close_all(self) -> None:
        """Give every socket up."""
        for listener in [*self.bound.values(), *self._lines.values()]:
            self._entrance.close(listener)
        self.bound.clear()
        self._lines.clear()

    def leave_all(self, heir: Bequest) -> None:
        """Let heir have every socket as it is."""
        for listener in self.bound.values():
            self._entrance.leave(listener, heir)
        for listener in self._lines.values():
            self._entrance.leave(listener, heir, line=True)
        self.bound.clear()
        self._lines.clear()

    def keep_lines(self, paths: Iterable[str]) -> None:
        """Go on listening for receipts at these inherited paths: who was given one
        knows no other."""
        for path in paths:
            try:
                listener = self._entrance.open(RECEIPTS, path)
            except HomiError as error:
                log.warning("no receipts at %s: %s", path, error.text)
                continue
            self._lines[os.path.dirname(path)] = listener

    def line(self, folder: str, base: int) -> str:
        """A socket for receipts in a session's folder; empty where there can be
        none.  base names its file: a number of ours that no session has."""
        if folder not in self._lines:
            try:
                private_folder(folder)
                path = socket_path(folder, base)
                self._lines[folder] = self._entrance.open(RECEIPTS, path)
            except HomiError as error:
                log.warning("no receipts from sessions in %s: %s", folder, error.text)
                return ""
        return self._lines[folder].path

    def repair(self, numbers: Iterable[int]) -> None:
        """Bind again those that were deleted or replaced under us, or failed."""
        self._mend_folder()
        for number in numbers:
            listener = self.bound.get(number)
            if listener is None:
                self.open(number)
            elif listener.displaced():
                self.bound[number] = self._again(listener)
        for folder, listener in list(self._lines.items()):
            if listener.displaced():
                self._lines[folder] = self._again(listener)

    def _again(self, old: Listener) -> Listener:
        """A new listener at the path of one that nobody finds any more; the old one
        where that cannot be yet."""
        try:
            new = self._entrance.open(old.number, old.path)
        except HomiError as error:
            log.error("socket %s is lost: %s", old.path, error.text)
            return old
        log.warning("socket %s was taken away, bound again", old.path)
        self._entrance.drain(old)
        self._entrance.close(old)
        return new

    def _mend_folder(self) -> None:
        """Make the folder again if it is gone."""
        try:
            make_socket_folder(self.folder)
        except HomiError as error:
            log.error("socket folder is not usable: %s", error.text)


def clear_leftover(path: str) -> None:
    """Remove a dead socket of an earlier run; anything else stays."""
    if os.path.lexists(path):
        try:
            clear(path)
        except CannotCreate as error:
            log.info("left alone: %s", error.text)

"""The daemon as a service of its user: set up, and taken away again.

Owns the order of the steps; a file that homi did not write, or that a person changed,
stays as it is.  homi-setup(1).
"""

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

from homi import foreign, logfile
from homi.errors import CannotCreate
from homi.setup import place, unit
from homi.setup.editor import State
from homi.setup.installation import Row
from homi.setup.manager import Manager

CLIENT = "service"
PART = "unit"


class Service:
    """The file of one service manager."""

    def __init__(self, manager: Manager, command: Sequence[str], root: Path) -> None:
        """command: homi with its options; root: where the log is."""
        self._manager = manager
        self._command = command
        self._log = logfile.place(root)
        self._text = ""  # of the file, once that is wanted
        self.path = manager.path

    def change(self, *, remove: bool, dry: bool, running: bool) -> Row:
        """Do it; dry: only show what would change in the file.  running: a daemon does
        that the service manager did not start, so that none is started."""
        if not remove:
            self._text = self._manager.text(self._command, self._log)
        with place.told(self.path):
            self._unmasked()
            seen = place.seen(self.path, self.path.parent)
            state, note = self._judged(seen, remove=remove)
            new = None if remove else self._text
            if state in (State.LEFT, State.KEPT):
                return self._row(state, note, paste="" if remove else self._text)
            if dry:
                return self._row(state, note, diff=_diff(self.path, seen, new))
            if remove:
                self._remove(seen)
            else:
                self._put(seen, running=running)
        return self._row(state, note)

    def _unmasked(self) -> None:
        """73 where somebody said that nothing is ever started by that name."""
        if self.path.is_symlink() and os.readlink(self.path) == os.devnull:
            raise CannotCreate(
                f"{self.path.name} is masked: it is never started",
                hint=f"systemctl --user unmask {self.path.name}",
            )

    def _put(self, seen: foreign.Seen, *, running: bool) -> None:
        """The file, then what it is for."""
        self._manager.need()
        if seen.data != self._text.encode():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            foreign.replace(seen, self._text.encode(), 0o644)
        self._manager.begin(now=not running)

    def _remove(self, seen: foreign.Seen) -> None:
        """What it started, then the file."""
        if seen.before is not None:
            self._manager.end()
            foreign.remove(seen)
            self._manager.ended()

    def _judged(self, seen: foreign.Seen, *, remove: bool) -> tuple[State, str]:
        """What is to become of the file, and why."""
        if seen.before is None:
            return (State.ABSENT if remove else State.ADDED), ""
        ours = unit.ours(seen.data)
        if ours is None:
            return State.KEPT, "it was changed by hand and is left alone"
        if not ours:
            return State.LEFT, "it is left alone: homi did not write it"
        if remove:
            return State.REMOVED, ""
        same = seen.data == self._text.encode()
        return (State.ALREADY if same else State.UPDATED), ""

    def _row(self, state: State, note: str, *, paste: str = "", diff: str = "") -> Row:
        """What is told of it."""
        return Row(CLIENT, PART, state, os.fspath(self.path), note, paste, diff)


def _diff(path: Path, seen: foreign.Seen, new: str | None) -> str:
    """What would change, in the unified form."""
    old = "" if seen.before is None else seen.data.decode("utf-8", "replace")
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        (new or "").splitlines(keepends=True),
        os.devnull if seen.before is None else str(path),
        os.devnull if new is None else str(path),
    )
    return "".join(lines)

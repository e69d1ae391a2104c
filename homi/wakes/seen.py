"""What of an event was there before: it lets nothing fire.

Owns the files seen-<id>.json.  What is marked was sent before.  homi-mailbox(5).
"""

import contextlib
import os
import re
from collections.abc import Container, Mapping

import msgspec

from homi.store.disk import Disk
from homi.store.lines import Finding
from homi.store.state import StateFile


class Seen(msgspec.Struct, kw_only=True):
    """The whole of such a file."""

    marks: dict[str, str] = {}


_NAME = re.compile(r"seen-([0-9a-f-]{36})\.json(\.prev)?", re.ASCII)


def forget(root: str, disk: Disk, kept: Container[str]) -> None:
    """Remove the files of every wake that is none of kept: a death in between left
    them behind."""
    with contextlib.suppress(OSError):
        for name in disk.listdir(root):
            found = _NAME.fullmatch(name)
            if found is not None and found[1] not in kept:
                disk.unlink(os.path.join(root, name))


class Marks:
    """What one wake has seen."""

    def __init__(self, root: str, wake: str, disk: Disk) -> None:
        """Load it; known is None where nothing was seen before."""
        self.path = os.path.join(root, f"seen-{wake}.json")
        self._disk = disk
        self._file = StateFile(self.path, disk, Seen)
        found, findings = self._file.load()
        self.findings: list[Finding] = findings
        self.known: dict[str, str] | None = None if found is None else found.marks

    def begin(self, marks: Mapping[str, str]) -> None:
        """All of these were there before anybody looked."""
        self._save(dict(marks))

    def add(self, marks: Mapping[str, str]) -> None:
        """These were told, too; 74 leaves it as it was."""
        if any((self.known or {}).get(key) != mark for key, mark in marks.items()):
            self._save({**(self.known or {}), **marks})

    def keep(self, there: Mapping[str, object], hidden: tuple[str, ...] = ()) -> None:
        """Forget what is not there any more; where that is not kept it is found again
        by the next look.  hidden: what is there or below may be."""
        gone = [key for key in self.known or {} if key not in there]
        if hidden:
            below = tuple(f"{path.rstrip('/')}/" for path in hidden)
            gone = [k for k in gone if k not in hidden and not k.startswith(below)]
        if self.known and gone:
            left = set(gone)
            self._save({k: v for k, v in self.known.items() if k not in left})

    def remove(self) -> None:
        """Its wake is gone."""
        for path in (self.path, self.path + ".prev"):
            with contextlib.suppress(OSError):
                self._disk.unlink(path)

    def _save(self, marks: dict[str, str]) -> None:
        self._file.save(Seen(marks=marks))
        self.known = marks

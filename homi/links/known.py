"""The names of other devices, as each of them told last.

Owns known.json: what is listed where a device cannot be asked, and what completes an
address.  A hint, never a way: mail goes by the device alone.  homi-mailbox(5) has the
fields.
"""

import logging
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from homi.address import Device, Name, is_name
from homi.errors import StorageFailed
from homi.links.frames import NameRow, Names
from homi.store.disk import Disk
from homi.store.state import StateFile

log = logging.getLogger("homi.links")

FILE = "known.json"
NAMES_MAX = 4_000  # of one device, told and kept: a line of a third of a megabyte


class Known(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One name of another device."""

    generation: int = 0
    live: bool = False


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one device told."""

    at: str = ""  # RFC 3339, our clock: when it spoke last
    names: dict[str, Known] = {}


class Book(msgspec.Struct, kw_only=True):
    """The whole of known.json."""

    devices: dict[str, Told] = {}


class KnownNames:
    """What each device told, in memory; on disk a moment later."""

    def __init__(self, file: StateFile[Book], later: Callable[[], None]) -> None:
        """Load the file; later asks for save() in a while."""
        self._file = file
        found, self.findings = file.load()
        self._devices = dict(found.devices) if found else {}
        self._later = later

    @staticmethod
    def file(root: Path, disk: Disk) -> StateFile[Book]:
        """Where it is kept."""
        return StateFile(os.fspath(root / FILE), disk, Book)

    def of(self, device: Device) -> Told:
        """What that device told; nothing where it never did."""
        return self._devices.get(device) or Told()

    def names(self, device: Device) -> dict[Name, int]:
        """Its names, each with its generation."""
        told = self.of(device).names
        return {Name(name): one.generation for name, one in told.items()}

    def take(self, device: Device, frame: Names, at: str) -> bool:
        """What a device tells now; whether its names are others than before.

        Of what is no name, or too much, nothing is kept.
        """
        before = self.of(device).names
        after = {} if frame.all else dict(before)
        for gone in frame.gone:
            after.pop(gone, None)
        for row in frame.names:
            if is_name(row.name) and (row.name in after or len(after) < NAMES_MAX):
                after[row.name] = _known(row)
        self._devices[device] = Told(at, after)
        changed = _claims(before) != _claims(after)
        if changed:  # who lives is out of date on disk anyway
            self._later()
        return changed

    def forget(self, device: Device) -> None:
        """The device is not linked any more."""
        if self._devices.pop(device, None) is not None:
            self._later()

    def save(self) -> None:
        """Let the file hold it; a disk that takes nothing costs no more than age."""
        try:
            self._file.save(Book(devices=self._devices))
        except StorageFailed as error:
            log.warning("%s", error.text)


def _known(row: NameRow) -> Known:
    """A row as it is kept."""
    return Known(row.generation, row.live)


def _claims(names: dict[str, Known]) -> dict[str, int]:
    """What of names is not out of date a moment later."""
    return {name: one.generation for name, one in names.items()}

"""Small typed state files, {"v":1,…}: read whole, replaced whole.

Owns how such a file is saved, what becomes of an unreadable one and of fields a
later version wrote.  Knows nothing of names or links.  homi-mailbox(5).
"""

import os
from typing import Any, Generic, TypeVar

import msgspec

from homi.errors import StorageFailed, VersionMismatch
from homi.store.disk import Disk
from homi.store.lines import Finding
from homi.store.quarantine import Quarantine
from homi.store.whole import read_whole, write_whole

VERSION = 1
Value = TypeVar("Value", bound=msgspec.Struct)


class StateFile(Generic[Value]):
    """One file that holds one struct; every save is durable before it returns."""

    def __init__(self, path: str, disk: Disk, kind: type[Value]) -> None:
        """The folder of path is the state root; the file need not exist."""
        self.path = path
        self._disk = disk
        self._kind = kind
        self._bytes: bytes | None = None  # what the file holds
        self._unknown: dict[str, Any] = {}  # fields of a later version, kept

    def load(self) -> tuple[Value | None, list[Finding]]:
        """What the file holds, None if absent or unreadable, then with a finding.

        An unreadable file goes to quarantine/ before anything is written over it.
        VersionMismatch (76) for an unknown v, the file untouched.
        """
        try:
            data = read_whole(self._disk, self.path)
            if data is not None:
                # The process before may have died between the rename and its sync:
                # what is acted upon must not vanish with the power.
                self._disk.sync_dir(os.path.dirname(self.path))
        except OSError as error:
            raise StorageFailed(f"cannot read {self.path}: {error.strerror}") from error
        if data is None:
            return None, self._missing()
        try:
            value, raw = self._decode(data)
        except (ValueError, RecursionError):
            return None, [self._set_aside(data)]
        self._bytes = data
        self._unknown = _unknown(raw, msgspec.to_builtins(value))
        return value, []

    def save(self, value: Value) -> None:
        """Let the file hold value, the previous version beside it as .prev; else 74."""
        known = msgspec.to_builtins(value)
        whole = {"v": VERSION} | _graft(known, self._unknown)
        data = msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n"
        try:
            if self._bytes is not None:
                write_whole(self._disk, self.path + ".prev", self._bytes)
            write_whole(self._disk, self.path, data)
        except OSError as error:
            raise StorageFailed(
                f"cannot write {self.path}: {error.strerror}"
            ) from error
        self._bytes = data

    def _decode(self, data: bytes) -> tuple[Value, dict[str, Any]]:
        """The value and all that stood there; ValueError where it is unreadable."""
        raw = msgspec.json.decode(data, type=dict[str, Any])
        version = raw.get("v")
        if not isinstance(version, int) or isinstance(version, bool):
            raise ValueError("no version")  # noqa: TRY004 - one kind of failure here
        if version != VERSION:
            raise VersionMismatch(
                f"{self.path} is of version {version}, this homi reads {VERSION}",
                hint="run the homi that wrote it, or a newer one",
            )
        return msgspec.convert(raw, self._kind), raw

    def _missing(self) -> list[Finding]:
        """Nothing at a first start; else another hand took the file away, and the
        version before is kept before two saves would write over it."""
        try:
            before = read_whole(self._disk, self.path + ".prev")
            if before is None:
                return []
            keeper = Quarantine(os.path.dirname(self.path), self._disk)
            kept = keeper.keep(os.path.basename(self.path) + ".prev", before)
        except OSError as error:
            raise StorageFailed(f"cannot keep {self.path}.prev: {error}") from error
        return [Finding(self.path, -1, f"missing; the version before is in {kept}")]

    def _set_aside(self, data: bytes) -> Finding:
        """Keep the unreadable bytes, and the version before, then free the name."""
        keeper = Quarantine(os.path.dirname(self.path), self._disk)
        label = os.path.basename(self.path)
        try:
            before = read_whole(self._disk, self.path + ".prev")
            if before is not None:
                keeper.keep(label + ".prev", before)
            kept = keeper.keep(label, data)
            self._disk.unlink(self.path)
            self._disk.sync_dir(os.path.dirname(self.path))
        except OSError as error:
            raise StorageFailed(f"cannot set {self.path} aside: {error}") from error
        return Finding(self.path, -1, f"unreadable; set aside as {kept}")


class _Inside(dict[str, Any]):
    """Unknown fields somewhere inside a known value, as against an unknown value."""


def _unknown(raw: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """What raw holds and known does not, at every depth of objects."""
    kept: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in known:
            kept[key] = value
        elif isinstance(value, dict) and isinstance(known[key], dict):
            kept[key] = _Inside(_unknown(value, known[key]))
    return kept


def _graft(known: dict[str, Any], unknown: dict[str, Any]) -> dict[str, Any]:
    """known with the unknown fields back in the objects that still exist."""
    whole = dict(known)
    for key, value in unknown.items():
        if not isinstance(value, _Inside):
            whole.setdefault(key, value)
        elif isinstance(whole.get(key), dict):
            whole[key] = _graft(whole[key], value)
    return whole

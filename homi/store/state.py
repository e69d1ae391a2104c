"""Small typed state files, {"v":1,…}: read whole, replaced whole.

Owns how such a file is saved, what becomes of an unreadable one and of fields a
later version wrote.  Knows nothing of names or links.  homi-mailbox(5).
"""

import os
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec

from homi.errors import StorageFailed, VersionMismatch
from homi.store import migration
from homi.store.disk import Disk
from homi.store.lines import Finding
from homi.store.quarantine import Quarantine
from homi.store.whole import put_aside, read_whole, remedy, write_whole

Value = TypeVar("Value", bound=msgspec.Struct)


class StateFile(Generic[Value]):
    """One file that holds one struct; every save is durable before it returns."""

    def __init__(
        self,
        path: str,
        disk: Disk,
        kind: type[Value],
        steps: Sequence[migration.Step] | None = None,
    ) -> None:
        """The folder of path is the state root; the file need not exist.  steps: how
        earlier versions are read, None for those of the file's name."""
        self.path = path
        known = migration.STEPS.get(os.path.basename(path), ())
        self._steps = known if steps is None else steps
        self._version = 1 + len(self._steps)
        self._disk = disk
        self._kind = kind
        self._bytes: bytes | None = None  # what the file holds
        self._unknown: dict[str, Any] = {}  # fields of a later version, kept

    def load(self) -> tuple[Value | None, list[Finding]]:
        """What the file holds, None if absent or unreadable, then with a finding.

        An unreadable file goes to quarantine/ before anything is written over it,
        and what is no file is moved aside.
        One of an earlier version is kept beside itself, then replaced by today's.
        VersionMismatch (76) for an unknown v, the file untouched.
        """
        data, moved = self._read()
        if data is None:
            return None, moved or self._missing()
        try:
            value, raw = self._decode(data)
        except (ValueError, RecursionError):
            return None, [self._set_aside(data)]
        self._bytes = data
        self._unknown = _unknown(raw, msgspec.to_builtins(value))
        if (before := _version(data)) != self._version:
            self._replace(value, data, before)
        return value, []

    def save(self, value: Value) -> None:
        """Let the file hold value, the previous version beside it as .prev; else 74."""
        data = self._encoded(value)
        try:
            if self._bytes is not None:
                write_whole(self._disk, self.path + ".prev", self._bytes)
            write_whole(self._disk, self.path, data)
        except OSError as error:
            raise StorageFailed(
                f"cannot write {self.path}: {error.strerror}"
            ) from error
        self._bytes = data

    def _read(self) -> tuple[bytes | None, list[Finding]]:
        """What stands there, None for nothing; moved: it was no file."""
        try:
            if put := put_aside(self._disk, self.path):
                return None, [
                    Finding(self.path, -1, f"no file; moved aside as {put}"),
                    *self._missing(),
                ]
            data = read_whole(self._disk, self.path)
            if data is not None:
                # The process before may have died between the rename and its sync:
                # what is acted upon must not vanish with the power.
                self._disk.sync_dir(os.path.dirname(self.path))
        except OSError as error:
            raise StorageFailed(
                f"cannot read {self.path}: {error.strerror}",
                hint=remedy(self.path, error),
            ) from error
        return data, []

    def _encoded(self, value: Value) -> bytes:
        """What the file is to hold."""
        known = msgspec.to_builtins(value)
        whole = {"v": self._version} | _graft(known, self._unknown)
        return msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n"

    def _replace(self, value: Value, before: bytes, version: int) -> None:
        """Let the file be of today's version, what it was kept beside it."""
        data = self._encoded(value)
        try:
            migration.keep(self._disk, self.path, version, before)
            write_whole(self._disk, self.path, data)
        except OSError as error:
            raise StorageFailed(
                f"cannot bring {self.path} from version {version} to {self._version}:"
                f" {error.strerror}"
            ) from error
        self._bytes = data

    def _decode(self, data: bytes) -> tuple[Value, dict[str, Any]]:
        """The value and all that stood there; ValueError where it is unreadable."""
        version = _version(data)
        _refuse(self.path, version, self._version)
        raw = msgspec.json.decode(data, type=dict[str, Any])
        raw = migration.migrated(raw, version, self._steps)
        return msgspec.convert(raw, self._kind), raw

    def _before(self) -> bytes | None:
        """The version before, where there is one."""
        put_aside(self._disk, self.path + ".prev")
        return read_whole(self._disk, self.path + ".prev")

    def _missing(self) -> list[Finding]:
        """Nothing at a first start; else another hand took the file away, and the
        version before is kept before two saves would write over it."""
        try:
            before = self._before()
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
            before = self._before()
            if before is not None:
                keeper.keep(label + ".prev", before)
            kept = keeper.keep(label, data)
            self._disk.unlink(self.path)
            self._disk.sync_dir(os.path.dirname(self.path))
        except OSError as error:
            raise StorageFailed(f"cannot set {self.path} aside: {error}") from error
        return Finding(self.path, -1, f"unreadable; set aside as {kept}")


def refuse_newer(root: str, disk: Disk) -> None:
    """VersionMismatch (76) where a state file in root is of a version that this homi
    does not read; nothing is changed."""
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else ():
        if not name.endswith(".json"):
            continue
        path = os.path.join(root, name)
        try:
            data = read_whole(disk, path)
            version = 0 if data is None else _version(data)
        except (OSError, ValueError, RecursionError):
            continue  # set aside when it is read, and no reason not to start
        if version:
            _refuse(path, version, 1 + len(migration.STEPS.get(name, ())))


def head(path: str, data: bytes) -> None:
    """Nothing, where a state file with these bytes is of a version that is read here;
    VersionMismatch (76) where it is newer, ValueError where it is no JSON at all."""
    newest = 1 + len(migration.STEPS.get(os.path.basename(path), ()))
    _refuse(path, _version(data), newest)
    msgspec.json.decode(data, type=dict[str, msgspec.Raw])


class _Head(msgspec.Struct):
    """What every version of every state file has."""

    v: int


def _version(data: bytes) -> int:
    """The version that a state file says it is of; ValueError where it says none."""
    return msgspec.json.decode(data, type=_Head).v


def _refuse(path: str, version: int, newest: int) -> None:
    """VersionMismatch (76) for a version outside of 1 to newest."""
    if not 0 < version <= newest:
        raise VersionMismatch(
            f"{path} is of version {version}, this homi reads {newest}",
            hint="run the homi that wrote it, or a newer one",
        )


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

"""The agent clients' own registry: one record and one key a session.

Owns the form of the files under <config>/sessions and how ours are put there and
taken away.  Knows nothing of which session lives.  homi-legs(7) has the format.
"""

import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

import msgspec

from homi.errors import CannotCreate
from homi.peers.sockets import private_folder

VERSION = "2.1.332"  # the client whose records ours look like
RECORD_MAX = 256 << 10  # bytes: the clients read no more of a record
KEY_MAX = 4096  # bytes, as in the clients

_RECORD_NAME = re.compile(r"(0|[1-9][0-9]{0,17})\.json", re.ASCII)
_KEY_NAME = re.compile(r"([0-9]{1,18})\.([0-9a-f]{64})\.key", re.ASCII)
_TOKEN = re.compile(r"[0-9a-f]{32}", re.ASCII)
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What a session's record says; a field of a wrong type reads as empty."""

    session_id: str = ""
    name: str = ""
    cwd: str = ""
    socket: str = ""
    status: str = ""
    waiting_for: str = ""
    version: str = ""
    entrypoint: str = ""
    kind: str = ""
    proc_start: str | None = None
    pid_domain: str | None = None
    started_at: int = 0  # ms since the epoch
    name_since: int = 0  # ms since the epoch
    status_at: int = 0  # ms since the epoch: since when it is that
    hidden: bool = False  # spare or parked: the clients do not list it


class Torn(msgspec.Struct, frozen=True):
    """A record caught while it is rewritten in place: read it again."""


class _Wire(msgspec.Struct, rename="camel"):
    """The keys of a record that mean something here; types are checked after."""

    session_id: object = None
    name: object = None
    cwd: object = None
    messaging_socket_path: object = None
    status: object = None
    waiting_for: object = None
    version: object = None
    entrypoint: object = None
    kind: object = None
    proc_start: object = None
    pid_domain: object = None
    started_at: object = None
    name_since: object = None
    status_updated_at: object = None
    spare: object = None
    parked_job_id: object = None


_decode = msgspec.json.Decoder(_Wire).decode


def record_number(file_name: str) -> int | None:
    """The number a record's file name stands for; it is the pid.  None: no record."""
    found = _RECORD_NAME.fullmatch(file_name)
    return None if found is None else int(found[1])


def parse_record(data: bytes) -> Record | None:
    """The record in data, None when it is torn or no JSON object.  Never raises."""
    try:
        wire = _decode(data)
    except (ValueError, RecursionError):
        return None
    return Record(
        session_id=_text(wire.session_id),
        name=_text(wire.name),
        cwd=_path(wire.cwd),
        socket=_path(wire.messaging_socket_path),
        status=_text(wire.status),
        waiting_for=_text(wire.waiting_for),
        version=_text(wire.version),
        entrypoint=_text(wire.entrypoint),
        kind=_text(wire.kind),
        proc_start=_start(wire.proc_start),
        pid_domain=wire.pid_domain if isinstance(wire.pid_domain, str) else None,
        started_at=_whole(wire.started_at),
        name_since=_whole(wire.name_since),
        status_at=_whole(wire.status_updated_at),
        hidden=wire.spare is True or bool(_text(wire.parked_job_id)),
    )


def read_record(folder: str, number: int) -> Record | Torn | None:
    """The record of that number: Torn while it is written, None when there is none."""
    try:
        data = _read(f"{folder}/{number}.json", RECORD_MAX)
    except FileNotFoundError:
        return None
    except OSError:
        # A link, a folder, or not for us to read: nothing a session would write.
        return None
    if data is None:
        return None
    return parse_record(data) or Torn()


def read_records(folder: str, highest: int | None = None) -> dict[int, Record | Torn]:
    """Every record in folder by number, up to highest; empty without the folder."""
    found: dict[int, Record | Torn] = {}
    for number in numbers(folder):
        if highest is not None and number > highest:
            continue
        record = read_record(folder, number)
        if record is not None:
            found[number] = record
    return found


def numbers(folder: str) -> list[int]:
    """The numbers of all records in folder, by name alone."""
    return [n for name in _names(folder) if (n := record_number(name)) is not None]


def key_hash(socket_path: str) -> str:
    """How a key file names its socket: by the path text, normalised, not resolved."""
    return hashlib.sha256(os.fsencode(os.path.normpath(socket_path))).hexdigest()


def peer_token(sessions_dir: str, socket_path: str) -> str | None:
    """The token of the key published for that socket, None when there is no usable
    one.  Any number in front of the hash counts."""
    wanted = key_hash(socket_path)
    own = f"{Path(socket_path).stem}.{wanted}.key"
    if token := _token(f"{sessions_dir}/{own}"):
        return token
    for name in _names(sessions_dir):
        found = _KEY_NAME.fullmatch(name)
        if found is None or found[2] != wanted:
            continue
        if token := _token(f"{sessions_dir}/{name}"):
            return token
    return None


class Planter:
    """Puts records of ours into one registry folder, and takes away those alone."""

    def __init__(self, sessions_dir: str | Path, domain: str) -> None:
        """domain is the pidDomain of this state root; no session computes it."""
        self.folder = os.fspath(sessions_dir)
        self.domain = domain
        self._hidden = f".{domain.replace(':', '-')}-"

    def plant(
        self,
        number: int,
        name: str,
        socket_path: str,
        cwd: str,
        session_id: str,
        started_at: float,
    ) -> None:
        """Publish key, then record, each whole or not at all; the socket listens
        already.  started_at is wall seconds.  BadConfig (78) when the folder is not
        ours alone, CannotCreate (73) when it cannot be written."""
        private_folder(self.folder)
        key = {"peerToken": secrets.token_hex(16), "pidDomain": self.domain}
        self._publish(f"{number}.{key_hash(socket_path)}.key", key)
        started = int(started_at * 1000)
        record = {
            "pid": number,
            "sessionId": session_id,
            "cwd": cwd,
            "startedAt": started,
            "version": VERSION,
            "peerProtocol": 1,
            "peerFeatures": [],
            "kind": "interactive",
            "entrypoint": "cli",
            "pidDomain": self.domain,
            "messagingSocketPath": socket_path,
            "name": name,
            "nameSource": "user",
            "status": "idle",
            "updatedAt": int(time.time() * 1000),
        }
        self._publish(f"{number}.json", record)

    def withdraw(self, number: int, socket_path: str = "") -> None:
        """Take the record away first, then its keys; what is gone is fine."""
        record = f"{self.folder}/{number}.json"
        if self.present(number):
            _unlink(record)
        if socket_path:
            _unlink(f"{self.folder}/{number}.{key_hash(socket_path)}.key")

    def present(self, number: int) -> bool:
        """Whether our record of that number stands there, whole."""
        return self._ours(number) is not None

    def sweep_own(self, keep: Set[int]) -> dict[int, str]:
        """Take away what an earlier run of this state root left, except keep:
        records, keys, half-made files.  Returns number → socket path of the records."""
        swept: dict[int, str] = {}
        for number in numbers(self.folder):
            record = None if number in keep else self._ours(number)
            if record is not None:
                _unlink(f"{self.folder}/{number}.json")
                swept[number] = record.socket
        for name in _names(self.folder):
            if name.startswith(self._hidden) or self._stale_key(name, keep):
                _unlink(f"{self.folder}/{name}")
        return swept

    def _ours(self, number: int) -> Record | None:
        """The record of that number if it carries exactly our domain."""
        record = read_record(self.folder, number)
        if isinstance(record, Record) and record.pid_domain == self.domain:
            return record
        return None

    def _stale_key(self, file_name: str, keep: Set[int]) -> bool:
        """Whether it is a key of exactly our domain whose number is not kept."""
        found = _KEY_NAME.fullmatch(file_name)
        if found is None or int(found[1]) in keep:
            return False
        return _key_file(f"{self.folder}/{file_name}").get("pidDomain") == self.domain

    def _publish(self, file_name: str, content: Mapping[str, object]) -> None:
        """Write a hidden file and rename it: no reader meets a half-made one, and no
        client lists or deletes one that is not called <digits>.json."""
        hidden = f"{self.folder}/{self._hidden}{file_name}.tmp"
        data = msgspec.json.encode(content)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            _unlink(hidden)
            fd = os.open(hidden, flags, 0o600)
            try:
                os.fchmod(fd, 0o600)
                os.write(fd, data)
            finally:
                os.close(fd)
            os.rename(hidden, f"{self.folder}/{file_name}")
        except OSError as error:
            raise CannotCreate(
                f"cannot write {self.folder}/{file_name}: {error.strerror}"
            ) from error


def _names(folder: str) -> Iterator[str]:
    """The names in folder; none when it is not there."""
    try:
        return iter(os.listdir(folder))
    except OSError:
        return iter(())


def _read(path: str, limit: int) -> bytes | None:
    """The bytes of a regular file of at most limit; never follows a link, never
    waits on a pipe."""
    fd = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = os.read(fd, limit + 1)
        return data if len(data) <= limit else None
    finally:
        os.close(fd)


def _key_file(path: str) -> dict[str, object]:
    """What a key file holds; empty when it is unusable."""
    try:
        data = _read(path, KEY_MAX)
        found = msgspec.json.decode(data or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _token(path: str) -> str | None:
    """The token in a key file."""
    token = _key_file(path).get("peerToken")
    usable = isinstance(token, str) and _TOKEN.fullmatch(token) is not None
    return str(token) if usable else None


def _unlink(path: str) -> None:
    """Remove a file; one that is gone is fine."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def _text(value: object) -> str:
    """The value if it is a string, else empty."""
    return value if isinstance(value, str) else ""


def _path(value: object) -> str:
    """The value if it is an absolute path: a NUL in it would raise where it is used."""
    text = _text(value)
    return text if text.startswith("/") and "\0" not in text else ""


def _whole(value: object) -> int:
    """The value if it is a whole number, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _start(value: object) -> str | None:
    """A start time, also where a writer made it a number."""
    if isinstance(value, str):
        return value or None
    return str(_whole(value)) if _whole(value) else None

"""Submissions made while the daemon was down: one file each, in pickup/.

Owns how such a file is written, so that it is whole or not there, and how the
daemon finds it.  Judges nothing of what it says.  homi-mailbox(5).
"""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from homi import ids
from homi.config import LINE_MAX_ALONE
from homi.envelope import VERSION, MessageId
from homi.errors import BadMessage, CannotCreate, StorageFailed
from homi.paths import check_private, make_private
from homi.store.lines import Unreadable

FOLDER = "pickup"
UNFINISHED = "not finished"
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS})
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Spooled(msgspec.Struct, frozen=True, kw_only=True):
    """One submission as the client left it; intake believes none of it."""

    v: int = VERSION
    at: str  # RFC 3339 UTC, by the client's clock
    caller: str  # session | person | service, as the client measured it
    uid: int
    pid: int
    session: str | None = None  # the agent client's session id
    msg: msgspec.Raw


class _Id(msgspec.Struct, frozen=True):
    """What of msg the file's name is made of."""

    id: MessageId


_decode = msgspec.json.Decoder(Spooled).decode
_decode_id = msgspec.json.Decoder(_Id).decode


def write(root: Path, spooled: Spooled) -> Path:
    """Put the submission into pickup/, durably; its path.

    The same message again is the same file; another under its id is refused (65).
    """
    name = _name_of(spooled)
    make_private(root)
    folder = make_private(root / FOLDER)
    try:
        with _open_folder(folder) as place:
            hidden = f".{name}.{secrets.token_hex(8)}"
            try:
                _write_hidden(place, hidden, msgspec.json.encode(spooled) + b"\n")
                _publish(place, hidden, name, spooled)
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(hidden, dir_fd=place.fd)
            os.fsync(place.fd)
        with _open_folder(root) as above:
            os.fsync(above.fd)
    except OSError as error:
        raise StorageFailed(f"cannot write to {folder}: {error.strerror}") from error
    return folder / name


def scan(root: Path) -> list[tuple[Path, Spooled | Unreadable]]:
    """What lies in pickup/, oldest first; hidden and foreign names are no mail.

    A file that cannot be read is reported each time, and left for the next.
    """
    folder = root / FOLDER
    if not folder.exists():
        return []
    check_private(folder)
    found = []
    with _open_folder(folder) as place:
        for name in os.listdir(place.fd):
            if name.endswith(".json") and not name.startswith("."):
                with suppress(FileNotFoundError):  # another scan was done with it
                    found.append((_age(place, name), name, _read(place, name)))
    found.sort(key=lambda entry: entry[:2])
    return [(folder / name, what) for _, name, what in found]


def done(path: Path) -> None:
    """Take the file away; one that is gone already is fine."""
    path.unlink(missing_ok=True)


class _Folder:
    """An open directory, so that its files are named without following links."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, _DIRECTORY)

    def __enter__(self) -> "_Folder":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def _open_folder(path: Path) -> _Folder:
    """path as an open directory; CannotCreate (73) where it is none of ours."""
    try:
        return _Folder(path)
    except OSError as error:
        raise CannotCreate(f"cannot open {path}: {error.strerror}") from error


def _name_of(spooled: Spooled) -> str:
    """<id>.json; BadMessage (65) where msg has no id a file may be named by."""
    try:
        message = _decode_id(spooled.msg).id
    except (ValueError, RecursionError) as error:
        raise BadMessage("msg has no id") from error
    if not ids.is_id(message):
        raise BadMessage("the id of msg is not a UUID")
    return f"{message}.json"


def _write_hidden(place: _Folder, name: str, data: bytes) -> None:
    """A new private file that holds data, synced."""
    fd = os.open(name, _CREATE, 0o600, dir_fd=place.fd)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    finally:
        os.close(fd)


def _publish(place: _Folder, hidden: str, name: str, spooled: Spooled) -> None:
    """Give the file its name unless one stands there; never replace a whole one."""
    try:
        # A link, not a rename: a rename would replace mail that is promised.
        os.link(hidden, name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
        return
    except FileExistsError:
        there = _read(place, name)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        there = None  # this file system has no hard links
    if there is None or (isinstance(there, Unreadable) and there.text == UNFINISHED):
        os.rename(hidden, name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
    elif isinstance(there, Unreadable) or bytes(there.msg) != bytes(spooled.msg):
        raise BadMessage(
            f"another message waits in pickup under the id {name[:-5]}",
            hint="send it with another id or --key",
        )


def _age(place: _Folder, name: str) -> int:
    """When the file was written, in ns, by the file system's clock."""
    return os.stat(name, dir_fd=place.fd, follow_symlinks=False).st_mtime_ns


def _read(place: _Folder, name: str) -> Spooled | Unreadable:
    """The submission in a file, or why there is none."""
    try:
        fd = os.open(name, _READ, dir_fd=place.fd)
    except FileNotFoundError:
        raise
    except OSError as error:
        return Unreadable(0, 0, error.strerror or "cannot be opened")
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            return Unreadable(0, found.st_size, "no file of ours")
        if found.st_size > LINE_MAX_ALONE:
            return Unreadable(0, found.st_size, f"over {LINE_MAX_ALONE} bytes")
        with open(fd, "rb", closefd=False) as file:
            return _parse(file.read())
    except OSError as error:
        return Unreadable(0, 0, error.strerror or "cannot be read")
    finally:
        os.close(fd)


def _parse(data: bytes) -> Spooled | Unreadable:
    """The one line of a pickup file."""
    if not data.endswith(b"\n"):
        return Unreadable(0, len(data), UNFINISHED)
    try:
        data.decode()
        spooled = _decode(data)
    except (ValueError, RecursionError):
        return Unreadable(0, len(data), "no submission")
    if spooled.v != VERSION:
        text = f"version {spooled.v}; this homi reads version {VERSION}"
        return Unreadable(0, len(data), text)
    return spooled

"""The user's authorized_keys: read, changed and put back whole.

Owns how the file is replaced, and when it is not touched: where others could have
prepared it.  What its lines say is pairing.authorized's.  homi-pair(1).
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from homi.errors import BadConfig, NotReached, StorageFailed
from homi.pairing.authorized import Change
from homi.store.disk import RealDisk

SIZE_MAX = 4 << 20  # bytes; sshd reads all of it at each login
MODE = 0o600  # of a file that was not there


def place() -> Path:
    """Where sshd looks for this user's keys unless it was told otherwise."""
    return Path.home() / ".ssh" / "authorized_keys"


def rewrite(file: Path, change: Callable[[bytes], Change]) -> Change:
    """Let file hold what change makes of it: the old or the new, never a part.

    A link is followed to the file it names, which keeps its mode and owner.
    BadConfig (78) where others may write there, StorageFailed (74), NotReached (75)
    where somebody else changed it meanwhile.
    """
    try:
        target = _target(file)
        with _alone(target.parent):
            return _rewrite(target, change)
    except OSError as error:
        raise StorageFailed(f"cannot write {file}: {error.strerror}") from error


def _target(file: Path) -> Path:
    """The real place of file, in a folder that only its owner writes."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = Path(os.path.realpath(file))
    _check(target.parent, os.stat(target.parent), stat.S_ISDIR, "folder")
    return target


def _rewrite(target: Path, change: Callable[[bytes], Change]) -> Change:
    """The change, while nobody else of ours is at it."""
    before, data = _read(target)
    made = change(data)
    if not made.changed:
        return made
    hidden = target.with_name(f".{target.name}.homi")
    with contextlib.suppress(FileNotFoundError):
        hidden.unlink()  # of a homi that died here
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(hidden, flags, MODE)
    try:
        with open(fd, "wb") as out:
            _keep(fd, before)
            out.write(made.data)
            out.flush()
            os.fsync(fd)
        if _print(before) != _print(_found(target)):
            raise NotReached(f"{target} was changed meanwhile", hint="try it again")
        os.replace(hidden, target)
    except BaseException:
        with contextlib.suppress(OSError):
            hidden.unlink()
        raise
    RealDisk().sync_dir(os.fspath(target.parent))
    return made


def _read(target: Path) -> tuple[os.stat_result | None, bytes]:
    """What is there; (None, empty) where nothing is."""
    found = _found(target)
    if found is None:
        return None, b""
    _check(target, found, stat.S_ISREG, "file")
    if found.st_size > SIZE_MAX:
        raise BadConfig(f"{target} has {found.st_size} bytes, over {SIZE_MAX}")
    fd = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        return os.fstat(fd), file.read()


def _found(target: Path) -> os.stat_result | None:
    """What lstat says; None where nothing is."""
    try:
        return os.lstat(target)
    except FileNotFoundError:
        return None


def _check(
    path: Path,
    found: os.stat_result,
    kind: Callable[[int], bool],
    word: str,
) -> None:
    """BadConfig (78) where path is no such thing, or others may change it."""
    if not kind(found.st_mode):
        raise BadConfig(f"{path} is no {word}")
    if found.st_uid not in (os.geteuid(), 0):
        raise BadConfig(
            f"{path} belongs to uid {found.st_uid}, not to {os.geteuid()}",
            hint="run this as the user who logs in",
        )
    if found.st_mode & 0o022:
        raise BadConfig(
            f"{path} has mode {stat.S_IMODE(found.st_mode):04o}, others can write it",
            hint=f"chmod go-w {path}",
        )


def _keep(fd: int, before: os.stat_result | None) -> None:
    """Give fd the mode and the owner of the file it comes in place of."""
    if before is None:
        return
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        os.fchown(fd, before.st_uid, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode))


def _print(found: os.stat_result | None) -> tuple[int, ...]:
    """What tells whether a file is still the one that was read."""
    if found is None:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One homi at a time in folder."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)

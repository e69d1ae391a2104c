"""The user's authorized_keys: read, changed and put back whole.

Owns when the file is not touched: where others could have prepared it.  How it is
replaced is foreign's, what its lines say pairing.authorized's.  homi-pair(1).
"""

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from homi import foreign
from homi.errors import BadConfig, StorageFailed
from homi.pairing.authorized import Change

SIZE_MAX = 4 << 20  # bytes; sshd reads all of it at each login


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
    _check(target.parent, os.stat(target.parent))
    return target


def _rewrite(target: Path, change: Callable[[bytes], Change]) -> Change:
    """The change, while nobody else of ours is at it."""
    seen = foreign.look(target, SIZE_MAX)
    if seen.before is not None:
        _check(target, seen.before)
    made = change(seen.data)
    if made.changed:
        foreign.replace(seen, made.data)
    return made


def _check(path: Path, found: os.stat_result) -> None:
    """BadConfig (78) where others may change path."""
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


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One homi at a time in folder."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)

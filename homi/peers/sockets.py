"""Where peer sockets live: the folder the sessions use, private and short enough.

Owns the rules for a socket's path and for a folder others must not reach; binds
nothing.  homi-legs(7) says why another folder loses receipts.
"""

import collections
import os
import re
import stat
from collections.abc import Iterable, Mapping

from homi.errors import BadConfig, CannotCreate

# The clients go to the fallback folder over this, whatever the system allows.
PATH_MAX = 103  # bytes
NUMBER_WIDTH = 12  # digits of the longest number of ours

# No pid has as many digits as a number of ours.
_OURS = re.compile(rf".*/[0-9]{{{NUMBER_WIDTH}}}\.sock", re.ASCII | re.DOTALL)
_SESSION_SOCKET = re.compile(r"[0-9]+\.sock", re.ASCII)


def fallback_folder() -> str:
    """The folder the clients use when a path would be too long, or another user
    has the usual one, as in a /tmp of many."""
    return f"/tmp/cc-socks-{os.getuid()}"


def socket_folder(
    live: Iterable[str] = (), environ: Mapping[str, str] | None = None
) -> str:
    """The folder for sockets of ours: where most live sessions have theirs, else
    where a session of this environment would put it, else the fallback."""
    seen: collections.Counter[str] = collections.Counter()
    for path in live:
        folder, base = os.path.split(path)
        if _SESSION_SOCKET.fullmatch(base) and _conventional(folder):
            seen[folder] += 1
    for folder, _count in seen.most_common():
        if fits(folder):
            return folder
    chosen = _from_environment(os.environ if environ is None else environ)
    usable = fits(chosen) and not _of_another(chosen)
    return chosen if usable else fallback_folder()


def socket_path(folder: str, number: int) -> str:
    """<folder>/<number>.sock; CannotCreate (73) with the figures when too long."""
    path = f"{folder}/{number}.sock"
    length = len(os.fsencode(path))
    if length > PATH_MAX:
        raise CannotCreate(
            f"socket path {path} has {length} bytes, the limit is {PATH_MAX}",
            hint="set XDG_RUNTIME_DIR to a shorter folder",
        )
    return path


def stands_for_a_name(path: str) -> bool:
    """Whether a postmaster, this or another, listens there and not a session."""
    return _OURS.fullmatch(path) is not None


def fits(folder: str) -> bool:
    """Whether every number of ours makes a path of at most PATH_MAX bytes there."""
    longest = f"{folder}/{'9' * NUMBER_WIDTH}.sock"
    return len(os.fsencode(longest)) <= PATH_MAX


def make_socket_folder(folder: str) -> str:
    """Make folder (0700) and its parents if missing, then private_folder it."""
    try:
        _make_parents(os.path.dirname(folder))
    except OSError as error:
        raise CannotCreate(f"cannot make {folder}: {error.strerror}") from error
    return private_folder(folder)


def private_folder(folder: str) -> str:
    """folder, made 0700 if missing; BadConfig (78) unless it is a real folder of
    ours that nobody else can reach."""
    try:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        else:
            os.chmod(folder, 0o700)  # whatever the umask took away
        found = os.lstat(folder)
    except FileNotFoundError as error:
        raise CannotCreate(f"cannot make {folder}: no such parent") from error
    except OSError as error:
        raise CannotCreate(f"cannot make {folder}: {error.strerror}") from error
    if stat.S_ISLNK(found.st_mode):
        raise BadConfig(f"{folder} is a symbolic link", hint="use a real folder")
    if not stat.S_ISDIR(found.st_mode):
        raise BadConfig(f"{folder} is not a directory")
    if found.st_uid != os.getuid():
        raise BadConfig(
            f"{folder} belongs to uid {found.st_uid}, not to you",
            hint="set XDG_RUNTIME_DIR to a folder of yours",
        )
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise BadConfig(
            f"{folder} has mode {mode:04o}, others can reach it",
            hint=f"chmod 700 {folder}",
        )
    return folder


def _make_parents(folder: str) -> None:
    """Make what is missing of folder, each level 0700: makedirs asks the umask."""
    if os.path.isdir(folder):
        return
    _make_parents(os.path.dirname(folder))
    os.mkdir(folder, 0o700)


def _conventional(folder: str) -> bool:
    """Whether a folder is called as the clients call theirs."""
    return os.path.basename(folder) in ("cc-socks", os.path.basename(fallback_folder()))


def _of_another(folder: str) -> bool:
    """Whether it is there and another user's."""
    try:
        return os.lstat(folder).st_uid != os.getuid()
    except OSError:
        return False


def _from_environment(environ: Mapping[str, str]) -> str:
    """Where a session started in that environment would put its socket."""
    for variable in ("XDG_RUNTIME_DIR", "CLAUDE_CODE_TMPDIR", "TMPDIR"):
        if base := environ.get(variable):
            return os.path.join(os.path.normpath(base), "cc-socks")
    return "/tmp/cc-socks"

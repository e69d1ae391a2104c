"""Where homi keeps things, and the proof that the places are private.

Owns the layout of the state root and the checks that it is ours alone;
homi-mailbox(5) lists the files.
"""

import hashlib
import os
import stat
import sys
from pathlib import Path

from homi.errors import BadConfig, CannotCreate
from homi.root import state_root as _root
from homi.shell import quoted

# sun_path holds 108 bytes with the NUL on Linux, 104 on macOS (unix(7), unix(4)).
SUN_PATH_MAX = 107 if sys.platform.startswith("linux") else 103


def state_root(home: str | None = None) -> Path:
    """The state root as a path; homi.root has the rule."""
    return Path(_root(home or ""))


def config_file() -> Path:
    """The place of homi.toml; it need not exist."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(base) / "homi" / "homi.toml"


def runtime_dir() -> Path:
    """A private folder for sockets: $XDG_RUNTIME_DIR, else /tmp/homi-<uid>."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    return Path(base) / "homi" if base else Path(f"/tmp/homi-{os.getuid()}")


def control_socket(root: Path) -> Path:
    """homi.sock in the root, or under a hash where the path is too long to bind;
    CannotCreate (73) with the figures where that is too long as well."""
    return _socket(root, "homi.sock", "")


def seat_socket(root: Path) -> Path:
    """The same for the tmux server of the seats: seats.sock."""
    return _socket(root, "seats.sock", "-seats")


def _socket(root: Path, name: str, suffix: str) -> Path:
    """A socket of that name in the root, or in the runtime folder."""
    inside = root / name
    if len(os.fsencode(inside)) <= SUN_PATH_MAX:
        return inside
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    hashed = runtime_dir() / f"{digest}{suffix}.sock"
    length = len(os.fsencode(hashed))
    if length > SUN_PATH_MAX:
        raise CannotCreate(
            f"socket path {hashed} has {length} bytes, the limit is {SUN_PATH_MAX}",
            hint="set XDG_RUNTIME_DIR to a shorter folder",
        )
    return hashed


def make_private(folder: Path) -> Path:
    """Make folder (0700) if it is missing, then check_private it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        there = isinstance(error, FileExistsError)
        name = quoted(folder)
        raise CannotCreate(
            f"cannot make {folder}: {error.strerror}",
            hint=f"mv {name} {name}.aside" if there else "",
        ) from error
    return check_private(folder)


def check_private(folder: Path) -> Path:
    """The folder, if it is a real directory of ours with mode 0700; else 78."""
    try:
        found = folder.lstat()
    except OSError as error:
        raise BadConfig(f"cannot use {folder}: {error.strerror}") from error
    if stat.S_ISLNK(found.st_mode):
        raise BadConfig(
            f"{folder} is a symbolic link",
            hint="name the real folder in HOMI_HOME",
        )
    if not stat.S_ISDIR(found.st_mode):
        raise BadConfig(f"{folder} is not a directory")
    if found.st_uid != os.getuid():
        raise BadConfig(
            f"{folder} belongs to uid {found.st_uid}, not to {os.getuid()}",
            hint="name a folder of your own in HOMI_HOME",
        )
    if found.st_mode & 0o077:
        raise BadConfig(
            f"{folder} has mode {stat.S_IMODE(found.st_mode):04o}, others can reach it",
            hint=f"chmod 700 {quoted(folder)}",
        )
    return folder

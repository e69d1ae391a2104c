"""Checks of the state root and of the disk that it is on.

Owns what makes a place unfit for mail.  homi-doctor(1) lists the checks.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from homi import paths
from homi.doctor.check import Check, Verdict, fail, remedied, warn, well
from homi.doctor.facts import Facts
from homi.errors import BadConfig
from homi.shell import quoted

MIB = 1 << 20
# What a lock or a memory map of another machine does not keep out.
NETWORK = ("nfs", "cifs", "smb", "afs", "9p", "fuse", "ceph", "gfs", "lustre", "v9fs")
NEAR = 4  # times the reserve that is free: it is time to know


def _settings(facts: Facts) -> Iterator[Verdict]:
    """homi.toml says what can be understood."""
    try:
        _ = facts.config
    except BadConfig as error:
        mend = f"mend {paths.config_file()}"
        hint = f"{mend}: {error.hint}" if error.hint else mend
        yield fail(error.text, hand=hint)


def _private(facts: Facts) -> Iterator[Verdict]:
    """The root is a folder of ours alone."""
    if not os.path.lexists(facts.root):
        yield warn(f"there is no {facts.root} yet", "homi start")
        return
    try:
        paths.check_private(facts.root)
    except BadConfig as error:
        yield remedied(fail(error.text), error.hint or f"look at {facts.root}")
        return
    yield well(f"{facts.root} is ours alone")


def _close(facts: Facts) -> str:
    """Take the root from others."""
    os.chmod(facts.root, 0o700)
    return f"chmod 700 {quoted(facts.root)}"


def _open_files(root: Path) -> list[Path]:
    """Whatever stands in the root that more than its owner can reach."""
    if not root.is_dir():
        return []
    found = [(entry, entry.lstat()) for entry in sorted(root.iterdir())]
    return [
        entry
        for entry, seen in found
        if seen.st_mode & 0o077 and not stat.S_ISLNK(seen.st_mode)
    ]


def _files(facts: Facts) -> Iterator[Verdict]:
    """The files of the root are ours alone, too."""
    for entry in _open_files(facts.root):
        mode = stat.S_IMODE(entry.lstat().st_mode)
        fix = f"chmod go= {quoted(entry)}"
        yield warn(f"{entry} has mode {mode:04o}, others can reach it", fix)


def _close_files(facts: Facts) -> str:
    """Take each from others."""
    found = _open_files(facts.root)
    for entry in found:
        os.chmod(entry, stat.S_IMODE(entry.lstat().st_mode) & 0o700)
    return f"chmod go= {' '.join(quoted(entry) for entry in found)}"


def _socket(facts: Facts) -> Iterator[Verdict]:
    """The sockets' paths are short enough."""
    path = paths.control_socket(facts.root)  # 73 where none would do
    paths.seat_socket(facts.root)
    length = len(os.fsencode(path))
    yield well(f"{path} has {length} of {paths.SUN_PATH_MAX} bytes")


def _kind(facts: Facts) -> Iterator[Verdict]:
    """The disk is one of this machine."""
    if not facts.there:
        return
    kind = facts.machine.file_system(facts.root)
    if kind.lower().startswith(NETWORK):
        yield warn(
            f"{facts.root} is on {kind}: a lock and a sync there may not hold",
            hand="homi stop, move the folder to a local disk, and name it in HOMI_HOME",
        )
    elif kind:
        yield well(f"it is on {kind}")


def _space(facts: Facts) -> Iterator[Verdict]:
    """There is room above the reserve."""
    if not facts.there:
        return
    free, reserve = facts.machine.free(facts.root) // MIB, facts.config.reserve
    text = f"{free} MiB are free, new mail is refused below {reserve}"
    fix = f"free {max(NEAR * reserve - free, 1)} MiB there; homi prune removes old mail"
    if free < reserve:
        yield fail(text, hand=fix)
    elif free < NEAR * reserve:
        yield warn(text, hand=fix)
    else:
        yield well(text)


CHECKS = (
    Check("settings", "homi.toml can be read", _settings, "homi.toml is understood"),
    Check("root", "nobody else reads or writes the mail", _private, heal=_close),
    Check(
        "files",
        "nobody else reaches a file of the state root",
        _files,
        "all are ours alone",
        heal=_close_files,
    ),
    Check("sockets", "the paths of the sockets are short enough", _socket),
    Check(
        "file-system",
        "locks and syncs of the disk hold",
        _kind,
        "nothing is said against it",
    ),
    Check("space", "there is room for new mail", _space, "nothing is kept yet"),
)

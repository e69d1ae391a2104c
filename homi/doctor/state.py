"""Checks of the small files of the state root, and of what stands in their place.

Owns what keeps a daemon from reading what it knows.  homi-doctor(1) lists the checks.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from homi.address import is_name
from homi.doctor.check import Check, Verdict, fail, remedied, unread, well
from homi.doctor.facts import Facts
from homi.errors import VersionMismatch
from homi.store.disk import RealDisk
from homi.store.lock import LOCK
from homi.store.places import TOPS
from homi.store.state import head
from homi.store.whole import ASIDE, aside_by_hand, read_whole, remedy

# What a daemon does not move aside: it is nobody's to guess what that is.
FOLDERS = (*TOPS, "pickup", "log", "quarantine", "blobs", "keys")
SHOWN = 5
ALL = os.R_OK | os.W_OK | os.X_OK
BARRED = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
OTHERS = "see whose it is, and why"
LAID = "files and folders are where they must be"
UPDATE = "pip install --upgrade homi-postmaster"


def _states(facts: Facts) -> Iterator[Verdict]:
    """Each can be read by this homi."""
    for path in sorted(facts.root.glob("*.json")) if facts.there else ():
        if not path.is_file():
            continue  # layout tells of it
        try:
            head(os.fspath(path), read_whole(RealDisk(), os.fspath(path)) or b"")
        except VersionMismatch as error:
            yield fail(f"{error.text}: a newer homi wrote it", UPDATE, error.hint)
        except (ValueError, RecursionError):
            fix = "homi restart" if facts.daemon else "homi start"
            yield fail(f"{path} is damaged", fix, "a start sets it aside")
        except OSError as error:
            yield unread(error)  # and of its neighbours what they are


def _layout(facts: Facts) -> Iterator[Verdict]:
    """A file is where a file is due, a folder where a folder is."""
    yield from list(_misplaced(facts)) or [well(_aside(facts) or LAID)]


def _aside(facts: Facts) -> str:
    """What was moved aside and lies there still: nothing else tells of it for long."""
    found = sorted(facts.root.glob(f"*{ASIDE}*")) if facts.there else []
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    names = ", ".join(os.fspath(path) for path in found[:SHOWN])
    return f"{LAID}; what was moved aside is kept: {names}{more}" if found else ""


def _misplaced(facts: Facts) -> Iterator[Verdict]:
    """What is something else."""
    plain = {facts.root / LOCK, *facts.root.glob("*.jsonl")}
    for path, wanted, ours in _due(facts.root) if facts.there else ():
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if wanted(mode) or (stat.S_ISLNK(mode) and path.exists()):
            # What state and journals read tells them itself.
            need = os.R_OK | os.W_OK if path in plain else ALL
            looked = path in plain or wanted is stat.S_ISDIR
            if looked and not os.access(path, need):
                text = f"{path} may not be read and written"
                yield remedied(fail(text), remedy(os.fspath(path), BARRED) or OTHERS)
            continue
        text = f"{path} is {_called(mode)}, and must be {WORDS[wanted]}"
        if ours:
            fix = "homi restart" if facts.daemon else "homi start"
            yield fail(text, fix, "a start moves it aside")
        else:
            # Not beside itself: in mail/ that would be another mailbox.
            again = " && homi restart" if facts.daemon else ""
            fix = f"{aside_by_hand(path, facts.root)}{again}"
            if stat.S_ISLNK(mode):  # a disk that is not mounted, with all its mail
                yield fail(text, hand=f"bring back what it leads to, or {fix}")
            else:
                yield fail(text, fix)


Kind = Callable[[int], bool]
WORDS: dict[Kind, str] = {
    stat.S_ISREG: "a file",
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISLNK: "a link to nothing",
    stat.S_ISSOCK: "a socket",
}


def _due(root: Path) -> Iterator[tuple[Path, Kind, bool]]:
    """What must be of which kind, and whether a daemon moves it aside itself."""
    for path in (*sorted(root.glob("*.json")), *sorted(root.glob("*.jsonl"))):
        yield path, stat.S_ISREG, True
    yield root / "ring", stat.S_ISREG, True
    yield root / LOCK, stat.S_ISREG, False
    yield root / "homi.sock", stat.S_ISSOCK, False
    for name in FOLDERS:
        yield root / name, stat.S_ISDIR, False
    for top in TOPS:
        for place in sorted((root / top).glob("*")):
            if not is_name(place.name):
                continue
            yield place, stat.S_ISDIR, False
            for journal in sorted(place.glob("*.jsonl")):
                yield journal, stat.S_ISREG, False


def _called(mode: int) -> str:
    """What stands there, in words."""
    return next((word for kind, word in WORDS.items() if kind(mode)), "a device")


CHECKS = (
    Check("state", "names, links, rooms, wakes can be read", _states),
    Check("layout", LAID, _layout),
)

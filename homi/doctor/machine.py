"""What the checks ask of the system, each by a method that a test can answer.

Owns the asking; draws no conclusion.
"""

import os
import resource
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from homi import child
from homi.errors import Unavailable
from homi.peers import process

PATIENCE = 10.0  # s a program may take


class Ran(NamedTuple):
    """A program that ended; status -1: it did not start, or did not end."""

    status: int
    out: str


class Machine:
    """This system, as the user of this process has it."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        """environ: in the place of our own."""
        self.environ = os.environ if environ is None else environ

    def now(self) -> float:
        """Wall seconds."""
        return time.time()

    def run(self, *argv: str) -> Ran:
        """What a program says, given nothing."""
        try:
            said = child.run(argv, patience=PATIENCE, env=self.environ)
        except Unavailable:
            return Ran(-1, "")
        return Ran(said.status, said.out or said.err)

    def which(self, name: str) -> str:
        """The program of that name that PATH has first; empty for none."""
        return shutil.which(name, path=self.environ.get("PATH", os.defpath)) or ""

    def file_system(self, path: Path) -> str:
        """The kind of file system that path is on; empty where nobody says it."""
        if not sys.platform.startswith("linux"):
            return ""
        ran = self.run("stat", "-f", "-c", "%T", os.fspath(path))
        return ran.out.strip() if ran.status == 0 else ""

    def free(self, path: Path) -> int:
        """Bytes that this user may still write there."""
        found = os.statvfs(path)
        return found.f_bavail * found.f_frsize

    def files(self, pid: int) -> tuple[int, int]:
        """(descriptors a process has open, how many it may have); 0, 0: not known."""
        try:
            text = Path(f"/proc/{pid}/limits").read_text()
            opened = len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            return 0, 0
        for line in text.splitlines():
            if line.startswith("Max open files"):
                soft = line.split()[3]
                return opened, int(soft) if soft.isdecimal() else 1 << 20
        return 0, 0

    def opened(self, pid: int, path: Path) -> bool:
        """Whether a process has that file open, as far as the system says."""
        if not sys.platform.startswith("linux"):
            return process.start_time(pid) is not None
        folder = f"/proc/{pid}/fd"
        try:
            return any(_same(f"{folder}/{fd}", path) for fd in os.listdir(folder))
        except OSError:
            return False

    def files_most(self) -> int:
        """How many descriptors what is started from here may have."""
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        return 1 << 20 if most == resource.RLIM_INFINITY else most

    def python_of(self, pid: int) -> str:
        """The interpreter that a process was started with; empty: not known."""
        try:
            argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return ""
        return os.fsdecode(argv[0]) if os.path.isabs(argv[0]) else ""

    def python(self) -> tuple[int, ...]:
        """The version of the interpreter."""
        return sys.version_info[:3]

    def requirements(self) -> list[str]:
        """What the installed homi says it needs; none where it is not installed."""
        try:
            return metadata.requires("homi-postmaster") or []
        except metadata.PackageNotFoundError:
            return []

    def library(self, name: str) -> str:
        """The version of an installed library; empty for none."""
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return ""


def _same(one: str, other: Path) -> bool:
    """Whether both lead to one file; one may be gone meanwhile."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def numbers(version: Sequence[str] | str) -> tuple[int, ...]:
    """The leading numbers of a version, to compare."""
    found: list[int] = []
    for part in version.split(".") if isinstance(version, str) else version:
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return tuple(found)

"""One run of a command on disk: what was started, what it said, how it ended.

Owns the folder of a run and the order in which it is filled; starts nothing.
homi-command(1) lists the files.
"""

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from homi.address import Name
from homi.commands.template import Template
from homi.envelope import Kind, MessageId
from homi.errors import StorageFailed
from homi.store.disk import RealDisk
from homi.store.whole import read_whole, write_whole

RUNS = "runs"
PLAN, STARTED, END, LOCK = "plan.json", "started.json", "end.json", "lock"
LETTER, OUT, ERR, ANSWER = "letter", "out", "err", "answer"
DIGITS = 8  # of a folder's name
Value = TypeVar("Value", bound=msgspec.Struct)
READ_MAX = 16 << 20  # bytes of what a command said: the supervisor keeps no more


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be started for one letter; never its text."""

    n: int
    name: Name
    body: str  # of the binding
    message: MessageId
    argv: list[str]
    cwd: str
    template: Template  # as it was then
    at: float  # wall seconds
    kind: Kind = Kind.MAIL
    to: str = ""  # who gets what it answers; empty: nobody
    session: str = ""  # it goes on with, or begins
    repeat: bool = False


class Started(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Written before the command begins."""

    pid: int  # of the command, which leads a group of its own
    start: str = ""  # when it began, in the system's own text
    supervisor: int = 0


class End(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Written when the command and its group are gone."""

    at: float = 0.0
    status: int | None = None  # it exited with
    signal: int | None = None  # that ended it
    timed_out: bool = False
    stopped: bool = False  # somebody ended its supervisor
    failed: str = ""  # why it did not even begin
    cut: bool = False  # it said more on standard output than is kept
    busy: bool = False  # busy_match is in what it wrote on standard error


class Run:
    """One folder in runs/, as it was read."""

    def __init__(self, folder: str, plan: Plan) -> None:
        """The end and the start are looked for at each question."""
        self.folder = folder
        self.plan = plan

    @property
    def started(self) -> Started | None:
        """What was started; None: nothing yet."""
        return _read(os.path.join(self.folder, STARTED), Started)

    @property
    def end(self) -> End | None:
        """How it ended; None: nobody wrote that down."""
        return _read(os.path.join(self.folder, END), End)

    @property
    def goes_on(self) -> bool:
        """Whether its supervisor lives, or is about to."""
        try:
            fd = os.open(os.path.join(self.folder, LOCK), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError:
            return True  # not to be known now: what may go on is left alone
        try:
            # Shared: two who look at once must not take each other for it.
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in (errno.EAGAIN, errno.EACCES)
        finally:
            os.close(fd)
        return False

    def text(self, file: str) -> str:
        """What stands in one of its files; empty where there is none."""
        try:
            with Path(self.folder, file).open("rb") as found:
                return found.read(READ_MAX).decode("utf-8", "replace")
        except OSError:
            return ""

    def settle(self) -> None:
        """The letter is finished: its text is not kept twice."""
        try:
            os.unlink(os.path.join(self.folder, LETTER))
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageFailed(f"cannot settle {self.folder}: {error}") from error

    @property
    def settled(self) -> bool:
        """Whether what became of it is in the ledger."""
        return not os.path.exists(os.path.join(self.folder, LETTER))


def plan(root: str, planned: Plan, letter: str) -> Run:
    """Make the folder of a run, all of it durable; StorageFailed (74)."""
    disk = RealDisk()
    runs = os.path.join(root, RUNS)
    folder = folder_of(root, planned.n)
    try:
        disk.mkdir(runs)
        disk.sync_dir(root)
        os.mkdir(folder, 0o700)
    except OSError as error:
        raise StorageFailed(f"cannot make {folder}: {error.strerror}") from error
    try:
        data = letter.encode("utf-8", "surrogatepass")
        write_whole(disk, os.path.join(folder, LETTER), data)
        write_whole(disk, os.path.join(folder, PLAN), msgspec.json.encode(planned))
        disk.sync_dir(runs)
    except OSError as error:
        # It is tried again: a full disk must not fill with what never began.
        shutil.rmtree(folder, ignore_errors=True)
        raise StorageFailed(f"cannot make {folder}: {error.strerror}") from error
    return Run(folder, planned)


def clear(root: str) -> None:
    """Remove what a death left before a plan was whole; nobody else makes one now."""
    for n in numbers(root):
        folder = folder_of(root, n)
        if not os.path.lexists(os.path.join(folder, PLAN)):
            shutil.rmtree(folder, ignore_errors=True)


def folder_of(root: str, n: int) -> str:
    """Where the run of that number is."""
    return os.path.join(root, RUNS, f"{n:0{DIGITS}}")


def numbers(root: str) -> list[int]:
    """The number of every run, the first first."""
    try:
        found = os.listdir(os.path.join(root, RUNS))
    except OSError:
        return []
    return sorted(int(name) for name in found if name.isdecimal())


def every(root: str) -> Iterator[Run]:
    """Every run whose plan can be read, the first first."""
    for n in numbers(root):
        found = _read(os.path.join(folder_of(root, n), PLAN), Plan)
        if found is not None:
            yield Run(folder_of(root, n), found)


def _read(path: str, kind: type[Value]) -> Value | None:
    """What a small file holds; None where it is not there, or not to be read."""
    try:
        data = read_whole(RealDisk(), path)
        return None if data is None else msgspec.json.decode(data, type=kind)
    except (OSError, msgspec.MsgspecError):
        return None

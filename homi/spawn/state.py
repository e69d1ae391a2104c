"""How each name is started, and what became of it: spawns.json.

Owns the fields of the file.  homi-mailbox(5) lists them.
"""

import contextlib
import logging
from collections.abc import Iterable, Iterator

import msgspec

from homi.address import Name, is_name
from homi.errors import StorageFailed
from homi.store.lines import Finding
from homi.store.state import StateFile

log = logging.getLogger("homi.spawn")


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One program that was started for a name."""

    at: float  # wall seconds: when it was ordered
    seat: str = ""  # the ref of its seat; empty: it is not open yet
    pid: int = 0
    start: str = ""  # of that process, in the system's own text
    called: str = ""  # the name it was started with
    now: bool = False  # of one that is to be ended: whatever it does
    ready: float = 0.0  # wall seconds: since when it can be written to; 0: not yet


class Spawned(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one name is started, and its starts so far."""

    name: Name
    client: str
    cwd: str
    argv: list[str] = []  # behind what homi itself gives
    path: str = ""  # the PATH of who ordered it
    on_mail: bool = False  # started when mail waits and nobody has the name
    brief: bool = False  # of somebody who waits: it ends with that one
    tree: str = ""  # the worktree that was made for it
    by: list[str] = []  # who ordered it, then who ordered that one
    at: str = ""  # RFC 3339: since when it is known
    order: str = ""  # the id that who ordered it last gave that
    starts: list[float] = []  # wall seconds, of the last hour
    failures: int = 0  # starts in a row that came to nothing
    said: str = ""  # of the last of these: why
    run: Run | None = None  # what runs now
    old: Run | None = None  # what run takes the place of, once it is ready


class State(msgspec.Struct, kw_only=True):
    """The whole of spawns.json."""

    spawns: dict[str, Spawned] = {}
    retired: list[Run] = []  # to be ended when they have nothing to do any more

    def __post_init__(self) -> None:
        """ValueError for what is under no name."""
        for name, spawned in self.spawns.items():
            if name != spawned.name or not is_name(name):
                raise ValueError("what is started is not under its name")


class Spawns:
    """What spawns.json holds.  Each change is on disk before its call returns."""

    def __init__(self, file: StateFile[State]) -> None:
        """Load the file; findings: what was unreadable."""
        found, findings = file.load()
        self.findings: list[Finding] = findings
        self._file = file
        self._state = found or State()

    def get(self, name: str) -> Spawned | None:
        """How that name is started; None: homi does not start it."""
        return self._state.spawns.get(name)

    def all(self) -> list[Spawned]:
        """Every one, by name."""
        return [self._state.spawns[name] for name in sorted(self._state.spawns)]

    @property
    def retired(self) -> list[Run]:
        """The programs that are to be ended."""
        return list(self._state.retired)

    def put(self, spawned: Spawned) -> Spawned:
        """Keep it, before anything is done; 74 leaves all as it was."""
        self._save({**self._state.spawns, spawned.name: spawned}, self.retired)
        return spawned

    def note(self, spawned: Spawned, retire: Run | None = None) -> Spawned:
        """Keep what has become of it, and what is to be ended with that.  Where the
        disk takes it not it counts all the same: a later start looks for itself."""
        spawns = {**self._state.spawns, spawned.name: spawned}
        self._note(spawns, self.retired + ([retire] if retire is not None else []))
        return spawned

    def forget(self, name: str, retire: Iterable[Run] = ()) -> None:
        """Start that name no more; what is to be ended with that is kept."""
        spawns = {k: v for k, v in self._state.spawns.items() if k != name}
        self._save(spawns, self.retired + list(retire))

    def ended(self, pid: int) -> None:
        """That program is gone: it need not be ended any more."""
        left = [run for run in self.retired if run.pid != pid]
        if left != self._state.retired:
            self._note(self._state.spawns, left)

    def _note(self, spawns: dict[str, Spawned], retired: list[Run]) -> None:
        """Let the memory hold the change, and the file if it can."""
        with tolerant():
            self._save(spawns, retired)
        self._state = State(spawns=spawns, retired=retired)

    def _save(self, spawns: dict[str, Spawned], retired: list[Run]) -> None:
        """Let the file, then the memory, hold the change."""
        state = State(spawns=spawns, retired=retired)
        self._file.save(state)
        self._state = state


@contextlib.contextmanager
def tolerant() -> Iterator[None]:
    """Go on where the disk takes not what follows from something that is so."""
    try:
        yield
    except StorageFailed as error:
        log.warning("%s", error.text)

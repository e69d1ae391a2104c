"""A keeper over programs in memory: each is a sleeping process, and dies at a word."""

import asyncio
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from homi.address import Name
from homi.claims import Body
from homi.claims import State as Claims
from homi.clock import SystemClock
from homi.errors import HomiError, StorageFailed
from homi.names import Names
from homi.owners import Owners
from homi.peers import process
from homi.sessions import Session, Sessions
from homi.spawn.keeper import Keeper
from homi.spawn.onmail import OnMail
from homi.spawn.programs import Means
from homi.spawn.state import Run, Spawned, Spawns, State
from homi.store.disk import RealDisk
from homi.store.state import StateFile

Found = TypeVar("Found")
ADA = Name("ada")
PATIENCE = 60.0  # s


class Turned(SystemClock):
    """A wall clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def wall(self) -> float:
        return self.now


class Died(Exception):
    """The daemon is gone: nothing of it runs any more."""


class Memory:
    """Programs that the keeper starts, without a tmux."""

    def __init__(self) -> None:
        self.error: HomiError | None = None  # what the next start meets
        self.processes: dict[str, subprocess.Popen[bytes]] = {}  # by seat
        self.hidden: dict[str, Run] = {}  # by name: the last that was opened
        self.starts = 0
        self.ends: list[Means] = []  # what they were ended by
        self.ignored: set[Means] = set()  # what of it they go on after

    def open(self, spawned: Spawned, run: Run) -> Run:
        self.starts += 1
        if self.error is not None:
            raise self.error
        child = subprocess.Popen(["sleep", "60"])
        seat = f"%{self.starts}.{child.pid}"
        self.processes[seat] = child
        made = Run(
            at=run.at,
            seat=seat,
            pid=child.pid,
            start=process.start_time(child.pid) or "",
            called=run.called,
        )
        self.hidden[spawned.name] = made
        return made

    def find(self, spawned: Spawned, run: Run) -> Run | None:
        found = self.hidden.get(spawned.name)
        old = spawned.old.seat if spawned.old is not None else ""
        return None if found is None or found.seat == old else found

    def body(self, spawned: Spawned, run: Run) -> Body | None:
        return Body(client="seat", id=run.seat, cwd=spawned.cwd)

    def end(self, run: Run, means: Means) -> None:
        self.ends.append(means)
        if means not in self.ignored:
            self.processes[run.seat].kill()

    def alive(self) -> list[str]:
        """The seats whose program runs."""
        return [seat for seat, one in self.processes.items() if one.poll() is None]

    def close(self) -> None:
        for one in self.processes.values():
            one.kill()
            one.wait(PATIENCE)


def inline(
    work: Callable[[], Found], told: Callable[[Found | HomiError], None]
) -> None:
    """Work done at once."""
    try:
        found = work()
    except HomiError as error:
        told(error)
    else:
        told(found)


class Nursery:
    """One keeper, its names and its programs."""

    def __init__(self, root: Path, programs: Memory, clock: Turned) -> None:
        self.root, self.programs, self.clock = root, programs, clock
        self.mail: set[Name] = set()  # whose mail waits
        self.writes, self.gone = 0, False
        self._last = 1 << 30
        self.full = False  # whether the disk takes nothing
        self.said: list[Spawned | HomiError] = []
        disk = RealDisk()
        self.names = Names(StateFile(str(root / "names.json"), disk, Claims))
        self.sessions = Sessions([], clock)
        self.owners = Owners(self.names, self.sessions)
        self.file = StateFile(str(root / "spawns.json"), disk, State)
        self._save = self.file.save
        self.file.save = self._saved  # type: ignore[method-assign]
        self.spawns = Spawns(self.file)
        parts = (self.names, self.sessions, self.owners)
        self.keeper = Keeper(self.spawns, *parts, clock, programs, inline)
        self.on_mail = OnMail(self.keeper, self.owners, clock)
        self.keeper.pending = self.mail.__contains__
        self.on_mail.waiting = self.mail.__contains__
        self.on_mail.start(asyncio.get_running_loop())

    def stop(self) -> None:
        self.on_mail.stop()

    def dies_at(self, write: int) -> None:
        """Be gone behind that write of the file, the first being 1."""
        self._last = write

    def _saved(self, state: State) -> None:
        if self.full:
            raise StorageFailed("the disk is full")
        self._save(state)
        self.writes += 1
        self.gone = self.writes >= self._last
        if self.gone:
            raise Died

    def spawned(self, *, on_mail: bool = False) -> Spawned:
        return Spawned(name=ADA, client="codex", cwd="/", on_mail=on_mail, by=["p"])

    def order(self, *, on_mail: bool = False) -> None:
        if self.names.get(ADA) is None:
            self.names.claim(ADA, None, 0.0)
        self.keeper.order(self.spawned(on_mail=on_mail), self.said.append)

    @property
    def ada(self) -> Spawned:
        found = self.spawns.get(ADA)
        assert found is not None
        return found

    @property
    def run(self) -> Run:
        assert self.ada.run is not None
        return self.ada.run

    @property
    def bound(self) -> str:
        """The seat that the name is bound to."""
        claim = self.names.get(ADA)
        return claim.body.id if claim is not None and claim.body is not None else ""

    def stands(self, run: Run, status: str = "") -> None:
        """What is told when a seat can be typed into."""
        body = Body(client="seat", id=run.seat)
        session = Session(
            pid=0,
            start=body.ref.start,
            session_id=run.seat,
            name=ADA,
            client="seat",
            status=status,
        )
        self.sessions.stand(session)

    def falls(self, run: Run) -> None:
        self.sessions.fall(Body(client="seat", id=run.seat).ref)

    def ready(self) -> Run:
        """What runs can be written to."""
        run = self.run
        self.stands(run)
        return run

    async def dies(self, run: Run) -> None:
        """A program ends by itself."""
        self.falls(run)
        self.programs.processes[run.seat].kill()
        await self.until(lambda: self.ada.run is None or self.ada.run.pid != run.pid)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Let the loop take turns until it is so."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                if self.gone:
                    raise Died
                await asyncio.sleep(0)

"""Started agents that ask something while nobody sits before them.

Owns when the person is told, and that it is once a dialog; what a dialog is decides the
client's own record, or its screen where that says nothing.  homi-spawn(1).
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from homi.address import Name
from homi.errors import HomiError
from homi.sessions import Session, Sessions
from homi.spawn.beside import Beside, in_a_thread
from homi.spawn.endings import is_of, session_of
from homi.spawn.programs import Stand
from homi.spawn.state import Run, Spawns
from homi.store.lines import Finding

WAITING = "waiting"  # of a session: for a person


class Eyes(Protocol):
    """Looks at seats; it blocks."""

    def look(self, run: Run) -> Stand | None:
        """The seat of a program; None where that is gone."""
        ...


class Dialogs:
    """Fits assembly.duties.Duty.  On the loop's thread."""

    def __init__(
        self,
        spawns: Spawns,
        sessions: Sessions,
        eyes: Eyes,
        tell: Callable[[Name, str], None],
        beside: Beside = in_a_thread,
    ) -> None:
        """Subscribes to sessions; tell has the name and its seat."""
        self.findings: list[Finding] = []
        self._spawns = spawns
        self._sessions = sessions
        self._eyes = eyes
        self._tell = tell
        self._beside = beside
        self._told: set[str] = set()  # refs of seats whose dialog is known
        self._on = False
        sessions.subscribe(self._session)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """What asks already is told."""
        self._on = True
        self.sweep()

    def stop(self) -> None:
        """Tell nothing more."""
        self._on = False

    def sweep(self) -> None:
        """Look at every program that may ask."""
        runs = {one.name: one.run for one in self._spawns.all() if one.run is not None}
        self._told &= {run.seat for run in runs.values()}
        for name, run in runs.items():
            self._judge(name, run, session_of(self._sessions, run))

    def held(self, name: Name, seat: str) -> bool:
        """Mail waits at a dialog in the seat with that ref: whether a started agent has
        it.  Then that is told from here unless it was, whoever sees it."""
        spawned = self._spawns.get(name)
        run = None if spawned is None else spawned.run
        if run is None or run.seat != seat:
            return False
        told = partial(self._seen, name, run, mail=True)
        self._beside(partial(self._eyes.look, run), told)
        return True

    def _session(self, old: Session | None, new: Session | None) -> None:
        """One of them may ask now, or was answered."""
        if not self._on or new is None:
            return
        if old is not None and old.status == new.status:
            return
        for spawned in self._spawns.all():
            if spawned.run is not None and is_of(new, spawned.run):
                self._judge(spawned.name, spawned.run, new)

    def _judge(self, name: Name, run: Run, session: Session | None) -> None:
        """Look at its seat, unless its record says that it asks nothing."""
        status = "" if session is None else session.status
        if status not in ("", WAITING):
            self._told.discard(run.seat)
        elif run.seat:
            told = partial(self._seen, name, run, known=status == WAITING)
            self._beside(partial(self._eyes.look, run), told)

    def _seen(
        self,
        name: Name,
        run: Run,
        stand: Stand | HomiError | None,
        *,
        known: bool = False,
        mail: bool = False,
    ) -> None:
        """Tell what nobody sees, or mail waits for, once until it is answered."""
        if not self._on or stand is None or isinstance(stand, HomiError):
            return
        if not known and not stand.asks:
            self._told.discard(run.seat)
        elif (mail or not stand.attended) and run.seat not in self._told:
            self._told.add(run.seat)
            self._tell(name, stand.seat)

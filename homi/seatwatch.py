"""Which seats that names are bound to can be reached.

Owns the rule that a session with a record of its own comes first: a seat is the last
resort.  A seat lives while its program does.  homi-seat(1).
"""

import asyncio

from homi.address import Name
from homi.claims import Body, Claim
from homi.envelope import Reason
from homi.names import Names
from homi.pidwatch import PidWatch
from homi.sessions import Session, Sessions

CLIENT = "seat"


class SeatWatch:
    """Tells sessions of every bound seat whose program lives."""

    def __init__(self, names: Names, sessions: Sessions) -> None:
        """Subscribes to both."""
        self._names = names
        self._sessions = sessions
        self._bodies: dict[Name, Body] = {}  # those that stand
        self._pids = PidWatch(self._ended)
        self._on = False
        names.subscribe(self._changed)
        sessions.subscribe(self._session)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch from now on; what stands is told."""
        self._on = True
        self._pids.attach(loop)
        self.sweep()

    def stop(self) -> None:
        """Watch nothing more."""
        self._on = False
        self._pids.detach()

    def sweep(self) -> None:
        """Look at every bound name again."""
        for claim in self._names.all():
            self._judge(claim.name, claim)

    def why(self, name: Name) -> Reason | None:
        """Nothing: a seat that is gone does not come back."""
        return None

    def _changed(self, name: Name, claim: Claim | None) -> None:
        """A claim changed or ended."""
        if self._on:
            self._judge(name, claim)

    def _session(self, old: Session | None, new: Session | None) -> None:
        """A session with a record came, went or has another name now."""
        names = {s.address for s in (old, new) if s is not None and s.listed}
        for name in names - {None}:
            if self._on and name is not None:
                self._judge(name, self._names.get(name))

    def _ended(self, pid: int) -> None:
        """A watched program is gone."""
        for name, body in list(self._bodies.items()):
            if process_of(body)[0] == pid:
                self._fall(name)

    def _judge(self, name: Name, claim: Claim | None) -> None:
        """Let the seat of name stand or fall."""
        body = claim.body if claim is not None else None
        if body is not None and (body.client != CLIENT or self._better(name)):
            body = None
        stood = self._bodies.get(name)
        if stood is not None and (body is None or body.ref != stood.ref):
            self._fall(name)
        if body is None or body.ref in (b.ref for b in self._bodies.values()):
            return
        pid, start = process_of(body)
        if pid and self._pids.watch(pid, start):
            self._bodies[name] = body
            self._sessions.stand(_session_of(name, body))

    def _better(self, name: Name) -> bool:
        """Whether a session of that name can be written to."""
        return any(session.can_own for session in self._sessions.by_address(name))

    def _fall(self, name: Name) -> None:
        """The seat of name can be reached no more, or is not wanted."""
        body = self._bodies.pop(name)
        self._pids.forget(process_of(body)[0])
        self._sessions.fall(body.ref)


def process_of(body: Body) -> tuple[int, str]:
    """The program that a seat was opened with; 0 where the id is none of a seat."""
    _pane, _, rest = body.id.partition(".")
    pid, _, start = rest.partition(".")
    return (int(pid) if pid.isdecimal() else 0), start


def _session_of(name: Name, body: Body) -> Session:
    """A seat as a session."""
    return Session(
        pid=0,
        start=body.ref.start,
        session_id=body.id,
        name=name,
        cwd=body.cwd,
        config_dir=body.home,
        client=CLIENT,
    )

"""What watches the bodies of names: one watcher for each client without records.

Owns the list, and the rule that a session with a record of its own comes before a
body.  Each watcher tells homi.sessions who stands and who falls.
"""

import asyncio
from collections.abc import Iterable
from typing import Protocol

from homi.address import Name
from homi.claims import Body, Claim
from homi.envelope import Reason
from homi.names import Names
from homi.sessions import Session, Sessions


class Watcher(Protocol):
    """Tells which bodies of one client can be reached."""

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch from now on."""
        ...

    def stop(self) -> None:
        """Watch nothing more; tells nothing."""
        ...

    def sweep(self) -> None:
        """Look again, for a notice that got lost."""
        ...

    def why(self, name: Name) -> Reason | None:
        """Why the body of name cannot be reached; None: it can, or is no concern."""
        ...


class Bodies:
    """Every watcher of one daemon."""

    def __init__(self, watchers: Iterable[Watcher]) -> None:
        """Nothing is watched before start()."""
        self._watchers = list(watchers)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let all of them watch."""
        for watcher in self._watchers:
            watcher.start(loop)

    def stop(self) -> None:
        """End all of them."""
        for watcher in self._watchers:
            watcher.stop()

    def sweep(self) -> None:
        """Have each look again."""
        for watcher in self._watchers:
            watcher.sweep()

    def why(self, name: Name) -> Reason | None:
        """Why the body of name cannot be reached; None: it can, or it has none."""
        found = (watcher.why(name) for watcher in self._watchers)
        return next((reason for reason in found if reason is not None), None)


class Standing:
    """Bodies of one client that stand while nothing better has their name; fits
    Watcher."""

    def __init__(self, client: str, names: Names, sessions: Sessions) -> None:
        """Subscribes to both."""
        self._client = client
        self._names = names
        self._sessions = sessions
        self._standing: dict[Name, Body] = {}
        self._on = False
        names.subscribe(self._changed)
        sessions.subscribe(self._session)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch from now on; what stands is told."""
        self._on = True
        self.sweep()

    def stop(self) -> None:
        """Watch nothing more."""
        self._on = False

    def sweep(self) -> None:
        """Look at every name again."""
        for claim in self._names.all():
            self._changed(claim.name, claim)

    def why(self, name: Name) -> Reason | None:
        """Nothing: whatever keeps a body that stands is told by its session."""
        return None

    def _changed(self, name: Name, claim: Claim | None) -> None:
        """A claim changed or ended."""
        if self._on:
            self._judge(name, claim)

    def _session(self, old: Session | None, new: Session | None) -> None:
        """A session with a record came, went or has another name now."""
        names = {s.address for s in (old, new) if s is not None and s.listed}
        for name in filter(None, names):
            self._changed(name, self._names.get(name))

    def _judge(self, name: Name, claim: Claim | None) -> None:
        """Let the body of name stand or fall."""
        body = claim.body if claim is not None else None
        if body is not None and (
            body.client != self._client or self._better(name, body)
        ):
            body = None
        stood = self._standing.get(name)
        if stood is not None and (body is None or body.ref != stood.ref):
            self._fall(name)
        if body is not None:
            self._stand(name, body)

    def _better(self, name: Name, body: Body) -> bool:
        """Whether a session of that name can be written to."""
        return any(session.can_own for session in self._sessions.by_address(name))

    def _stand(self, name: Name, body: Body) -> None:
        """The body of name can be reached, or may be another now."""
        self._standing[name] = body
        self._sessions.stand(session_of(name, body))

    def _fall(self, name: Name) -> None:
        """It can be reached no more, or is not wanted."""
        self._sessions.fall(self._standing.pop(name).ref)


def session_of(name: Name, body: Body) -> Session:
    """A body as a session of which no more is known."""
    return Session(
        pid=0,
        start=body.ref.start,
        session_id=body.id,
        name=name,
        cwd=body.cwd,
        config_dir=body.home,
        client=body.client,
    )

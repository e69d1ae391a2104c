"""Which live session has a claimed name now, and who must be told.

Owns the rule of ownership; holds no state but what follows from names and
sessions, save who was first.  homi-address(7) states the rule.
"""

import os
from collections.abc import Callable, Collection

from homi.address import Device, Name
from homi.claims import Claim
from homi.envelope import SessionRef
from homi.errors import NoInput
from homi.names import Names
from homi.routing import Facts
from homi.sessions import Session, Sessions

Subscriber = Callable[[Name, Session | None, Session | None], None]


class Owners:
    """Ownership of every claim, kept up to date by notices of both sides."""

    def __init__(self, names: Names, sessions: Sessions) -> None:
        """Subscribes to both: build it before attaching sessions."""
        self._names = names
        self._sessions = sessions
        self._owners: dict[Name, Session] = {}
        self._subscribers: list[Subscriber] = []
        self._taken: set[Name] = set()
        self._watchers: list[Callable[[Name], None]] = []
        self.devices: Callable[[], Collection[Device]] = tuple  # linked here
        for claim in names.all():
            self._judge(claim.name)
        for alias in names.aliases.all():
            self._judge(alias.name)
        self._mirrored()
        names.mirrors.subscribe(self._mirrored)
        names.subscribe(lambda name, _claim: self._judge(name))
        names.aliases.subscribe(lambda name, _alias: self._judge(name))
        sessions.subscribe(self._session)

    def owner(self, name: Name) -> Session | None:
        """The live session that has the name."""
        return self._owners.get(name)

    def taken(self, name: Name) -> bool:
        """Whether a live session goes by that very name, so that nothing else may be
        listed under it."""
        return name in self._taken

    def has(self, name: Name) -> str:
        """Who has a local name, so that no mirror may be listed under it; empty:
        nobody."""
        if self._names.get(name) is not None:
            return f"{name} is claimed here"
        if self._names.aliases.get(name) is not None:
            return f"{name} is an alias here"
        if self._names.front_of(name) is not None:
            return f"{name} is what a session here is called"
        return f"a session here is called {name}" if self.taken(name) else ""

    def bare(self, name: Name) -> list[Session]:
        """The sessions of a fronted name that still go by the name itself."""
        claim = self._names.get(name)
        if claim is None:
            return []
        return [each for each in self._fit(claim) if each.address == name]

    def public(self, session: Session) -> Name | None:
        """The name a session has towards others: of one behind a fronted name, that."""
        if session.address is None:
            return None
        return self._names.front_of(session.address) or session.address

    def others(self, name: Name) -> list[Session]:
        """Live sessions that would own the name if its owner did not."""
        claim = self._names.get(name)
        if claim is None or claim.ownerless:
            return []
        owner = self.owner(name)
        return [s for s in self._fit(claim) if owner is None or s.pid != owner.pid]

    def unfit(self, name: Name) -> list[Session]:
        """Live sessions of that name that cannot own it: no socket, wrong folder."""
        claim = self._names.get(name)
        if claim is None or claim.ownerless:
            return self._sessions.by_address(name)
        fit = {session.pid for session in self._fit(claim)}
        owner = self.owner(name)
        if owner is not None:
            fit.add(owner.pid)
        return [s for s in self._sessions.by_address(name) if s.pid not in fit]

    def facts(self, device: Device) -> Facts:
        """What an address is resolved by, asked anew at each question."""
        return Facts(
            device=device,
            claimed=lambda name: self._names.get(name) is not None,
            fronted=self._names.fronted,
            live=lambda name: bool(self._sessions.by_address(name)),
            alias=self._names.aliases.leads_to,
            known=self._known,
            devices=lambda: self.devices(),
            mirror=self._names.mirrors.leads_to,
        )

    def _known(self) -> list[str]:
        """Every name somebody may have meant."""
        live = [s.address for s in self._sessions.live.values() if s.address]
        claims = [claim.name for claim in self._names.all()]
        aliases = [alias.name for alias in self._names.aliases.all()]
        return [*claims, *aliases, *self._names.mirrors.wanted(), *live]

    def asking(self, name: Name) -> Session | None:
        """The session whose hooks may ask for the mail of name: the first of that name
        without a socket, where nobody owns it."""
        fit = (s for s in self._sessions.by_address(name) if not s.socket)
        return next((s for s in fit if self.belongs(name, s)), None)

    def names_of(self, ref: SessionRef) -> list[Name]:
        """The claimed names that session owns, by name."""
        return sorted(
            name
            for name, owner in self._owners.items()
            if owner.pid == ref.pid and owner.start == ref.start
        )

    def thread(self, thread: str) -> Session | None:
        """The thread of Codex as a session, if a name is bound to it; also where homi
        itself cannot reach it."""
        ref = SessionRef(0, f"codex:{thread}", thread)
        claim = self._names.embodied(ref)
        if claim is None or claim.body is None:
            return None
        return self._sessions.by_ref(ref) or Session(
            pid=0,
            start=ref.start,
            session_id=thread,
            name=claim.name,
            address=claim.name,
            cwd=claim.body.cwd,
            config_dir=claim.body.home,
            client=ref.client,
        )

    def belongs(self, name: Name, session: Session) -> bool:
        """Whether the session may decide over the mail of name: it owns it, or it
        carries the name, nobody owns it and the claim's folder does not shut it out."""
        owner = self.owner(name)
        if owner is not None:
            return (owner.pid, owner.start) == (session.pid, session.start)
        claim = self._names.get(name)
        if claim is None:
            return session.address == name
        inside = not claim.ownerless and _inside(session.cwd, claim.cwd)
        return inside and self.public(session) == name

    def take(self, name: str, ref: SessionRef) -> Session:
        """Give the name to that live session while it lives; NoInput (66) if it is
        dead or has no socket.  A person's right: the caller has checked that."""
        session = self._sessions.by_ref(ref)
        if session is None or not session.can_own:
            raise NoInput(f"no live session {ref.pid} that could take {name}")
        self._names.bind(name, session.ref)
        return session

    def subscribe(self, callback: Subscriber) -> None:
        """Call back with (name, old, new) when another session owns it, in order of
        subscription; a changed status or conversation of the same owner is not told."""
        self._subscribers.append(callback)

    def on_taken(self, callback: Callable[[Name], None]) -> None:
        """Call back when taken(name) changed, before any owner is told: a record is
        away before mail is handed over."""
        self._watchers.append(callback)

    def _session(self, old: Session | None, new: Session | None) -> None:
        """A session's change may concern the names it has, had or was given."""
        concerned: dict[Name, None] = {}
        for session in (old, new):
            if session is None:
                continue
            if session.address is not None:
                concerned[session.address] = None
                if (front := self._names.front_of(session.address)) is not None:
                    concerned[front] = None
            for claim in self._names.all():
                if any(_same(ref, session) for ref in claim.refs):
                    concerned[claim.name] = None
        for name in concerned:
            self._judge(name)

    def _judge(self, name: Name) -> None:
        """Find the owner anew; tell it when it is another process."""
        old = self._owners.get(name)
        new = self._choose(name, old)
        if new is None:
            self._owners.pop(name, None)
        else:
            self._owners[name] = new
        if self._is_taken(name, new) != self.taken(name):
            self._taken ^= {name}
            for watcher in self._watchers:
                watcher(name)
        if _process(old) != _process(new):
            for callback in self._subscribers:
                callback(name, old, new)

    def _mirrored(self) -> None:
        """Mirrors came or ended: sessions may have the names they would be listed
        under."""
        for name in {*self._taken, *self._names.mirrors.wanted()}:
            self._judge(name)

    def _is_taken(self, name: Name, owner: Session | None) -> bool:
        """What taken() is to say, given the owner of name."""
        claim = self._names.get(name)
        if claim is not None and claim.front:
            return bool(self.bare(name))
        leads = self._names.aliases.get(name) or self._names.mirrors.concerned(name)
        if claim is not None or not leads:
            return owner is not None and owner.listed
        return any(session.can_own for session in self._sessions.by_address(name))

    def _choose(self, name: Name, old: Session | None) -> Session | None:
        """The body or the bound session while it lives, else the present owner while
        it is fit, else the first fit one."""
        claim = self._names.get(name)
        if claim is None or claim.ownerless:
            return None
        body = None if claim.body is None else self._sessions.by_ref(claim.body.ref)
        if body is not None and body.can_own:
            return body
        if claim.bound is not None:
            bound = self._sessions.by_ref(claim.bound)
            if bound is not None and bound.can_own:
                return bound
        fit = self._fit(claim)
        for session in fit:
            if _process(session) == _process(old):
                return session
        return fit[0] if fit else None

    def _fit(self, claim: Claim) -> list[Session]:
        """Live sessions that carry the name and may have it, the first one first."""
        named = self._sessions.by_address(claim.name)
        if claim.front:
            named = self._behind(claim.name) + named
        return [
            session
            for session in named
            if session.can_own and _inside(session.cwd, claim.cwd)
        ]

    def _behind(self, name: Name) -> list[Session]:
        """The sessions behind a fronted name, the first that was so called first."""
        found = [
            session
            for session in self._sessions.live.values()
            if session.address is not None
            and self._names.front_of(session.address) == name
        ]
        return sorted(found, key=lambda session: (session.since, session.pid))


def _process(session: Session | None) -> tuple[int, str] | None:
    """What makes a session the same one, whatever its conversation."""
    return None if session is None else (session.pid, session.start)


def _same(ref: SessionRef, session: Session) -> bool:
    """Whether ref names that process, whatever its conversation."""
    return ref.pid == session.pid and ref.start == session.start


def _inside(cwd: str, folder: str | None) -> bool:
    """Whether cwd is folder or below it, by real paths; None: any will do."""
    if folder is None:
        return True
    if not cwd:
        return False
    real = os.path.realpath(cwd)
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)

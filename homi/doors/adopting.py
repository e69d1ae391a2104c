"""The verbs adopt and retitle: a session that there is already gets a name.

Owns which session is meant, and who may; that it is called so is confirmed by its own
record.  homi-spawn(1).
"""

from homi.address import Name, parse_claimable, show
from homi.clock import Clock
from homi.doors.answers import Answer, Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.errors import (
    CannotCreate,
    HomiError,
    NoInput,
    NotAllowed,
    NotReached,
    Unavailable,
    Usage,
)
from homi.orders.spawn import Adopt, Retitle
from homi.peers import process
from homi.request import CallerClass, Request
from homi.sessions import Session
from homi.spawn import titles
from homi.spawn.beside import in_a_thread
from homi.spawned import Adopted


class Adopting:
    """What one caller names."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Holds no state but whether its caller still waits."""
        self._office = office
        self._rights = rights
        self._clock = clock
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verb done here."""
        return {Adopt: self._adopt, Retitle: self._retitle}

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._gone = True

    def _adopt(self, request: Adopt, reply: Reply) -> None:
        """Claim the name, have the session take it, and see that it did."""
        name = parse_claimable(request.name)
        session = self._meant(request)
        self._allowed(name, session)
        fresh = self._office.see_claimed(name, self._clock.wall())

        def told(now: Session | None) -> None:
            done: Answer
            try:
                done = self._confirmed(name, session, now, fresh=fresh)
            except HomiError as error:
                done = error
            if not self._gone:
                reply(request.i, done)

        renaming = self._office.renaming
        if renaming is None:
            raise Unavailable("the daemon is starting")
        renaming.change(session, name, told)

    def _retitle(self, request: Retitle, reply: Reply) -> None:
        """Claim the name, and write it where the client looks when it goes on."""
        name, session = parse_claimable(request.name), request.session
        for live in self._office.sessions.live.values():
            if live.session_id == session:
                raise CannotCreate(
                    f"session {session} is open, pid {live.pid}",
                    hint=f"homi adopt {name} --session {session}",
                )
        folders = self._office.config.registry_folders()

        def work() -> str:
            return titles.retitle(titles.find(folders, session), session, name)

        def told(was: str | HomiError) -> None:
            done: Answer
            try:
                if isinstance(was, str):
                    fresh = self._office.see_claimed(name, self._clock.wall())
                    done = Adopted(name, 0, session, was, fresh)
                else:
                    done = was
            except HomiError as error:
                done = error
            if not self._gone:
                reply(request.i, done)

        self._office.no_alias(name)
        in_a_thread(work, told)

    def _confirmed(
        self, name: Name, before: Session, now: Session | None, *, fresh: bool
    ) -> Adopted | HomiError:
        """What became of it; a name that was claimed for nothing is none again."""
        office = self._office
        front = office.names.front_of(now.address) if now and now.address else None
        owner = office.owners.owner(name)
        if now is not None and name in (now.address, front):
            if owner is None:
                office.names.bind(name, now.ref)
            elif (owner.pid, owner.start) != (now.pid, now.start):
                return CannotCreate(f"session {owner.pid} took {name} meanwhile")
            return Adopted(name, now.pid, now.session_id, before.name, fresh)
        if fresh and owner is None and not office.store.mailbox(name).pending:
            office.names.release(name)
        if now is None:
            return NotReached(f"session {before.pid} ended before it took {name}")
        return NotReached(
            f"session {before.pid} did not take the name {name},"
            f" it is called {show(now.name)}",
            hint="a person renames it in its terminal: /rename",
        )

    def _meant(self, request: Adopt) -> Session:
        """The live session; 64, 66."""
        if bool(request.session) == bool(request.pid):
            raise Usage("which session?", hint="either --session ID or --pane %N")
        every = self._office.sessions.live.values()
        if request.session:
            found = [one for one in every if one.session_id == request.session]
            what = f"session {show(request.session)}"
            hint = f"of a thread of Codex: homi codex peer {request.name} --thread ID"
        else:
            found = [s for s in every if request.pid in process.ancestors(s.pid)]
            found = _outermost(found)
            what = f"session in process {request.pid}"
            hint = "homi ls shows the live ones"
        if not found:
            raise NoInput(f"no live {what}", hint=hint)
        if len(found) > 1:
            pids = " and ".join(str(one.pid) for one in found)
            raise Usage(f"{what} is not one: {pids}", hint="adopt by --session ID")
        if not found[0].can_own:
            raise CannotCreate(f"session {found[0].pid} cannot be written to")
        return found[0]

    def _allowed(self, name: Name, session: Session) -> None:
        """77 where a session would name another; 73 where the name is somebody's."""
        caller = self._rights.caller
        if caller.caller is CallerClass.SESSION:
            own = caller.session
            if own is None or (own.pid, own.start) != (session.pid, session.start):
                raise NotAllowed("a session names no session but itself")
            if self._office.names.get(name) and not self._rights.owns(name):
                raise NotAllowed(f"the name {name} is not this session's")
        owner = self._office.owners.owner(name)
        has = [*self._office.sessions.by_address(name), *([owner] if owner else [])]
        if any((one.pid, one.start) != (session.pid, session.start) for one in has):
            raise CannotCreate(
                f"another session has {name}, pid {has[0].pid}",
                hint=f"homi claim --take {name} moves a name between its own sessions",
            )


def _outermost(found: list[Session]) -> list[Session]:
    """Without those that another of them started."""
    pids = {one.pid for one in found}
    return [s for s in found if not pids & set(process.ancestors(s.pid)[1:])]

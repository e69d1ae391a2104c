"""The verb of names that are bound to Codex threads.

Owns who may bind what; homi.codex.watch finds out who lives.  homi-codex(1).
"""

from homi.address import Name, parse_claimable
from homi.claims import Body
from homi.clock import Clock
from homi.codex.thread import CLIENT
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.errors import CannotCreate, NoInput, NotAllowed, Usage
from homi.ids import SHAPE
from homi.orders.codex import CodexPeer
from homi.request import CallerClass, Request
from homi.threads import Peered


class Peering:
    """What one caller binds."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights
        self._clock = clock

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {CodexPeer: self._peer}

    def _peer(self, request: CodexPeer, reply: Reply) -> None:
        """Answered when it is on disk."""
        name = parse_claimable(request.name)
        if request.thread is None:
            reply(request.i, self._part(name))
            return
        if not SHAPE.fullmatch(request.thread):
            raise Usage(f"a thread is named by a UUID, not {request.thread[:64]!r}")
        if not request.home.startswith("/"):
            raise Usage("the home of a Codex is an absolute path")
        self._allowed(name, request.thread)
        options: dict[str, object] = {}
        if request.program:
            options["program"] = request.program
        body = Body(
            client=CLIENT,
            id=request.thread,
            home=request.home,
            cwd=request.cwd,
            options=options,
        )
        self._alone(name, body.id)
        self._office.names.check_body(name, body)  # what is refused claims nothing
        fresh = self._office.see_claimed(name, self._clock.wall(), "bound")
        self._office.names.embody(name, body)
        done = Peered(name, "peer", body.id, body.home, body.cwd, fresh)
        reply(request.i, done)

    def _alone(self, name: Name, thread: str) -> None:
        """73 where another name has runs in that thread: what is queued to it is lost
        as one ends."""
        commands = self._office.commands
        for claim in self._office.names.all():
            body = claim.body
            if body is None or body.client != "command" or claim.name == name:
                continue
            if commands is not None and commands.session(body) == thread:
                raise CannotCreate(
                    f"{claim.name} goes on with that thread without a terminal",
                    hint=f"homi command unbind {claim.name}, or another thread",
                )

    def _part(self, name: Name) -> Peered:
        """The name is bound to no thread any more, and stays claimed."""
        body = self._office.names.require(name).body
        if body is None or body.client != CLIENT:
            raise NoInput(f"{name} is bound to no thread", hint="homi codex ls")
        self._allowed(name, body.id)
        self._office.names.embody(name, None)
        return Peered(name, "unpeer", body.id, body.home, body.cwd)

    def _allowed(self, name: Name, thread: str) -> None:
        """77 where a session would bind another's name, or another than itself."""
        caller = self._rights.caller
        if caller.caller is not CallerClass.SESSION:
            return
        session = caller.session
        if session is None or (session.client, session.session_id) != (CLIENT, thread):
            raise NotAllowed("a session binds no thread but its own")
        if self._office.names.get(name) is not None and not self._rights.owns(name):
            raise NotAllowed(f"the name {name} is not this session's")

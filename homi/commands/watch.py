"""Which names can be given letters by a command now.

Owns the rule that nothing is begun beside a run, after three failures, or in a
conversation that another process has.  homi-command(1).
"""

import asyncio
import logging

from msgspec.structs import replace

from homi.address import Name
from homi.bodies import Standing, session_of
from homi.claims import Body, Claim
from homi.commands.binding import CLIENT, Command, read
from homi.commands.runs import Runs
from homi.envelope import Reason
from homi.errors import BadConfig
from homi.names import Names
from homi.peers import process
from homi.sessions import Session, Sessions

log = logging.getLogger("homi.commands")


class CommandWatch(Standing):
    """Tells sessions of every command that a name is bound to."""

    def __init__(self, names: Names, sessions: Sessions, runs: Runs) -> None:
        """Subscribes to all three."""
        super().__init__(CLIENT, names, sessions)
        self._runs = runs
        self._strange: set[Name] = set()  # bound by a later homi, say
        runs.changed = self.sweep

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on with what runs, and let every command stand."""
        self._runs.start(loop)
        super().start(loop)

    def stop(self) -> None:
        """Watch nothing more; what runs goes on."""
        super().stop()
        self._runs.stop()

    def sweep(self) -> None:
        """Look at every name again, and at which processes work for whom."""
        self._sessions.workers = {
            pid: (start, f"{CLIENT}:{body}")
            for pid, (start, body) in self._runs.leaders().items()
        }
        super().sweep()

    def why(self, name: Name) -> Reason | None:
        """That another version bound it, in a way that is not understood here;
        whatever else keeps a command is told by its session."""
        return Reason.UNREACHABLE if name in self._strange else None

    # ---- what a verb asks ----

    def session(self, body: Body) -> str:
        """The session a binding goes on with; empty: none is known."""
        return self._runs.known.of(body.id).session or str(
            body.options.get("session", "")
        )

    def resume(self, body: Body) -> None:
        """Begin runs again after failures."""
        self._runs.resume(body.id)

    # ---- what changes ----

    def _session(self, old: Session | None, new: Session | None) -> None:
        """A session with a record came, went or changed: it may have a name that is
        bound, or a conversation that one goes on with."""
        if self._on and any(s is not None and s.listed for s in (old, new)):
            self.sweep()

    def _judge(self, name: Name, claim: Claim | None) -> None:
        """What was not understood may have another body now, or none."""
        self._strange.discard(name)
        super()._judge(name, claim)

    def _better(self, name: Name, body: Body) -> bool:
        """Whether a session of that name can be written to; what runs ends first."""
        if self._runs.busy(body.id):
            return False
        named = self._sessions.by_address(name)
        return any(s.can_own and not self._ours(s) for s in named)

    def _stand(self, name: Name, body: Body) -> None:
        """Unless nobody here understands it."""
        try:
            command = read(body)
        except BadConfig as error:
            log.warning("%s not to be run: %s", name, error.text)
            self._strange.add(name)
            return
        self._standing[name] = body
        self._sessions.stand(self._as_session(name, body, command))

    def _as_session(self, name: Name, body: Body, command: Command) -> Session:
        """A command as a session."""
        shut, status, waits = None, "idle", ""
        if self._runs.busy(body.id):
            shut, status = Reason.BUSY, "busy"
        elif self._runs.held(body.id):
            shut, status = Reason.SPAWN_FAILING, "waiting"
            waits = f"homi command resume {name}"
        elif self._elsewhere(command, self.session(body)):
            shut, status = Reason.BUSY, "waiting"
            waits = "the end of a session that has its conversation"
            if command.template.live == "codex":
                waits = "its thread, which another name is bound to"
        return replace(
            session_of(name, body),
            entrypoint=command.label,
            status=status,
            waiting_for=waits,
            shut=shut,
        )

    def _elsewhere(self, command: Command, session: str) -> bool:
        """Whether a live session has the conversation: two would write it."""
        if not session or not command.template.live:
            return False
        if command.template.live == "codex":
            # What waits in the queue of a thread is lost as a run in it ends.
            bodies = (claim.body for claim in self._names.all())
            return any(b and (b.client, b.id) == ("codex", session) for b in bodies)
        found = self._sessions.live.values()
        return any(s.session_id == session and not self._ours(s) for s in found)

    def _ours(self, session: Session) -> bool:
        """Whether the session is a run of a command."""
        leaders = self._runs.leaders()
        return bool(leaders) and not leaders.keys().isdisjoint(
            process.ancestors(session.pid)
        )

"""The leg to Codex: one letter into the queue of a thread, by its app server.

Owns the hand-over; what becomes of the letter is the witness's.  It is looked for
before it is put there: an earlier run of homi may have done it.  Measured on Codex
0.171.0; homi-legs(7) has the outcomes.
"""

import logging

from msgspec.structs import replace

from homi.codex import writer
from homi.codex.server import Server, Servers, there
from homi.codex.thread import CLIENT, Cannot, Failed, Lost, Unreachable
from homi.codex.watch import SERVER
from homi.envelope import Reason, Rung
from homi.legs import render
from homi.legs.base import Deferred, Held, Letter, Offered, Outcome
from homi.names import Names
from homi.sessions import Session

log = logging.getLogger("homi.codex")

# A text of a megabyte freezes the screen of the person at the thread for a minute;
# what is longer is read by its id.
CONTENT_MAX = 16_384  # UTF-16 units of JSON
AGAIN = 5.0  # s


class CodexLeg:
    """The leg to a thread of Codex."""

    name = CLIENT
    client = CLIENT

    def __init__(self, servers: Servers, names: Names) -> None:
        """names: what a thread was bound with."""
        self._servers = servers
        self._names = names

    def serves(self, session: Session) -> bool:
        """Whether it is a thread that some client has open."""
        return session.client == CLIENT

    def proofs(self, session: Session) -> frozenset[Rung]:
        """Seen, by the thread's history, where an app server can be asked for it."""
        if session.entrypoint == SERVER:
            return frozenset({Rung.OFFERED, Rung.SEEN})
        return frozenset({Rung.OFFERED})

    async def offer(self, letter: Letter, session: Session) -> Outcome:
        """Queue it once.  Never a turn of homi's own making: it would join the one
        that runs."""
        letter = replace(letter, tooled=True, by_turn=session.entrypoint == SERVER)
        if session.entrypoint != SERVER:
            return await self._by_command(letter, session)
        server = self._servers.of(session.config_dir)
        try:
            return await self._by_server(server, letter, session.session_id)
        except Cannot as error:
            log.warning("%s to=%s %s", letter.msg.id, letter.place, error)
            return await self._by_command(letter, session)
        except Unreachable:
            return Deferred(Reason.UNREACHABLE, AGAIN)
        except Failed as error:
            log.warning("%s to=%s %s", letter.msg.id, letter.place, error)
            return Deferred(Reason.UNREACHABLE, AGAIN)

    async def _by_server(self, server: Server, letter: Letter, thread: str) -> Outcome:
        """Look, then add."""
        status = (await server.thread(thread)).status
        if not status.loaded:
            return Held(Reason.NOT_LOADED)
        message = letter.msg.id
        if not letter.again:
            rows = await server.rows(thread)
            entries = await server.history(thread, {message})
            if there(message, rows, entries) is not None:
                return Offered()
        try:
            await server.add(thread, message, render.turn(letter, CONTENT_MAX))
        except Lost:
            return Deferred(Reason.UNREACHABLE, AGAIN, unclear=True)
        return Offered()

    async def _by_command(self, letter: Letter, session: Session) -> Outcome:
        """Have the client itself keep it for whoever has the thread."""
        claim = self._names.get(letter.place)
        options = {} if claim is None or claim.body is None else claim.body.options
        text = render.turn(letter, CONTENT_MAX)
        place = (str(options.get("program", "")), session.config_dir)
        try:
            await writer.queue(*place, session.session_id, text)
        except Lost:
            return Deferred(Reason.UNREACHABLE, AGAIN, unclear=True)
        except Unreachable as error:
            log.warning("%s to=%s %s", letter.msg.id, letter.place, error)
            return Deferred(Reason.UNREACHABLE, AGAIN)
        return Offered()

"""Every leg that the daemon has, with the witnesses that prove what they hand over,
and what watches the sessions that have no record.

Owns their order: the safest first.  A new leg is a line here.  homi-legs(7).
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from homi.address import Name
from homi.bodies import Bodies
from homi.clock import Clock
from homi.codex.server import Servers
from homi.codex.thread import CLIENT as CODEX
from homi.codex.watch import CodexWatch
from homi.commands.binding import CLIENT as COMMAND
from homi.commands.runs import Runs
from homi.commands.watch import CommandWatch
from homi.envelope import CLAUDE, MessageId
from homi.legs.base import EvidenceSink, Leg, Withdrawn, Witness
from homi.legs.claude import ClaudeLeg
from homi.legs.codex import CodexLeg
from homi.legs.command import CommandLeg, CommandWitness
from homi.legs.hook import HookLeg
from homi.legs.seat import SeatLeg
from homi.legs.threads import Answer, ThreadWitness
from homi.legs.witness import ClaudeWitness
from homi.legs.witnesses import Witnesses
from homi.names import Names
from homi.seatwatch import SeatWatch
from homi.sessions import Session, Sessions
from homi.store.base import Store


class Reach:
    """The ways to hand letters to sessions."""

    def __init__(
        self,
        sink: EvidenceSink,
        clock: Clock,
        names: Names,
        sessions: Sessions,
        store: Store,
        root: Path,
    ) -> None:
        """sink is told what becomes of letters."""
        self.clock = clock
        self._sink = sink
        self._store = store
        self._servers = Servers()
        self._claude = ClaudeWitness(sink, clock)
        self._threads = ThreadWitness(sink, clock, self._servers)
        runs = Runs(os.fspath(root))
        self.runs = CommandWitness(sink, runs)
        self.commands = CommandWatch(names, sessions, runs)
        self.findings = runs.findings
        self.hook = HookLeg(self._claude)
        self.legs: list[Leg] = [
            ClaudeLeg(clock, self._claude),
            self.hook,
            CodexLeg(self._servers, names),
            CommandLeg(names, runs, clock),
            SeatLeg(clock),
        ]
        witnesses: dict[str, Witness] = {
            CLAUDE: self._claude,
            CODEX: self._threads,
            COMMAND: self.runs,
        }
        self.witness = Witnesses(witnesses, sink)
        codex = CodexWatch(names, sessions, self._servers, self._ours, self._back)
        self._bodies = Bodies([codex, self.commands, SeatWatch(names, sessions)])
        self.sweep, self.why = self._bodies.sweep, self._bodies.why

    def answer(self, store: Answer) -> None:
        """Have what a session says at the end of a turn stored as an answer by that."""
        self._threads.answer = store

    def start(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        """Tell from now on which bodies of names can be reached; what ends that, and
        all reading of what sessions write down."""
        self._bodies.start(loop)
        return self._close

    def _close(self) -> None:
        """Watch nothing and read nothing more."""
        self._bodies.stop()
        self._threads.close()
        self._servers.close()
        self._claude.close()

    def _ours(self, name: Name, message: MessageId) -> bool:
        """Whether the mailbox of name has, or had, that message."""
        return self._store.mailbox(name).rung_of(message) is not None

    def _back(self, session: Session, message: MessageId) -> None:
        """A letter was taken back."""
        self._sink(session.ref, Withdrawn(message))

"""Every leg that the daemon has, with the witnesses that prove what they hand over,
and what watches the sessions that have no record.

Owns their order: the safest first.  A new leg is a line here.  homi-legs(7).
"""

import asyncio
from collections.abc import Callable

from homi.bodies import Bodies
from homi.clock import Clock
from homi.envelope import CLAUDE
from homi.legs.base import EvidenceSink, Leg
from homi.legs.claude import ClaudeLeg
from homi.legs.hook import HookLeg
from homi.legs.seat import SeatLeg
from homi.legs.witness import ClaudeWitness
from homi.legs.witnesses import Witnesses
from homi.names import Names
from homi.sessions import Sessions


class Reach:
    """The ways to hand letters to sessions."""

    def __init__(
        self, sink: EvidenceSink, clock: Clock, names: Names, sessions: Sessions
    ) -> None:
        """sink is told what becomes of letters."""
        claude = ClaudeWitness(sink, clock)
        self.hook = HookLeg(claude)
        self.legs: list[Leg] = [ClaudeLeg(clock, claude), self.hook, SeatLeg(clock)]
        self.witness = Witnesses({CLAUDE: claude}, sink)
        self._bodies = Bodies(names, sessions)
        self.sweep = self._bodies.sweep
        self._claude = claude

    def start(self, loop: asyncio.AbstractEventLoop) -> Callable[[], None]:
        """Tell from now on which bodies of names can be reached; what ends that, and
        the reading of transcripts."""
        self._bodies.start(loop)
        return self._close

    def _close(self) -> None:
        """Watch nothing and read nothing more."""
        self._bodies.stop()
        self._claude.close()

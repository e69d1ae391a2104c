"""Every leg that the daemon has, with the witnesses that prove what they hand over.

Owns their order: the safest first.  A new leg is a line here.  homi-legs(7).
"""

from homi.clock import Clock
from homi.envelope import CLAUDE
from homi.legs.base import EvidenceSink, Leg
from homi.legs.claude import ClaudeLeg
from homi.legs.hook import HookLeg
from homi.legs.witness import ClaudeWitness
from homi.legs.witnesses import Witnesses


class Reach:
    """The ways to hand letters to sessions."""

    def __init__(self, sink: EvidenceSink, clock: Clock) -> None:
        """sink is told what becomes of letters."""
        claude = ClaudeWitness(sink, clock)
        self.hook = HookLeg(claude)
        self.legs: list[Leg] = [ClaudeLeg(clock, claude), self.hook]
        self.witness = Witnesses({CLAUDE: claude}, sink)
        self.close = claude.close

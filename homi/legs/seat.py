"""The leg that types: the last resort, for a name that a person bound to a seat.

Owns what the refusals of a seat mean for a letter; how it is typed is homi.seats'.
It proves nothing: what was typed stays offered.  homi-legs(7).
"""

import asyncio

from homi.clock import Clock
from homi.envelope import Reason, Rung
from homi.errors import HomiError, NoInput
from homi.legs import render
from homi.legs.base import Deferred, Held, Letter, Offered, Outcome, Refused
from homi.seats.manners import HeldBack, Why
from homi.seats.server import Server
from homi.seats.typist import Typist
from homi.sessions import Session

# What is typed must be seen to stand there, and clients fold long pastes anyway.
TYPED_MAX = 12_000  # UTF-16 units of a turn; of a longer letter the head is typed
AGAIN = 3.0  # s: no notice tells that a person finished a line
AWAY = 30.0  # s
# After that something of ours stands in the line and nobody confirmed it.
DOUBT = 60.0  # s

_REASONS = {
    Why.APPROVAL: Reason.APPROVAL,
    Why.DRAFT: Reason.DRAFT,
    Why.TYPING: Reason.DRAFT,
    Why.COPY_MODE: Reason.COPY_MODE,
    Why.BUSY: Reason.BUSY,
    Why.BOOTING: Reason.BUSY,
    Why.UNKNOWN: Reason.BUSY,
}


class SeatLeg:
    """Types letters into seats."""

    name = "seat"
    client = "seat"

    def __init__(self, clock: Clock) -> None:
        """Nothing is kept between two letters."""
        self._clock = clock

    def serves(self, session: Session) -> bool:
        """Whether it is a seat that a name was bound to."""
        return session.client == self.name

    def proofs(self, session: Session) -> frozenset[Rung]:
        """OFFERED: that the line was taken is all that a screen shows."""
        return frozenset({Rung.OFFERED})

    async def offer(self, letter: Letter, session: Session) -> Outcome:
        """Offered once it stood in the line, Enter was pressed and the line was
        taken; a thread of its own waits for the screen."""
        text = render.turn(letter, TYPED_MAX)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(None, self._type, session, text)

    def _type(self, session: Session, text: str) -> Outcome:
        """One try."""
        server = Server(session.config_dir)
        try:
            sent = Typist(server).send(server.find(session.session_id), text)
        except HeldBack as error:
            return self.held(Why(error.reason))
        except NoInput:
            return Refused(Reason.UNREACHABLE)
        except HomiError:
            return Deferred(Reason.UNREACHABLE, AWAY)
        if sent.gone:
            return Offered()
        return Deferred(Reason.NO_PROOF, DOUBT, unclear=True)

    def held(self, why: Why) -> Outcome:
        """What a refusal means for the letter."""
        if why is Why.DEAD:
            return Deferred(Reason.UNREACHABLE, AWAY)
        if why is Why.UNVERIFIED:
            return Deferred(Reason.NO_PROOF, DOUBT, unclear=True)
        return Held(_REASONS[why], self._clock.monotonic() + AGAIN)

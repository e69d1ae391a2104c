"""The verb move: a name to another device, or from there to here.

Owns that it is answered once; what is done stands above the doors, behind the protocol
below.  homi-protocol(7) lists the verb.
"""

from collections.abc import Callable
from typing import Protocol

from homi.address import Name
from homi.doors.answers import Answer, Doer, Reply
from homi.errors import HomiError, Unavailable
from homi.requests import Move, Request


class Moves(Protocol):
    """What moves names."""

    def move(self, request: Move, done: Callable[[Answer], None]) -> None:
        """Begin, go on with, or end a move; done once, with what it came to.  It goes
        on where nobody waits for that any more."""
        ...

    def newer(self, name: Name) -> HomiError | None:
        """What newer mail of a name that came here waits for; None: it does not."""
        ...


class Movers:
    """The moves of one caller."""

    def __init__(self, moves: Callable[[], Moves | None]) -> None:
        """moves: None before they are built."""
        self._moves = moves
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verb done here."""
        return {Move: self._move}

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._gone = True

    def _move(self, request: Move, reply: Reply) -> None:
        """Answered at the end of it, or where it cannot go on."""
        moves = self._moves()
        if moves is None:
            raise Unavailable("the daemon is starting")

        def done(answer: Answer) -> None:
            if not self._gone:
                reply(request.i, answer)

        moves.move(request, done)

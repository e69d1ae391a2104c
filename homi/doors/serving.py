"""The verbs about the daemon as a program.

Owns their answers; homid(8) says what a restart is.
"""

from functools import partial

from homi.clock import Clock
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.measures import Samples
from homi.orders.service import Metrics, Restart
from homi.request import Request


class Serving:
    """What one caller has done with the daemon."""

    def __init__(self, office: Office, clock: Clock) -> None:
        """Holds no state of its own."""
        self._office = office
        self._clock = clock

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Restart: self._restart, Metrics: self._metrics}

    def _restart(self, request: Restart, reply: Reply) -> None:
        """Answered when it is certain that it is under way, or that it is not."""
        self._office.restart(partial(reply, request.i))

    def _metrics(self, request: Metrics, reply: Reply) -> None:
        """Answered at once."""
        reply(request.i, Samples(self._office.measured(self._clock.wall())))

"""The verbs about the daemon as a program.

Owns their answers; homid(8) says what a restart is.
"""

from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.errors import HomiError
from homi.orders.service import Restart
from homi.reports import Done
from homi.request import Request


class Serving:
    """What one caller has done with the daemon."""

    def __init__(self, office: Office) -> None:
        """Holds no state of its own."""
        self._office = office

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Restart: self._restart}

    def _restart(self, request: Restart, reply: Reply) -> None:
        """Answered when it is certain that it is under way, or that it is not."""

        def told(error: HomiError | None) -> None:
            reply(request.i, error or Done(text="the new homi takes over"))

        self._office.restart(told)

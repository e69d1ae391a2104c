"""The verbs that show the whole, and the one that ends it: ls, queue, status, whoami.

Owns nothing; the office makes the views.  homi-protocol(7) lists the answers.
"""

from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.reports import Done
from homi.requests import List, Queue, Request, Status, Stop, Whoami


class Views:
    """What one caller is shown."""

    def __init__(self, office: Office, rights: Rights) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {
            List: self._list,
            Queue: self._queue,
            Status: self._status,
            Whoami: self._whoami,
            Stop: self._stop,
        }

    def _list(self, request: List, reply: Reply) -> None:
        reply(request.i, self._office.listing())

    def _queue(self, request: Queue, reply: Reply) -> None:
        name = None if request.name is None else self._rights.mailbox(request.name)
        reply(request.i, self._office.queue(name))

    def _status(self, request: Status, reply: Reply) -> None:
        reply(request.i, self._office.status())

    def _whoami(self, request: Whoami, reply: Reply) -> None:
        reply(request.i, self._office.identity(self._rights.caller))

    def _stop(self, request: Stop, reply: Reply) -> None:
        reply(request.i, Done(text="stopping"))
        self._office.stop()

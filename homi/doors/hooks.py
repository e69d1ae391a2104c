"""The verbs of an agent's own hooks: its mail asked for, its printing confirmed.

Owns which session's mail a hook may have, and the sheet of one connection.
homi-hook(1) is the page.
"""

from homi.address import Name
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.legs.hook import Sheet
from homi.reports import Brief, Done
from homi.requests import Hook, Printed, Request
from homi.sessions import Session


class Hooks:
    """What the hooks of one caller are given."""

    def __init__(self, office: Office, rights: Rights) -> None:
        """No sheet is open."""
        self._office = office
        self._rights = rights
        self._sheet: Sheet | None = None

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Hook: self._hook, Printed: self._printed}

    def abandon(self) -> None:
        """The hook is gone; what it did not confirm counts as not printed."""
        if self._sheet is not None:
            self._sheet.settle(printed=False)
            self._sheet = None

    def _hook(self, request: Hook, reply: Reply) -> None:
        """Answer with the brief of what waits for the session; mostly with none."""
        session = self._rights.caller.session
        if session is None or session.session_id != request.session_id:
            # Of a process between the two nothing is known: it is not that session.
            reply(request.i, Brief())
            return
        self._office.stirred(session)
        names = [] if request.event == "stop" else self._names(session)
        if not names or self._sheet is not None:
            reply(request.i, Brief())
            return
        self._sheet = self._office.brief(
            names, session, lambda text: reply(request.i, Brief(text=text))
        )
        if self._sheet is None:
            reply(request.i, Brief())

    def _printed(self, request: Printed, reply: Reply) -> None:
        """The text is out."""
        if self._sheet is not None:
            self._sheet.settle(printed=True)
            self._sheet = None
        reply(request.i, Done(text="noted"))

    def _names(self, session: Session) -> list[Name]:
        """The claimed names whose mail is that session's, and reaches it by no better
        way."""
        address, office = session.address, self._office
        if session.socket or address is None or office.names.get(address) is None:
            return []
        asking = office.owners.asking(address)
        return [address] if asking is not None and asking.pid == session.pid else []

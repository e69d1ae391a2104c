"""The verbs of names: claim and release.

Owns what a caller is told of a claim; names.py keeps it.  homi-claim(1) is the page.
"""

from homi.address import parse_claimable
from homi.clock import Clock
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.errors import CannotCreate, NotAllowed
from homi.reports import Claimed, Done
from homi.requests import CallerClass, Claim, Release, Request


class Naming:
    """What one caller makes and ends."""

    def __init__(self, office: Office, rights: Rights, clock: Clock) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights
        self._clock = clock

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Claim: self._claim, Release: self._release}

    def _claim(self, request: Claim, reply: Reply) -> None:
        """Make a name; repeating it is no error."""
        name = parse_claimable(request.name)
        if request.take:
            self._rights.need_person("claim --take")
        claim, fresh = self._office.names.claim(name, request.cwd, self._clock.wall())
        if request.take:
            self._office.take(name)
        if why := self._office.unbound(claim.number):
            raise CannotCreate(f"{name} is claimed, but its socket cannot be: {why}")
        owner = self._office.owners.owner(name)
        reply(
            request.i,
            Claimed(
                name=claim.name,
                fresh=fresh,
                socket=self._office.socket_for(name),
                owner=owner.pid if owner else 0,
            ),
        )

    def _release(self, request: Release, reply: Reply) -> None:
        """End a claim; its mail stays on disk."""
        name = parse_claimable(request.name)
        if self._rights.caller.caller is CallerClass.SESSION and not self._rights.owns(
            name
        ):
            raise NotAllowed(f"the name {name} is not this session's")
        self._office.names.release(name)
        pending = len(self._office.store.mailbox(name).pending)
        reply(request.i, Done(text=f"released {name}", pending=pending))

"""Which part of the control door does each verb, for one caller.

Owns the table of verbs of one connection; what a verb does is beside it, by noun.
homi-protocol(7) lists verbs, fields and answers.
"""

from homi.callers import Caller
from homi.clock import Clock
from homi.doors.abroad import Abroad
from homi.doors.adopting import Adopting
from homi.doors.answers import Doer, Reply
from homi.doors.asking import Asking
from homi.doors.bundling import Bundling
from homi.doors.carrying import Carrying
from homi.doors.commanding import Commanding
from homi.doors.farseats import FarSeats
from homi.doors.hooks import Hooks
from homi.doors.importing import Importing
from homi.doors.linking import Linking
from homi.doors.moving import Movers
from homi.doors.naming import Naming
from homi.doors.office import Office
from homi.doors.peering import Peering
from homi.doors.posting import Posting
from homi.doors.pruning import Pruning
from homi.doors.queueing import Queueing
from homi.doors.readmission import Readmission
from homi.doors.rights import Rights
from homi.doors.rooming import Rooming
from homi.doors.seating import Seating
from homi.doors.serving import Serving
from homi.doors.spawning import Spawning
from homi.doors.underway import Own
from homi.doors.views import Views
from homi.doors.waking import Waking
from homi.errors import Usage
from homi.requests import Hello, Request


class Verbs:
    """The verbs as one caller may use them."""

    def __init__(self, office: Office, caller: Caller, clock: Clock) -> None:
        """Every verb of homi.requests has its doer."""
        self.caller = caller
        rights = Rights(office, caller)
        self._posting = Posting(office, rights, clock)
        self._asking = Asking(office, rights, self._posting.stamp)
        self._hooks = Hooks(office, rights)
        self._linking = Linking(lambda: office.links, caller)
        self._bundling = Bundling(lambda: office.bundles)
        self._abroad = Abroad(lambda: office.neighbours)
        self._carrying = Carrying(lambda: office.bulk)
        self._seating = Seating(office, rights)
        self._far_seats = FarSeats(office, caller)
        self._spawning = Spawning(office, rights, clock)
        self._adopting = Adopting(office, rights, clock)
        self._waking = Waking(office, rights, clock)
        self._movers = Movers(lambda: office.moves)
        self._rooming = Rooming(office, rights, clock)
        self._own = Own(office.underway)
        self.doers = self._own.counted(self._all(office, rights, clock))

    def _all(
        self, office: Office, rights: Rights, clock: Clock
    ) -> dict[type[Request], Doer]:
        """The doer of each."""
        return {
            Hello: _again,
            **self._posting.doers(),
            **self._asking.doers(),
            **self._hooks.doers(),
            **Naming(office, rights, clock).doers(),
            **Peering(office, rights, clock).doers(),
            **Commanding(office, clock).doers(),
            **self._rooming.doers(),
            **Importing(office, rights).doers(),
            **Readmission(office, rights).doers(),
            **Queueing(office, rights, clock).doers(),
            **Pruning(office, rights, clock).doers(),
            **self._linking.doers(),
            **self._bundling.doers(),
            **self._abroad.doers(),
            **self._carrying.doers(),
            **self._seating.doers(),
            **self._far_seats.doers(),
            **self._spawning.doers(),
            **self._adopting.doers(),
            **self._waking.doers(),
            **self._movers.doers(),
            **Views(office, rights).doers(),
            **Serving(office, clock).doers(),
        }

    def abandon(self) -> None:
        """The caller is gone: nobody waits for it any more."""
        self._posting.abandon()
        self._asking.abandon()
        self._hooks.abandon()
        self._linking.abandon()
        self._bundling.abandon()
        self._abroad.abandon()
        self._carrying.abandon()
        self._seating.abandon()
        self._far_seats.abandon()
        self._spawning.abandon()
        self._adopting.abandon()
        self._waking.abandon()
        self._movers.abandon()
        self._rooming.abandon()
        self._own.abandon()


def _again(_request: Request, _reply: Reply) -> None:
    """A connection says hello once."""
    raise Usage("hello was said already")

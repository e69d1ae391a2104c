"""Whether a message is admitted, and whether it goes further by itself.

Owns the order in which that is asked; each rule is in homi.gate, homi.hops or
homi.guard.  Whether there is room for it is another matter.
"""

from homi import gate
from homi.address import OWNER, Name
from homi.envelope import Kind, Reason
from homi.errors import HomiError
from homi.guard import Guard
from homi.hops import is_loop
from homi.names import Names
from homi.replies import Replies
from homi.store.base import Store
from homi.submission import Submission

SENDERS = 64  # of one way in, of whom it is known that their letters are taken
_MAIL = Kind.MAIL  # of nearly every one: asked of its class, a member costs more


class Admission:
    """Says no, not yet, or nothing."""

    def __init__(self, names: Names, store: Store, replies: Replies) -> None:
        """Without a guard no bound counts, and no policy forbids."""
        self._names = names
        self._store = store
        self._replies = replies
        self.guard: Guard | None = None  # set by the daemon

    def refusal(self, sub: Submission, place: Name, length: int) -> HomiError | None:
        """Why it is not taken, wherever there may be room for it."""
        head, stamp = sub.head, sub.stamp
        via = stamp.via
        if self._names.is_room(place) and (why := gate.room_refused(head, via)):
            return why
        # A plain letter is refused for its sender alone, which is asked once of each.
        letter = head.kind is _MAIL and not (head.auto or via.moved)
        if not (letter and head.from_ in stamp.letters):
            why = (
                self._link_refused(sub, place)
                if stamp.linked
                else gate.kind_refused(head, via.door)
            )
            if why is not None:
                return why
            if letter and len(stamp.letters) < SENDERS:
                stamp.letters.add(head.from_)
        return gate.too_long(length, self._store.largest_line())

    def _link_refused(self, sub: Submission, place: Name) -> HomiError | None:
        """Why another device may not submit that.  What follows a name that came from
        there may be of any kind: it was admitted where the name was."""
        device, about, via = sub.stamp.via.device, sub.head.reply_to, sub.stamp.via
        peer = via.relay or device
        if via.moved and peer and self._names.departures.follows(place, sub.to, peer):
            return None
        ours = about is not None and self._replies.sent(device, about)
        return gate.link_refused(sub.head, device, ours=ours)

    def parked(
        self, sub: Submission, place: Name, to: str, hops: tuple[str, ...]
    ) -> Reason | HomiError | None:
        """Why it is kept but goes no further by itself, or is not taken at all."""
        if hops and is_loop(hops):
            return Reason.LOOP
        if sub.head.needs and place == OWNER:
            return Reason.APPROVAL
        if sub.permit is not None and (sub.clear or self._names.is_room(place)):
            return Reason.SCAN  # until the ledger says who let it leave, and why
        if self.guard is None or sub.stamp.free:
            return None
        stamp = sub.stamp
        return self.guard.judge(sub.head, to, stamp.via, stamp.process, sub.told)

"""What each leg could do for a session now: what `homi legs` shows.

Owns the answer to why a letter would not be handed over; changes nothing.
homi-legs(7) has the reasons.
"""

from collections.abc import Sequence

import msgspec

from homi.address import Name
from homi.courier.hands import Hands
from homi.courier.offering import Offering
from homi.envelope import Reason, Rung
from homi.legs.base import Leg
from homi.sessions import Session


class Outlook(msgspec.Struct, frozen=True):
    """One leg to one session."""

    leg: str
    reason: Reason | None = None  # why it is not used now; None: it would be
    until: float | None = None  # wall seconds: not before
    proofs: frozenset[Rung] = frozenset()


def outlook(
    legs: Sequence[Leg], name: Name, session: Session, hands: Hands, offering: Offering
) -> list[Outlook]:
    """Each leg for sessions of that client, in the order of its use; only the first
    that serves may be usable."""
    found: list[Outlook] = []
    reason, until = offering.stopped(name, session)
    if reason is None and hands.room(session) <= 0:
        reason = Reason.PACED
    for leg in legs:
        if leg.client != session.client:
            continue
        if not offering.allows(name, leg):
            found.append(Outlook(leg.name, Reason.OPERATOR))
        elif leg.serves(session):
            found.append(Outlook(leg.name, reason, until, leg.proofs(session)))
        else:
            found.append(Outlook(leg.name, Reason.UNREACHABLE))
    return found

"""What the refusals of a seat mean for a letter."""

import pytest

from homi.clock import SystemClock
from homi.envelope import Reason, Rung
from homi.legs.base import Deferred, Held, Outcome, Refused
from homi.legs.seat import SeatLeg
from homi.seats.manners import Why
from homi.sessions import Session

SEAT = Session(pid=0, start="seat:%3.1.1", session_id="%3.1.1", client="seat")


def test_it_serves_seats_alone_and_proves_no_reading() -> None:
    leg = SeatLeg(SystemClock())
    assert leg.serves(SEAT)
    assert not leg.serves(Session(pid=1, start="1", socket="/s"))
    assert leg.proofs(SEAT) == {Rung.OFFERED}


@pytest.mark.parametrize(
    ("why", "kind", "reason"),
    [
        (Why.APPROVAL, Held, Reason.APPROVAL),
        (Why.DRAFT, Held, Reason.DRAFT),
        (Why.TYPING, Held, Reason.DRAFT),
        (Why.COPY_MODE, Held, Reason.COPY_MODE),
        (Why.BUSY, Held, Reason.BUSY),
        (Why.BOOTING, Held, Reason.BUSY),
        (Why.UNKNOWN, Held, Reason.BUSY),
        (Why.DEAD, Deferred, Reason.UNREACHABLE),
        (Why.UNVERIFIED, Deferred, Reason.NO_PROOF),
    ],
)
def test_each_reason_to_leave_a_seat_alone_keeps_the_letter(
    why: Why, kind: type[Outcome], reason: Reason
) -> None:
    found = SeatLeg(SystemClock()).held(why)
    assert isinstance(found, kind)
    assert found.reason is reason
    assert isinstance(found, Held | Deferred)
    assert not isinstance(found, Refused)
    if isinstance(found, Deferred):
        assert found.unclear == (why is Why.UNVERIFIED)

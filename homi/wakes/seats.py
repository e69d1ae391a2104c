"""Seats whose programs are waited for.

Owns what is told of an end; tmux knows it, and is asked in a thread.  homi-seat(1).
"""

import time

from homi.claims import Body
from homi.errors import HomiError
from homi.seats.server import Server
from homi.seatwatch import CLIENT, process_of
from homi.wakes.progress import Firing
from homi.wakes.state import Trigger

TRIES, PAUSE = 20, 0.05  # s: tmux hears of an end after the kernel told us


def firing(trigger: Trigger) -> Firing:
    """The one envelope of a seat whose program ended."""
    facts = [("seat", trigger.value), ("status", _status(trigger))]
    return Firing(slot=trigger.ref, at=0.0, facts=facts)


def process(trigger: Trigger) -> tuple[int, str]:
    """The program that is waited for: its pid and start time."""
    return process_of(Body(client=CLIENT, id=trigger.ref))


def _status(trigger: Trigger) -> str:
    """With what it ended, as far as tmux noted that."""
    for _ in range(TRIES):
        try:
            seats = Server(trigger.socket).seats()
        except HomiError:
            break
        seat = next((seat for seat in seats if seat.ref == trigger.ref), None)
        if seat is None or seat.ended:
            return "unknown, its seat is gone" if seat is None else seat.ended
        time.sleep(PAUSE)
    return "unknown"

"""Where mail waits that is newer than what is still on its way to the same name.

Owns the choice of that place: the queue for this device itself, which no link drains.
Writes nothing.  homi-move(1) states the rule.
"""

from homi.address import Device, Name, parse_address
from homi.departures import Departures
from homi.routing import Place
from homi.store.base import Store
from homi.store.places import queue_of
from homi.submission import Submission


def aside(name: Name, device: Device) -> Place:
    """Where it waits, with the address it has there."""
    return Place("queue", queue_of(device), f"{name}@{device}")


def behind(
    moves: Departures, store: Store, device: Device, sub: Submission, name: Name
) -> Place | None:
    """Where sub, for a name here, waits; None: nothing that is older comes.

    A second try of what went by the old way goes by that again: it is known there.
    History that comes with the name is older than all.
    """
    older, via = moves.older(name), sub.stamp.via
    if not older or via.was is not None or moves.follows_here(name, via.moved):
        return None
    for to in older:
        there = parse_address(to).device
        box = None if there is None else store.known(queue_of(Device(there)))
        if box is not None and box.seq_of(sub.head.id) is not None:
            return Place("queue", box.name, to)
    return aside(name, device)

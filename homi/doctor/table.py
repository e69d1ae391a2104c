"""Every check, in the order in which they are told.

Owns the order: what others rest on comes first.
"""

from homi.doctor import (
    blobs,
    clients,
    links,
    mail,
    place,
    service,
    sessions,
    state,
    tools,
    trip,
)
from homi.doctor.check import Check

CHECKS: tuple[Check, ...] = (
    *place.CHECKS,
    *state.CHECKS,
    *tools.CHECKS,
    *service.CHECKS,
    *mail.CHECKS,
    *blobs.CHECKS,
    *sessions.CHECKS,
    *clients.CHECKS,
    *links.CHECKS,
    *trip.CHECKS,
)

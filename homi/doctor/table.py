"""Every check, in the order in which they are told.

Owns the order: what others rest on comes first.
"""

from homi.doctor import links, mail, place, service, sessions, tools, trip
from homi.doctor.check import Check

CHECKS: tuple[Check, ...] = (
    *place.CHECKS,
    *tools.CHECKS,
    *service.CHECKS,
    *mail.CHECKS,
    *sessions.CHECKS,
    *links.CHECKS,
    *trip.CHECKS,
)

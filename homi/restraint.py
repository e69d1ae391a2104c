"""The bounds and the policy of a daemon, joined to the parts they concern.

Owns who tells them what; what they decide is theirs.  homi-limits(7).
"""

from collections.abc import Callable
from contextlib import AsyncExitStack

from msgspec.structs import replace

from homi.address import Name
from homi.bounds import Bounds
from homi.clock import Clock
from homi.courier.courier import Courier
from homi.doors.office import Office
from homi.guard import Guard
from homi.names import Names
from homi.policy import Policy
from homi.quiet import parse_window
from homi.settings import Settings
from homi.store.disk import RealDisk


def connect(
    office: Office, courier: Courier, clock: Clock, ends: AsyncExitStack
) -> Bounds:
    """Read what was counted before, and count from now on, up to ends."""
    bounds = Bounds(office.root, office.store, clock, RealDisk())
    ends.callback(bounds.close)
    guard = Guard(bounds, office.config.policy, office.device)
    office.postmaster.admission.guard = guard
    office.bounds, office.given = bounds, bounds.given
    office.sessions.subscribe(bounds.changed)
    courier.subscribe(bounds.recorded)
    courier.offering.rest = bounds.rest
    return bounds


def settings(names: Names, policy: Policy) -> Callable[[Name], Settings]:
    """What was chosen for a name, with the policy's quiet hours where it has none; what
    is given to a command is not listed in digests unless that was chosen."""
    quiet = parse_window(policy.quiet) if policy.quiet else None

    def chosen(name: Name) -> Settings:
        own, claim = names.settings(name), names.get(name)
        if quiet is not None and not own.awake and own.quiet is None:
            own = replace(own, quiet=quiet)
        if claim is not None and claim.run:
            # Few commands can read the letters that a digest only lists.
            own = own if "digest" in claim.settings else replace(own, digest=None)
        return own

    return chosen

"""Names in front: each stays listed while its session goes by another name.

Owns what that other name takes from the names of a device.  Pure; homi-claim(1).
"""

from collections.abc import Callable, Mapping

from homi.address import Name
from homi.claims import Alias, Claim
from homi.errors import CannotCreate
from homi.routing import check_length, fronted_by, live_name


def front_of(claims: Mapping[str, Claim], name: Name) -> Name | None:
    """The name in front whose sessions are called so; None: there is none."""
    front = fronted_by(name)
    if front is None or name in claims:
        return None
    claim = claims.get(front)
    return front if claim is not None and claim.front else None


def check_front(
    claims: Mapping[str, Claim], alias: Callable[[str], Alias | None], name: Name
) -> None:
    """Usage (64) for a name too long to be in front, CannotCreate (73) where what its
    session would be called is a name of its own."""
    check_length(name)
    behind = live_name(name, 1)
    if behind in claims or alias(behind):
        raise CannotCreate(
            f"{behind} is a name of its own here",
            hint=f"the session of {name} would be called so:"
            f" homi release {behind}, or homi alias rm {behind}",
        )


def check_not_behind(claims: Mapping[str, Claim], name: Name) -> None:
    """73 for what sessions behind a name in front are called."""
    if (front := front_of(claims, name)) is not None:
        raise CannotCreate(
            f"{name} is what the session behind {front} is called",
            hint=f"homi claim --no-front {front} first",
        )

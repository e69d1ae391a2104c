"""What every request has, and the classes of those who ask.

Owns the base that each verb is built on; homi.requests lists the verbs.
homi-protocol(7) is the page.
"""

from enum import StrEnum
from typing import ClassVar

import msgspec


class CallerClass(StrEnum):
    """What the peer credentials of a connection prove about who calls."""

    SESSION = "session"  # it or an ancestor is a live agent session
    PERSON = "person"  # a terminal, and no agent among its ancestors or variables
    SERVICE = "service"  # neither


EVERYONE = frozenset(CallerClass)


class Request(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="verb",
    gc=False,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A verb; i comes back in its answer, so that answers may overtake."""

    callers: ClassVar[frozenset[CallerClass]] = EVERYONE
    looks: ClassVar[bool] = False  # it changes nothing: asked twice it does no harm
    soon: ClassVar[bool] = False  # done beside the loop: a restart lets it end
    i: int = 0

    @property
    def again(self) -> bool:
        """Whether it may be asked again where the first time may have been done."""
        return self.looks

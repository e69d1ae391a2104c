"""What every drain works with: the parts it is given, and what it asks of owners.

Owns no behaviour.  The courier fills it in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from homi.address import Name
from homi.clock import Clock
from homi.courier.digests import Accept
from homi.courier.hands import Hands
from homi.courier.ledger import Ledger
from homi.courier.offering import Offering
from homi.envelope import SessionRef
from homi.sessions import Session
from homi.settings import Settings
from homi.store.base import Store
from homi.store.mailbox import Item

Tell = Callable[[Item, Name, str, str], None]  # about, its mailbox, step, text


class Owning(Protocol):
    """What the courier asks of owners."""

    def owner(self, name: Name) -> Session | None:
        """The live session that has the name."""
        ...

    def names_of(self, ref: SessionRef) -> list[Name]:
        """The names that session owns."""
        ...


@dataclass(frozen=True, slots=True)
class Means:
    """What every drain works with."""

    store: Store
    owners: Owning
    hands: Hands
    ledger: Ledger
    offering: Offering
    clock: Clock
    tell: Tell
    accept: Accept
    settings: Callable[[Name], Settings]
    stopping: Callable[[], bool]
    awaited: Callable[[Item], bool]  # somebody waits for that answer and takes it

"""Whether a place takes one more message, and that none overtakes one it did not take.

Owns what found no room and is not answered yet; the bounds are the gate's.
homi-protocol(7).
"""

from collections.abc import Callable

from homi import gate
from homi.address import Device, Name
from homi.errors import HomiError
from homi.store.base import Mail, Store
from homi.store.mailbox import Mailbox
from homi.store.places import queue_of

Done = Callable[[Mail], None]


class Space:
    """The space of every place of one store."""

    def __init__(self, store: Store, reserve: int, here: Device) -> None:
        """reserve: bytes of disk that new mail must leave free."""
        self._store = store
        self._reserve = reserve
        self._shared = queue_of(here)  # in it each address has a bound of its own
        # How many found none and are not answered yet, with the reason of the last.
        self._short: dict[str, tuple[int, HomiError]] = {}

    def refusal(self, place: Name, length: int, to: str) -> HomiError | None:
        """Why place takes nothing of this length for that address now; None when it
        does."""
        key = self._key(place, to)
        if self._short and key in self._short:
            # Room that came meanwhile must let nothing overtake what was refused.
            return self._short[key][1]
        store = self._store
        box = store.mailbox(place)
        if place == self._shared and (full := _aside_full(box, length, to)):
            return full
        return gate.no_room(
            len(box.pending) + box.coming,
            box.pending_bytes + box.coming_bytes,
            length,
            store.free_bytes(),
            self._reserve,
            box.device,
        )

    def short(self, place: Name, to: str, why: HomiError, done: Done) -> Done:
        """Place has none for a mail: what to call in the place of done, which follows,
        when it is answered."""
        key = self._key(place, to)
        count, _ = self._short.get(key, (0, why))
        self._short[key] = (count + 1, why)

        def answered(mail: Mail) -> None:
            count, last = self._short.pop(key)
            if count > 1:
                self._short[key] = (count - 1, last)
            done(mail)

        return answered

    def _key(self, place: Name, to: str) -> str:
        """What has a bound of its own there."""
        return to if place == self._shared else place


def _aside_full(box: Mailbox, length: int, to: str) -> HomiError | None:
    """Why no more may wait for older mail of one name, as many as its mailbox may
    hold: it takes no room from another's."""
    if not gate.over_quota(len(box.pending), box.pending_bytes + length):
        return None
    mine = [item.length for item in box.pending.values() if item.to == to]
    return gate.no_room_aside(len(mine), sum(mine) + length, to)

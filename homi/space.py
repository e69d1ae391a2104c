"""Whether a place takes one more message, and that none overtakes one it did not take.

Owns what found no room and is not answered yet; the bounds are the gate's.
homi-protocol(7).
"""

from collections.abc import Callable

from homi import gate
from homi.address import Name
from homi.errors import HomiError
from homi.store.base import Mail, Store

Done = Callable[[Mail], None]


class Space:
    """The space of every place of one store."""

    def __init__(self, store: Store, reserve: int) -> None:
        """reserve: bytes of disk that new mail must leave free."""
        self._store = store
        self._reserve = reserve
        # How many found none and are not answered yet, with the reason of the last.
        self._short: dict[Name, tuple[int, HomiError]] = {}

    def refusal(self, place: Name, length: int) -> HomiError | None:
        """Why place takes nothing of this length now; None when it does."""
        if self._short and place in self._short:
            # Room that came meanwhile must let nothing overtake what was refused.
            return self._short[place][1]
        store = self._store
        box = store.mailbox(place)
        return gate.no_room(
            len(box.pending) + box.coming,
            box.pending_bytes + box.coming_bytes,
            length,
            store.free_bytes(),
            self._reserve,
            box.device,
        )

    def short(self, place: Name, why: HomiError, done: Done) -> Done:
        """Place has none for a mail: what to call in the place of done, which follows,
        when it is answered."""
        count, _ = self._short.get(place, (0, why))
        self._short[place] = (count + 1, why)

        def answered(mail: Mail) -> None:
            count, last = self._short.pop(place)
            if count > 1:
                self._short[place] = (count - 1, last)
            done(mail)

        return answered

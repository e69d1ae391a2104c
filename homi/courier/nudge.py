"""A session whose model failed keeps its letters, and nobody acts on them: remind it.

Owns when a name is reminded, never what is delivered: the reminder is mail like any
other, and the next request holds the letters before it.  homi-legs(7).
"""

import asyncio
from collections.abc import Callable

from homi.address import Name
from homi.courier.means import Owning
from homi.courier.rules import process_of
from homi.envelope import AGENT_KINDS, LedgerLine, Reason
from homi.sessions import Session
from homi.store.base import Store
from homi.store.mailbox import Item, Mailbox

FIRST = 60.0  # s after a failure: most outages of a model are over by then
LONGEST = 6 * 3600.0  # s between two reminders, doubled up to this

Remind = Callable[[Name, Item], None]


class Nudges:
    """At most one timer a name.  All on the loop."""

    def __init__(
        self, store: Store, owners: Owning, remind: Remind, *, first: float = FIRST
    ) -> None:
        """remind sends the owner of a name a notice about the letter it holds."""
        self._store = store
        self._owners = owners
        self._remind = remind
        self._first = first
        self._timers: dict[Name, asyncio.TimerHandle] = {}
        self._sent: dict[Name, int] = {}

    def watch(self, name: Name, item: Item | None, line: LedgerLine) -> None:
        """The courier recorded a line: is it a failure to come back to?"""
        if line.reason is Reason.MODEL_UNAVAILABLE:
            self._later(name)

    def sweep(self) -> None:
        """Find failures of before a restart, or of a notice that got lost."""
        for box in self._store.mailboxes():
            if _stuck(box) is not None:
                self._later(box.name)

    def close(self) -> None:
        """Remind nobody any more."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _later(self, name: Name) -> None:
        """Look again when it is time, longer each time."""
        if name not in self._timers:
            delay = min(self._first * 2.0 ** self._sent.get(name, 0), LONGEST)
            loop = asyncio.get_running_loop()
            self._timers[name] = loop.call_later(delay, self._due, name)

    def _due(self, name: Name) -> None:
        """Remind the session if nothing else will make its model try again."""
        del self._timers[name]
        box = self._store.mailbox(name)
        item = _stuck(box)
        if item is None:
            self._sent.pop(name, None)
            return
        if _is_with(item, self._owners.owner(name)) and not _more_comes(box):
            self._sent[name] = self._sent.get(name, 0) + 1
            self._remind(name, item)
        self._later(name)


def _stuck(box: Mailbox) -> Item | None:
    """The oldest letter the model failed on; a reminder itself is none."""
    for item in box.pending.values():
        if item.reason is Reason.MODEL_UNAVAILABLE and item.kind in AGENT_KINDS:
            return item
    return None


def _is_with(item: Item, owner: Session | None) -> bool:
    """Whether the session that holds the letter lives and does nothing."""
    return (
        owner is not None
        and owner.status == "idle"
        and item.session is not None
        and process_of(item.session) == process_of(owner.ref)
    )


def _more_comes(box: Mailbox) -> bool:
    """Whether another letter is on its way, and will be the reminder."""
    return any(item.session is None for item in box.pending.values())

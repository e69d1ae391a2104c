"""Messages on their way over one connection, so many at once, told in their order.

Owns which of them are still without an answer, and must be written again where the
connection was lost.  Knows nothing of connecting.
"""

from collections.abc import Iterable, Iterator

from homi.connection import Connection
from homi.errors import HomiError
from homi.outgoing import Outgoing
from homi.reports import SendReport

Outcome = SendReport | HomiError


class Window:
    """One run through the messages of a source."""

    def __init__(self, messages: Iterable[Outgoing], size: int) -> None:
        """Nothing is taken from messages yet; at least one is on its way at once."""
        self._source = iter(messages)
        self._size = max(1, size)
        self._waiting: dict[int, Outgoing] = {}
        self._unsent: list[int] = []
        self._done: dict[int, Outcome] = {}
        self._on: Connection | None = None
        self._taken = 0
        self._given = 0

    def fill(self) -> bool:
        """Take messages until the window is full; whether any waits for an answer."""
        while len(self._waiting) < self._size:
            message = next(self._source, None)
            if message is None:
                break
            self._taken += 1
            self._waiting[self._taken] = message
            self._unsent.append(self._taken)
        return bool(self._waiting)

    @property
    def empty(self) -> bool:
        """Whether no answer is due."""
        return not self._waiting

    def exchange(self, at: Connection) -> None:
        """Write what is not written on this connection, and take what comes back."""
        if at is not self._on:
            self._on, self._unsent = at, list(self._waiting)
        unsent, self._unsent = self._unsent, []
        requests = []
        for i in unsent:
            try:
                requests.append(self._waiting[i].request(i, at.welcome.name))
            except HomiError as error:
                self._settle(i, error)
        at.put(requests)
        while self._waiting:
            self._settle(*at.take(SendReport))
            if not at.answered():
                return

    def results(self) -> Iterator[Outcome]:
        """What is known of the next messages, as far as none before them is open."""
        while self._given + 1 in self._done:
            self._given += 1
            yield self._done.pop(self._given)

    def _settle(self, i: int, outcome: Outcome) -> None:
        """One message has its answer."""
        del self._waiting[i]
        self._done[i] = outcome

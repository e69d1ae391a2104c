"""Which lanes of a mailbox go on, and when the next of them is due: pure.

A lane is a sender's letters to one name; it waits for its own head only.
"""

from homi.courier.rules import Wait


class Lanes:
    """What one pass over a mailbox found out."""

    __slots__ = ("_all", "_waits", "due")

    def __init__(self) -> None:
        """Every lane goes on."""
        self._waits: dict[str, Wait] = {}
        self._all: Wait | None = None
        self.due: float | None = None  # wall seconds: the earliest moment of any

    def wait(self, lane: str, wait: Wait) -> None:
        """Note why a letter waits, and stop its lane if it says so."""
        if wait.lane:
            self._waits.setdefault(lane, wait)
        self.at(wait.until)

    def wait_all(self, wait: Wait) -> None:
        """Nothing more goes to this session now."""
        if self._all is None:
            self._all = wait
        self.at(wait.until)

    def at(self, moment: float | None) -> None:
        """Something is due at this wall time."""
        if moment is not None and (self.due is None or moment < self.due):
            self.due = moment

    def stopped(self, lane: str) -> Wait | None:
        """Why the lane does not go on; None: it does."""
        return self._waits.get(lane) or self._all

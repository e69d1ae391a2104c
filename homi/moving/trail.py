"""How long a name waited for its older mail, over restarts, and when that is over.

Owns the two bounds and how often it is kept how far it is; knows nothing of mail.
homi-move(1) states the rule.
"""

import asyncio
from collections.abc import Callable

from homi.claims import Waited
from homi.clock import Clock

LAPSE = 600.0  # s in which nothing moves: then order matters less than the mail
MOST = 86_400.0  # s in all: what another device says of its mail may not be so
SOONEST, LATEST = 0.05, 2.0  # s until it is looked at again
KEPT, RARELY = 1.0, 60.0  # s after which it is kept at first, and later


class Trail:
    """How far the older mail of a name is, to see whether it moves at all.  What counts
    is the time in which a daemon ran and looked."""

    def __init__(
        self, clock: Clock, before: Waited, keep: Callable[[Waited], None]
    ) -> None:
        """before: what daemons before this one waited."""
        self._clock = clock
        self._before = before
        self._keep = keep
        self._begun = self._kept = self._now = clock.monotonic()
        self._seen, self._since = before.seen, self._begun - before.still
        self._delay = SOONEST

    async def look(self, seen: str) -> None:
        """Wait a moment; TimeoutError where what is seen stays the same too long, or
        it takes too long whatever is seen."""
        self._now = now = self._clock.monotonic()
        if seen != self._seen:
            self._seen, self._since, self._delay = seen, now, SOONEST
        # Each time is as long as all before it: a daemon that is killed again and
        # again still comes to the end.
        if now - self._kept >= min(max(self._kept - self._begun, KEPT), RARELY):
            self.keep()
        if self._waited.s >= MOST or self._waited.still >= LAPSE:
            raise TimeoutError
        await asyncio.sleep(self._delay)
        self._delay = min(2 * self._delay, LATEST)

    def keep(self) -> None:
        """Let the next daemon know how far it is."""
        self._kept = self._now
        self._keep(self._waited)

    @property
    def _waited(self) -> Waited:
        """How long it was, as of the last look."""
        return Waited(
            s=self._before.s + self._now - self._begun,
            still=self._now - self._since,
            seen=self._seen,
        )

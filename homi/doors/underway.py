"""What callers have under way that is answered soon: a restart lets it end first.

Owns the count of it.  Which verbs these are their structs say; what waits for others
is not among them, and is asked again of the next homi.  homid(8) has the steps.
"""

import asyncio
import contextlib
from collections.abc import Mapping

from homi.doors.answers import Answer, Doer, Reply
from homi.errors import HomiError
from homi.request import Request


class Underway:
    """That of all callers."""

    def __init__(self) -> None:
        """Nothing is."""
        self._count = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    def more(self, by: int) -> None:
        """So many more, or fewer."""
        self._count += by
        if self._count:
            self._quiet.clear()
        else:
            self._quiet.set()

    async def ended(self, seconds: float) -> int:
        """Wait so long for all of it to end; how many are left."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._quiet.wait()
        return self._count


class Own:
    """That of one caller."""

    def __init__(self, underway: Underway) -> None:
        """Nothing is."""
        self._underway = underway
        self._count = 0

    def counted(self, doers: Mapping[type[Request], Doer]) -> dict[type[Request], Doer]:
        """The same, those that are answered soon counted until they are."""
        return {
            verb: self._counted(doer) if verb.soon else doer
            for verb, doer in doers.items()
        }

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._more(-self._count)

    def _counted(self, doer: Doer) -> Doer:
        """Counted from its request to its answer, or to its refusal."""

        def do(request: Request, reply: Reply) -> None:
            def told(i: int, answer: Answer) -> None:
                self._more(-1)
                reply(i, answer)

            self._more(1)
            try:
                doer(request, told)
            except HomiError:
                self._more(-1)
                raise

        return do

    def _more(self, by: int) -> None:
        """So many more, or fewer; nothing where all was given up already."""
        if self._count + by >= 0:
            self._count += by
            self._underway.more(by)

"""The verb bundle: mail of another device that was carried here by hand.

Owns who may bring it in; what a line means stands above the doors, behind the protocol
below.  homi-protocol(7) lists the verb.
"""

from collections.abc import Callable
from typing import Protocol

from homi.doors.answers import Doer, Reply
from homi.errors import Unavailable
from homi.linked import Bundled
from homi.requests import Bundle, Request


class Inward(Protocol):
    """One bundle on its way in."""

    def take(self, lines: list[bytes], done: Callable[[Bundled], None]) -> None:
        """Deal with the next lines; done when all is durable or refused."""
        ...


class Bundles(Protocol):
    """What takes bundles in."""

    def open(self, device: str, key: str) -> Inward:
        """The way in of one by device, signed by key; 68 and 77 else."""
        ...


class Bundling:
    """The bundles of one caller."""

    def __init__(self, bundles: Callable[[], Bundles | None]) -> None:
        """bundles: None before they are built."""
        self._bundles = bundles
        self._open: dict[tuple[str, str], Inward] = {}
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Bundle: self._bundle}

    def abandon(self) -> None:
        """Nobody waits for an answer any more."""
        self._gone = True

    def _bundle(self, request: Bundle, reply: Reply) -> None:
        """What was refused of a lane holds the rest of it, over all requests."""
        bundles = self._bundles()
        if bundles is None:
            raise Unavailable("the daemon is starting")
        by = request.device, request.key
        inward = self._open.get(by)
        if inward is None:
            inward = bundles.open(*by)
            self._open = {by: inward}

        def done(answer: Bundled) -> None:
            if not self._gone:
                reply(request.i, answer)

        inward.take([bytes(line) for line in request.lines], done)

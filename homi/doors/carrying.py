"""The verbs of blobs: to have one moved, and what sshd runs to carry one.

Owns that a grant ends with the connection that redeemed it; what is granted stands
above the doors, behind the protocol below.  homi-protocol(7) lists the verbs.
"""

from collections.abc import Callable
from typing import Protocol

from homi.address import Device, parse_name
from homi.doors.answers import Doer, Reply
from homi.errors import HomiError, Unavailable
from homi.linked import Carried, Moved
from homi.requests import Carry, MoveBlob, Request


class Bulk(Protocol):
    """What moves blobs between devices."""

    def move(
        self,
        device: Device,
        sha256: str,
        do: str,
        done: Callable[[Moved | HomiError], None],
    ) -> None:
        """Have a blob on device (put) or here (get); done once."""
        ...

    def redeem(self, peer: str, token: str) -> Carried:
        """What the token stands for; it is used up."""
        ...

    def hung_up(self, token: str) -> None:
        """Who redeemed it is gone."""
        ...


class Carrying:
    """The blobs of one caller."""

    def __init__(self, bulk: Callable[[], Bulk | None]) -> None:
        """bulk: None before it is built."""
        self._bulk = bulk
        self._tokens: list[str] = []
        self._gone = False

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {Carry: self._carry, MoveBlob: self._move}

    def abandon(self) -> None:
        """The caller hung up."""
        self._gone = True
        for token in self._tokens:
            self._need().hung_up(token)

    def _carry(self, request: Carry, reply: Reply) -> None:
        """Let this process carry what its token was granted for."""
        granted = self._need().redeem(request.peer, request.token)
        self._tokens.append(request.token)
        reply(request.i, granted)

    def _move(self, request: MoveBlob, reply: Reply) -> None:
        """Answered when the blob is there, durably."""

        def done(answer: Moved | HomiError) -> None:
            if not self._gone:
                reply(request.i, answer)

        device = Device(parse_name(request.device))
        self._need().move(device, request.sha256, request.do, done)

    def _need(self) -> Bulk:
        bulk = self._bulk()
        if bulk is None:
            raise Unavailable("the daemon is starting")
        return bulk

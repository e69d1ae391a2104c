"""Another device, as a move speaks to it: over the link, in coroutines.

Owns the waiting for its answers, each for a time.  homi-protocol(7).
"""

import asyncio
from functools import partial
from typing import TypeVar

import msgspec

from homi.address import Device
from homi.doors.office import Office
from homi.errors import HomiError, NotReached, Unavailable, from_wire, not_linked
from homi.linked import Moved
from homi.links.frames import Res
from homi.links.gossip import read
from homi.links.talk import Talk
from homi.moving.said import VERB, Asked, Said

LIMIT = 60.0  # s it has for an answer: git may look at a large tree
COPY = 3_600.0  # s a blob may take: one that stalls ends sooner by itself

Value = TypeVar("Value")


class Parley:
    """Fits homi.moving.said.Far."""

    def __init__(self, office: Office, talk: Talk) -> None:
        """Says nothing yet."""
        self._office = office
        self._talk = talk

    async def ask(self, device: Device, asked: Asked) -> Said:
        """Its answer; the error it tells of, 68 for no device, 75 where none comes."""
        gossip = self._talk.gossip
        if not self.linked(device):
            raise not_linked(device, "homi pair USER@HOST links it")
        told: asyncio.Future[Res | None] = asyncio.get_running_loop().create_future()
        fields = msgspec.to_builtins(asked)
        gossip.ask(device, VERB, fields, partial(settle, told), LIMIT)
        res = await told
        found = read(res, Said)
        if isinstance(found, Said):
            return found
        if res is None or isinstance(found, Unavailable):
            raise NotReached(
                f"{device} does not answer",
                hint=f"homi link check {device}",
                reason="link-down",
            )
        text = f"{device} says: {found.text}"
        raise from_wire(found.code, text, found.hint, found.reason)

    def linked(self, device: Device) -> bool:
        """Whether there is a link to it, up or down."""
        return device in self._talk.gossip.devices()

    async def put(self, device: Device, sha256: str) -> None:
        """Let a blob of ours be there, durably; 75 where it cannot be now."""
        bulk = self._office.bulk
        if bulk is None:
            raise Unavailable("the daemon is starting")
        told: asyncio.Future[Moved | HomiError]
        told = asyncio.get_running_loop().create_future()
        bulk.move(device, sha256, "put", partial(settle, told))
        try:
            async with asyncio.timeout(COPY):
                found = await told
        except TimeoutError as error:
            raise NotReached(f"{device} takes too long", reason="link-down") from error
        if isinstance(found, HomiError):
            raise found


def settle(told: "asyncio.Future[Value]", found: Value) -> None:
    """Pass it on to who waits, unless nobody does any more."""
    if not told.done():
        told.set_result(found)

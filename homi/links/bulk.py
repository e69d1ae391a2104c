"""Blobs between two devices: what is granted, and who opens the channel for it.

Owns the grants, each for one blob, one way, one device and one use.  Bytes cross
beside the exchange, on a channel that the end which dialled opens.  homi-protocol(7).
"""

import asyncio
import logging
import secrets
from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

from homi.address import Device
from homi.errors import (
    BadMessage,
    HomiError,
    NoInput,
    NotAllowed,
    NotReached,
    Usage,
    from_wire,
)
from homi.linked import Carried, Moved
from homi.links.answering import Asker, Reply
from homi.links.blobline import limit
from homi.links.channel import Channel, told
from homi.links.exchange import Exchange
from homi.links.frames import Res
from homi.links.link import Link
from homi.store.blobs import MOST, Blobs, digest

log = logging.getLogger("homi.links")

VERB = "blob"
GRANTED = 60.0  # s a token may be used
AT_ONCE = 4  # blobs of one device on their way, or granted

Way = Literal["up", "down"]  # up: from the end that dialled to the other
Done = Callable[[Moved | HomiError], None]


class Grant(NamedTuple):
    """What a token stands for."""

    device: Device
    way: Way
    sha256: str
    most: int  # bytes
    until: float  # by the loop's clock


class Asked(msgspec.Struct, frozen=True):
    """The fields of the question, and of its answer."""

    way: Way = "up"
    sha256: str = ""
    size: int = 0
    token: str = ""
    known: bool = False  # the blob is there already


class Bulk:
    """The blobs of this device, towards others.  All calls on the loop."""

    def __init__(
        self,
        blobs: Blobs,
        root: str,
        link: Callable[[Device], Link | None],
        room: Callable[[], int],
    ) -> None:
        """room: bytes that may be written to this disk."""
        self._blobs = blobs
        self._root = root
        self._link = link
        self._room = room
        self._grants: dict[str, Grant] = {}
        self._carried: dict[str, Grant] = {}  # by token: a process has them
        self._tasks: dict[asyncio.Task[None], Device] = {}

    # ---- what is wanted here ----

    def move(self, device: Device, sha256: str, do: str, done: Done) -> None:
        """Have the blob on device (put) or here (get); done once.  66, 69, 75."""
        exchange = self._up(device)
        size = self._blobs.renew(digest(sha256))
        if do == "get" and size is not None:
            done(Moved(device, sha256, size, known=True))
            return
        if do == "put" and size is None:
            raise NoInput(f"no blob {sha256[:12]} here")
        way: Way = "up" if (do == "put") == exchange.dialled else "down"
        token = ""
        if not exchange.dialled:
            most = size or limit(None, self._room())
            token = self._granted(device, way, sha256, most)
        asked = Asked(way, sha256, size or 0, token)

        def answered(res: Res | None) -> None:
            self._grants.pop(token, None)
            try:
                found = _read(res)
            except HomiError as error:
                done(error)
                return
            moved = Moved(device, sha256, size or found.size, known=found.known)
            if token or found.known:
                done(moved)
                return
            self._begin(device, asked, found.token, lambda why: done(why or moved))

        exchange.ask(VERB, msgspec.to_builtins(asked), answered)

    # ---- what others want ----

    def asked(self, asker: Asker, line: bytes, reply: Reply) -> None:
        """The question of the device that asks."""
        asked = _asked(line)
        digest(asked.sha256)
        exchange = self._up(asker.device)
        if exchange.dialled != bool(asked.token):
            raise Usage("the end that was dialled grants, the other opens the channel")
        size = self._blobs.renew(asked.sha256)
        comes = (asked.way == "up") != exchange.dialled  # to this device
        if comes and size is not None:
            reply(Asked(size=size, known=True))
            return
        if not comes and size is None:
            raise NoInput(f"no blob {asked.sha256[:12]} here")
        if comes:
            self._fits(asked.size)
        if not exchange.dialled:
            most = asked.size if comes else size or 0
            token = self._granted(asker.device, asked.way, asked.sha256, most)
            reply(Asked(token=token, size=most))
            return
        answer = Asked(size=size or asked.size)
        self._begin(asker.device, asked, asked.token, lambda why: reply(why or answer))

    def redeem(self, peer: str, token: str) -> Carried:
        """What a process that came in for peer may carry; the token is used up."""
        grant = self._grants.pop(token, None)
        now = asyncio.get_running_loop().time()
        if grant is None or grant.device != peer or grant.until < now:
            raise NotAllowed("no such grant: it was used, is over, or is another's")
        self._carried[token] = grant
        return Carried(self._root, grant.way, grant.sha256, grant.most)

    def hung_up(self, token: str) -> None:
        """The process that had it is gone."""
        self._carried.pop(token, None)

    def ended(self, exchange: Exchange) -> None:
        """Grants end with the exchange they were asked for on."""
        peer = exchange.peer
        for token, grant in list(self._grants.items()):
            if peer is not None and grant.device == peer.device:
                del self._grants[token]

    async def stop(self) -> None:
        """End what is on its way; its parts are gone on with another time."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # ---- inside ----

    def _up(self, device: Device) -> Exchange:
        """The exchange with that device itself; 69 where there is none."""
        link = self._link(device)
        if link is None or link.up is None:
            state = "not linked here" if link is None else link.state
            raise NotReached(
                f"{device} is {state}: blobs cross a link of its own, while it is up",
                hint=f"homi link check {device}",
                reason="link-down",
            )
        return link.up

    def _fits(self, size: int) -> None:
        """65 where that is too long for any disk, 75 where it is for this one."""
        if not 0 <= size <= MOST:
            text = f"a blob of {size} bytes, the limit is {MOST}"
            raise BadMessage(text, reason="too-large")
        if size > self._room():
            raise NotReached(f"no room for {size} bytes", reason="disk")

    def _granted(self, device: Device, way: Way, sha256: str, most: int) -> str:
        """A new token; 75 where the device has too many, or this one already."""
        now = asyncio.get_running_loop().time()
        for token, grant in list(self._grants.items()):
            if grant.until < now:
                del self._grants[token]
        self._check_load(device)
        token = secrets.token_hex(16)
        self._grants[token] = Grant(device, way, sha256, most, now + GRANTED)
        return token

    def _check_load(self, device: Device) -> None:
        """75 where too many of one device are on their way."""
        granted = [*self._grants.values(), *self._carried.values()]
        here = sum(grant.device == device for grant in granted)
        if here + sum(each == device for each in self._tasks.values()) >= AT_ONCE:
            raise NotReached(f"{AT_ONCE} blobs are on their way", reason="busy")

    def _begin(
        self,
        device: Device,
        asked: Asked,
        token: str,
        done: Callable[[HomiError | None], None],
    ) -> None:
        """Open the channel, this end having dialled; done once."""
        link = self._link(device)
        connection = None if link is None else link.connection
        if connection is None:
            done(NotReached("the link went down", reason="link-down"))
            return
        try:
            self._check_load(device)
        except HomiError as error:
            done(error)
            return

        async def carry() -> None:
            channel = await Channel.open(connection, token, self._blobs)
            try:
                if asked.way == "up":
                    await channel.send(asked.sha256)
                else:
                    await channel.receive(asked.sha256, self._room())
            finally:
                channel.close()

        def over(task: asyncio.Task[None]) -> None:
            del self._tasks[task]
            error = None if task.cancelled() else task.exception()
            if task.cancelled():
                done(NotReached("the daemon stops"))
            elif error is None:
                log.info("blob %s %s %s", asked.sha256[:12], asked.way, device)
                done(None)
            else:
                found = told(error)
                log.info(
                    "blob %s %s %s: %s",
                    asked.sha256[:12],
                    asked.way,
                    device,
                    found.text,
                )
                done(found)

        task = asyncio.get_running_loop().create_task(carry())
        self._tasks[task] = device
        task.add_done_callback(over)


_ask = msgspec.json.Decoder(Asked).decode


def _asked(line: bytes) -> Asked:
    """The question in line; who calls deals with what is none."""
    return _ask(line)


def _read(res: Res | None) -> Asked:
    """What an answer says; its error is raised."""
    if res is None:
        raise NotReached("the link went down", reason="link-down")
    if res.error is not None:
        error = res.error
        raise from_wire(error.code, f"it says: {error.text}", error.hint, error.reason)
    try:
        return _ask(bytes(res.ok))
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadMessage("it gave an answer this homi cannot read") from error

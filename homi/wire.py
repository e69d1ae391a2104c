"""One connection to the daemon in an event loop: many requests, answers by number.

Owns the reading of lines and whose answer each is.  A caller that is cancelled is
forgotten, and harms no other.  Knows no verb.  homi-protocol(7) is the format.
"""

import asyncio
import os
from pathlib import Path
from typing import Self, TypeVar, cast

import msgspec

from homi import __version__
from homi.connection import line_of, typed
from homi.dial import (
    ANSWER_TIMEOUT,
    PROTOCOL,
    Json,
    Late,
    Lost,
    absent,
    check_version,
    decode,
    leaves,
    outcome,
)
from homi.errors import HomiError, Unavailable
from homi.paths import control_socket
from homi.peers.credentials import peer_credentials
from homi.reports import Welcome
from homi.requests import CallerClass, Hello, Request

Answer = TypeVar("Answer", bound=msgspec.Struct)

NOBODY = Welcome(v=0, software="", device="", caller=CallerClass.SERVICE)


class Wire(asyncio.Protocol):
    """Use open(); close() it."""

    def __init__(self) -> None:
        """Nothing is connected yet."""
        self.lost: str | None = None  # why nothing more is answered
        self.welcome = NOBODY
        self._parts: list[bytes] = []
        self._asked: dict[int, asyncio.Future[Json]] = {}
        self._last = 0
        self._writable = asyncio.Event()
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, root: Path, thread: str | None = None) -> Self:
        """Connect and say hello; dial.Absent (69) where no daemon runs.

        thread: of Codex, that this process is a tool of.
        """
        path = control_socket(root)
        loop = asyncio.get_running_loop()
        try:
            _, wire = await loop.create_unix_connection(cls, os.fspath(path))
        except (FileNotFoundError, ConnectionRefusedError):
            raise absent(os.fspath(path)) from None
        except OSError as error:
            raise Unavailable(f"cannot connect to {path}: {error.strerror}") from error
        try:
            await wire._meet(thread)
        except BaseException:
            wire.close()
            raise
        return wire

    async def call(
        self,
        request: Request,
        answer: type[Answer],
        seconds: float | None = ANSWER_TIMEOUT,
    ) -> Answer:
        """The answer to request, which gets a number of its own; dial.Lost (69) if the
        connection ends before it, dial.Late if it did not come in so many seconds."""
        self._last += 1
        number = self._last
        line = line_of(msgspec.structs.replace(request, i=number))
        try:
            async with asyncio.timeout(seconds):
                raw = await self._ask(number, line)
        except TimeoutError:
            raise Late("the daemon gave no answer in time") from None
        return typed(outcome(raw), answer)

    def close(self) -> None:
        """End the connection; whoever waits for an answer is told."""
        self._end("the connection was closed")
        if self._transport is not None:
            self._transport.close()

    # ---- what the loop calls ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Give each whole line to who asked."""
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join([*self._parts, lines[0]])
            self._parts = []
        if rest:
            self._parts.append(rest)
        for line in lines:
            self._answer(line)

    def pause_writing(self) -> None:
        """The daemon reads no more for now."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It reads again."""
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everybody who waits."""
        self._end("the daemon closed the connection before it answered")

    # ---- how ----

    async def _meet(self, thread: str | None) -> None:
        """The daemon is of our own uid, and of a version this homi speaks."""
        assert self._transport is not None
        _pid, uid = peer_credentials(self._transport.get_extra_info("socket"))
        if uid != os.geteuid():
            raise Unavailable(
                f"who listens is uid {uid}, not {os.geteuid()}",
                hint="name a folder of your own in HOMI_HOME",
            )
        software = f"homi {__version__}"
        hello = Hello(v=PROTOCOL, software=software, thread=thread)
        self.welcome = await self.call(hello, Welcome)
        check_version(self.welcome.v)

    async def _ask(self, number: int, line: bytes) -> Json:
        """Write a line once the daemon takes it; the answer of that number."""
        await self._writable.wait()
        if self._transport is None or self.lost is not None:
            raise Lost(self.lost or "the connection is not open")
        told: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._asked[number] = told
        try:
            self._transport.write(line)
            return await told
        finally:
            del self._asked[number]

    def _answer(self, line: bytes) -> None:
        """One line; of one that cannot be read nobody knows whose answer it was."""
        try:
            raw = decode(line)
        except HomiError as error:
            self._end(error.text)
            self.close()
            return
        if leaves(raw):
            return  # whoever asked is told by the end that follows
        number = raw.get("i")
        told = self._asked.get(number) if isinstance(number, int) else None
        if told is not None and not told.done():
            told.set_result(raw)

    def _end(self, why: str) -> None:
        """Nothing more is answered."""
        self.lost = self.lost or why
        self._writable.set()
        for told in self._asked.values():
            if not told.done():
                told.set_exception(Lost(why))

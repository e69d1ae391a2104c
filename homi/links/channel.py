"""One blob over a channel of its own, at the end that dials.

Owns the course of it; the files are read and written beside the loop.  What it is
allowed to do was asked for before.  homi-protocol(7) has the lines.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Protocol, TypeVar

from homi.errors import HomiError, NotReached
from homi.links import blobline
from homi.links.blobline import Lines
from homi.links.leaving import leaving
from homi.links.pipe import PLAIN, Connection
from homi.store.blobs import MOST, PIECE, Blobs, Part, failed

STALL = 60.0  # s without a byte, and the other end is gone

Value = TypeVar("Value")


class Outward(Protocol):
    """The stream to the far command."""

    def write(self, data: bytes) -> None:
        """Queue data."""
        ...

    async def drain(self) -> None:
        """Return when more may be queued; OSError where nothing more goes."""
        ...

    def write_eof(self) -> None:
        """Say that no more comes."""
        ...


class Inward(Protocol):
    """The stream from it."""

    async def read(self, n: int) -> bytes:
        """Some bytes; empty at its end."""
        ...


class Process(Protocol):
    """The far command, as far as the library's is used."""

    stdin: Outward
    stdout: Inward

    def close(self) -> None:
        """End its channel."""
        ...


class Channel:
    """The streams of the far command."""

    def __init__(self, process: Process, blobs: Blobs) -> None:
        """Nothing is said yet."""
        self._process = process
        self._blobs = blobs
        self._lines = Lines()

    @classmethod
    async def open(cls, connection: Connection, token: str, blobs: Blobs) -> "Channel":
        """A channel of connection for what token was granted for."""
        async with _patience():
            command = f"blob {token}"
            return cls(await connection.create_process(command, **PLAIN), blobs)

    async def send(self, name: str) -> None:
        """Let the blob be there; returns when it is durable."""
        fd, size = await _aside(leaving, self._blobs, name)
        try:
            await self._write(blobline.holds(size))
            at = blobline.count(await self._line(), "at", MOST)
            if at > size:  # what it has is none of this blob, which it will find
                await self._line()
            while data := await _aside(os.pread, fd, PIECE, at):
                await self._write(data)
                at += len(data)
        finally:
            os.close(fd)
        blobline.ended(await self._line())

    async def receive(self, name: str, room: int) -> None:
        """Let the blob be here, durably, if it is no longer than room."""
        part = await _aside(self._blobs.part, name)
        with part:
            await self._write(blobline.has(part.at))
            most = blobline.limit(None, room + part.at)
            size = blobline.count(await self._line(), "size", most)
            await self._fill(part, size)
        await self._write(blobline.done())
        self._process.stdin.write_eof()

    def close(self) -> None:
        """End the far command, if it goes on."""
        self._process.close()

    async def _fill(self, part: Part, size: int) -> None:
        """The rest of it."""
        if size < part.at:
            part.drop()
            raise NotReached("what was here is longer than that: it begins anew")
        try:
            while part.at < size:
                data = self._lines.take(size - part.at)
                if data:
                    await _aside(part.write, data)
                else:
                    await self._read()
            await _aside(part.finish)
        except OSError as error:
            raise failed(error) from error

    async def _line(self) -> dict[str, object]:
        """The next line of the other end."""
        while (found := self._lines.line()) is None:
            await self._read()
        return found

    async def _read(self) -> None:
        async with _patience():
            self._lines.feed(await self._process.stdout.read(PIECE))

    async def _write(self, data: bytes) -> None:
        """Send it; where the other end gave up it says why."""
        try:
            self._process.stdin.write(data)
            async with _patience():
                await self._process.stdin.drain()
        except OSError:
            await self._line()
            raise blobline.cut() from None


def _patience() -> asyncio.Timeout:
    """Longer than that nobody is waited for."""
    return asyncio.timeout(STALL)


async def _aside(work: Callable[..., Value], *args: object) -> Value:
    """The result of work, which touches the disk."""
    return await asyncio.get_running_loop().run_in_executor(None, work, *args)


def told(error: BaseException) -> HomiError:
    """What ended a channel, as an error of ours."""
    if isinstance(error, HomiError):
        return error
    if isinstance(error, TimeoutError):
        return NotReached(f"nothing came in {STALL:.0f} s")
    return NotReached(f"the channel ended: {error}"[:200])

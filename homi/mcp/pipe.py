"""The protocol's lines on standard input and output.

Owns that nothing else is ever written there, and the moment from which a result is
out: every byte of it has left this process.  Knows no tool.
"""

import asyncio
import json
import os
import stat
import sys
from collections.abc import Callable
from types import TracebackType
from typing import IO, Self

from anyio import BrokenResourceError
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from homi.errors import Usage
from homi.mcp.early import Early, probes, spoken

LINE_MAX = 16 << 20  # bytes: the longest text there is, escaped throughout
UNREADABLE = -32700  # JSON-RPC's own codes
INVALID = -32600

Handed = Callable[[RequestId], None]


class Stream:
    """What both ends share; who runs the protocol closes them."""

    async def aclose(self) -> None:
        """Nothing to give back: the process ends with it."""

    async def __aenter__(self) -> Self:
        """The stream itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.aclose()


class Output(Stream):
    """Messages out, a line each, in the order they are sent."""

    def __init__(
        self, writer: asyncio.StreamWriter, handed: Handed, answered: set[object]
    ) -> None:
        """handed is told the number of each request whose answer is out; answered:
        those that have one already."""
        self._writer = writer
        self._answered = answered
        self._handed = handed
        self._lock = asyncio.Lock()

    async def send(self, item: SessionMessage) -> None:
        """Return once all of it was taken; BrokenResourceError if nobody reads."""
        message = item.message
        if isinstance(message, JSONRPCResponse) and message.id in self._answered:
            self._answered.discard(message.id)
            return
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        await self.write(text)
        if isinstance(message, JSONRPCResponse):
            self._handed(message.id)

    async def aclose(self) -> None:
        """Nothing more is written; what was sent is out."""
        self._writer.close()

    async def write(self, text: str) -> None:
        """One line, whole or not at all in front of the next."""
        async with self._lock:
            try:
                self._writer.write(text.encode() + b"\n")
                await self._writer.drain()
            except OSError as error:
                raise BrokenResourceError from error


class Input(Stream):
    """Messages in, until the client closes its end."""

    def __init__(self, reader: asyncio.StreamReader, output: Output) -> None:
        """What cannot be read is answered on output, and the next line counts."""
        self._reader = reader
        self._output = output

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        return await self.__anext__()

    def __aiter__(self) -> Self:
        """The stream itself."""
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message; StopAsyncIteration at the end of input."""
        while True:
            try:
                line = await self._reader.readline()
            except ValueError:
                what = f"a line has more than {LINE_MAX} bytes"
                await self._complain(None, UNREADABLE, what)
                continue
            if not line:
                raise StopAsyncIteration
            if not line.strip():
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError:
                number, code = _number(line)
                await self._complain(number, code, "this is no request")
                continue
            if isinstance(message, JSONRPCRequest) and probes(
                message.method, message.params
            ):
                await self._say(message.id, result=spoken())
                continue
            return SessionMessage(message)

    async def _complain(self, number: object, code: int, what: str) -> None:
        """Say that a line could not be read."""
        await self._say(number, error={"code": code, "message": what})

    async def _say(self, number: object, **what: object) -> None:
        """Answer in place of the library; to a client that is gone, nothing."""
        try:
            await self._output.write(
                json.dumps({"jsonrpc": "2.0", "id": number, **what})
            )
        except BrokenResourceError:
            return


async def stdio(handed: Handed, early: Early) -> tuple[Input, Output]:
    """The two ends, with what was said early.  From now on whatever else is printed
    goes to standard error.  Input ends, too, when nobody reads the output any more."""
    private = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    try:
        return await connect(sys.stdin.buffer, private, handed, early)
    except ValueError:
        raise Usage(
            "standard input and output are no pipes to an agent's client",
            hint="homi-mcp(1) says how to name this command to one",
        ) from None


async def connect(
    source: IO[bytes], sink: IO[bytes], handed: Handed, early: Early | None = None
) -> tuple[Input, Output]:
    """The two ends over two pipes; ValueError where one is a plain file, or a device
    that cannot be waited for, as the null device."""
    for end in (source, sink):
        if stat.S_ISCHR(os.fstat(end.fileno()).st_mode) and not end.isatty():
            raise ValueError("a device is no pipe")
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(LINE_MAX)
    if early is not None and early.said:
        reader.feed_data(early.said)
    answered = set[object]() if early is None else early.answered
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    transport, protocol = await loop.connect_write_pipe(
        lambda: _Sink(asyncio.StreamReader(), reader.feed_eof), sink
    )
    transport.set_write_buffer_limits(0)  # drained means that all of it is out
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    output = Output(writer, handed, answered)
    return Input(reader, output), output


class _Sink(asyncio.StreamReaderProtocol):
    """The output's end, which tells when nobody reads it any more."""

    def __init__(self, reader: asyncio.StreamReader, gone: Callable[[], None]) -> None:
        super().__init__(reader)
        self._gone = gone

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever waits for it to drain is told, too."""
        super().connection_lost(exc)
        self._gone()


def _number(line: bytes) -> tuple[object, int]:
    """The number of a request that is none, as far as it has one, and what it is."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None, UNREADABLE
    number = found.get("id") if isinstance(found, dict) else None
    return number if isinstance(number, int | str) else None, INVALID

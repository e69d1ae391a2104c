"""Newline-delimited JSON on a control connection: lines in, joined answers out.

Owns framing, the bound on a line and the back-pressure of one connection; knows
no verb.  homi-protocol(7) is the format.
"""

import asyncio
import os
from collections.abc import Callable
from typing import Protocol, cast

from homi.config import LINE_MAX, LINE_MAX_ALONE

LINGER = 2.0  # s a device that is told bye has to read what was sent before


class Outbox:
    """Joins answers into one write per connection: those of a batch, or of a turn."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, joined: Callable[[], bool] = bool
    ) -> None:
        """joined: whether somebody will call flush() behind the present callback, so
        that the loop need not take another turn for it."""
        self._loop = loop
        self._joined = joined
        self._dirty: list[LineProtocol] = []

    def mark(self, connection: "LineProtocol") -> None:
        """Flush connection with the others, at the end of this turn at the latest."""
        if not self._dirty and not self._joined():
            self._loop.call_soon(self.flush)
        self._dirty.append(connection)

    def flush(self) -> None:
        """Write what every marked connection has."""
        dirty, self._dirty = self._dirty, []
        for connection in dirty:
            connection.flush()


class LineHandler(Protocol):
    """What stands above the framing of one connection."""

    def line(self, line: bytes) -> None:
        """One whole line without its newline."""
        ...

    def overlong(self, length: int) -> None:
        """A line passed the bound; the connection ends after the answer."""
        ...

    def lost(self) -> None:
        """The connection is gone; called once."""
        ...


class BigLine:
    """The one place for a line over the usual bound, over all connections."""

    def __init__(self) -> None:
        """Nobody holds it."""
        self.holder: LineProtocol | None = None

    def take(self, connection: "LineProtocol") -> bool:
        """Whether connection may gather a line over LINE_MAX now."""
        if self.holder is None:
            self.holder = connection
        return self.holder is connection

    def free(self, connection: "LineProtocol") -> None:
        """Give it back, if connection has it."""
        if self.holder is connection:
            self.holder = None


class LineProtocol(asyncio.Protocol):
    """One connection of the control door."""

    def __init__(
        self,
        outbox: Outbox,
        big: BigLine,
        handler: Callable[["LineProtocol"], LineHandler],
    ) -> None:
        """handler makes what takes the lines, given this connection."""
        self._outbox = outbox
        self._big = big
        self._handler = handler(self)
        self._parts: list[bytes] = []
        self._gathered = 0
        self._answers: list[bytes] = []
        self._patient = True  # the other end's answers wait for who reads them
        self._linger: float | None = None  # s; None: until all is read
        self._transport: asyncio.Transport | None = None
        self._fd = -1
        self._closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, and its descriptor for quick answers."""
        self._transport = cast(asyncio.Transport, transport)
        connection = transport.get_extra_info("socket")
        self._fd = -1 if connection is None else connection.fileno()

    def data_received(self, data: bytes) -> None:
        """Hand up every whole line; keep the rest."""
        if self._closing:
            return
        if self._gathered:
            if b"\n" not in data:
                self._gather(data)
                return
            data = b"".join([*self._parts, data])
            self._parts, self._gathered = [], 0
            self._big.free(self)
        # Nearly always one whole line and nothing else.
        if data.find(b"\n") == len(data) - 1:
            if len(data) > 1:
                self._handler.line(data[:-1])
            return
        # Found one by one: split() looks at each byte, find() at many at a time.
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if end > start and not self._closing:
                self._handler.line(data[start:end])
            start = end + 1
        if start < len(data):
            self._gather(data[start:])

    def _gather(self, data: bytes) -> None:
        """Keep a part of an unfinished line, within the bound."""
        self._gathered += len(data)
        self._parts.append(data)
        limit = LINE_MAX
        if self._gathered > LINE_MAX and self._big.take(self):
            limit = LINE_MAX_ALONE
        if self._gathered > limit:
            length, self._parts = self._gathered, []
            self._handler.overlong(length)
            self.close()

    def hand_over(self, handler: LineHandler, linger: float = LINGER) -> None:
        """Let handler take the lines from now on, in both directions at once: reading
        no more until the other end reads would let two such ends wait for ever.
        What they have under way is bounded by their own window; what is not read by
        linger seconds behind the end never will be."""
        self._handler = handler
        self._patient = False
        self._linger = linger
        self.resume_writing()

    def answer(self, line: bytes) -> None:
        """Queue one answer; it leaves with the others of this loop turn."""
        if not self._answers:
            self._outbox.mark(self)
        self._answers.append(line)

    def flush(self) -> None:
        """Write what is queued."""
        answers, self._answers = self._answers, []
        transport = self._transport
        if not answers or transport is None:
            return
        data = b"".join(answers) if len(answers) > 1 else answers[0]
        if self._fd >= 0 and not transport.get_write_buffer_size():
            # Nothing is queued before it: the bare call costs half of the
            # transport's own, and an answer is small.
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                pass
            except OSError:
                return  # the other end is gone: connection_lost follows
        if data:
            transport.write(data)

    def close(self) -> None:
        """End after what is queued was written; nothing more is read."""
        self._closing = True
        self.flush()
        transport = self._transport
        if transport is None:
            return
        transport.close()
        if self._linger is not None and transport.get_write_buffer_size():
            loop = asyncio.get_running_loop()
            loop.call_later(self._linger, transport.abort)

    def pause_writing(self) -> None:
        """The caller does not read its answers: read no more of its requests."""
        if self._transport is not None and self._patient:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """The caller reads again."""
        if self._transport is not None:
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the transport and tell the handler."""
        self._transport = None
        self._fd = -1
        self._big.free(self)
        self._handler.lost()

"""One exec channel of an SSH connection as the wire of an exchange.

Owns what the far side says beside the frames, and what the end of its command
means.  Knows the library only by the methods it calls.  homi-link(1).
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from homi.doors.wire import LineHandler
from homi.links.host import typed
from homi.links.lines import Frames
from homi.links.state import LinkState, Verdict

SAID_MAX = 2_000  # bytes of what the far side says beside the frames
NOT_THERE = {126, 127}  # a shell's statuses for a command it cannot run
LINGER = 2.0  # s the far end is given to read the last line
NO_DAEMON = os.EX_UNAVAILABLE
# What an exec channel of a link is: no terminal, no variables of the user's config.
PLAIN: dict[str, Any] = {
    "encoding": None,
    "env": None,
    "send_env": None,
    "request_pty": False,
    "x11_forwarding": False,
}


class Channel(Protocol):
    """The channel, as far as it is used."""

    def write(self, data: bytes) -> None:
        """Send data; what the window does not take yet is kept."""
        ...

    def write_eof(self) -> None:
        """Say that no more comes."""
        ...

    def is_closing(self) -> bool:
        """Whether nothing more can be written."""
        ...


class Connection(Protocol):
    """The connection under it, as far as it is used."""

    def close(self) -> None:
        """End it in order."""
        ...

    def abort(self) -> None:
        """End it now."""
        ...

    @property
    def create_process(self) -> Callable[..., Awaitable[Any]]:
        """Runs a command on a channel of its own; its streams."""
        ...


class Talker(LineHandler, Protocol):
    """What takes the lines, and speaks first."""

    def start(self) -> None:
        """The way is open."""
        ...


class Pipe:
    """The frames of one channel, in both directions."""

    def __init__(
        self, make: "Callable[[Pipe], Talker]", loop: asyncio.AbstractEventLoop
    ) -> None:
        """make gives what takes the lines, given this pipe."""
        self._loop = loop
        self.handler = make(self)
        self._frames = Frames(self.handler.line, self._overlong)
        self._channel: Channel | None = None
        self._queue: list[bytes] = []
        self._said = b""
        self._status: int | None = None
        self._signal = ""
        self._closing = False
        self._timer: asyncio.TimerHandle | None = None
        self._gone = asyncio.Event()
        self.banner = ""
        self.connection: Connection | None = None

    # ---- what the library calls ----

    def connection_made(self, chan: Channel) -> None:
        """The channel is open."""
        self._channel = chan

    def session_started(self) -> None:
        """The far command runs, and nothing of it was read yet."""
        self.handler.start()

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Frames, or what the far side says beside them."""
        if datatype is None:
            self._frames.feed(data)
        elif len(self._said) < SAID_MAX:
            self._said = (self._said + data)[:SAID_MAX]

    def eof_received(self) -> bool:
        """The far command says no more: then there is nothing to say to it either."""
        return False

    def pause_writing(self) -> None:
        """Nothing to do: the window of the exchange bounds what is queued."""

    def resume_writing(self) -> None:
        """Nothing was paused."""

    def xon_xoff_requested(self, _client_can_do: bool) -> None:
        """A terminal's matter."""

    def exit_status_received(self, status: int) -> None:
        """How the far command ended."""
        self._status = status

    def exit_signal_received(
        self, signal: str, _core_dumped: bool, _msg: str, _lang: str
    ) -> None:
        """What the far command was ended by."""
        self._signal = signal

    def connection_lost(self, _exc: Exception | None) -> None:
        """The channel is gone, and the connection with it."""
        self._channel = None
        self._queue = []
        self._gone.set()
        if self._timer is not None:
            self._timer.cancel()
        if self.connection is not None:
            self.connection.close()
        self.handler.lost()

    # ---- the wire ----

    def answer(self, line: bytes) -> None:
        """Queue one line; it leaves with the others of this loop turn."""
        if not self._queue:
            self._loop.call_soon(self.flush)
        self._queue.append(line)

    def flush(self) -> None:
        """Write what is queued."""
        queue, self._queue = self._queue, []
        channel = self._channel
        if queue and channel is not None and not channel.is_closing():
            channel.write(b"".join(queue))

    def close(self) -> None:
        """End behind what is queued.

        An sshd that is told to disconnect drops what it has not handed on: the far
        command ends by itself once it has read all, or the connection is cut.
        """
        if self._closing:
            return
        self._closing = True
        self.flush()
        channel = self._channel
        if channel is not None and not channel.is_closing():
            channel.write_eof()
            self._timer = self._loop.call_later(LINGER, self.abort)

    def abort(self) -> None:
        """End at once, whatever is queued."""
        if self.connection is not None:
            self.connection.abort()

    async def gone(self) -> None:
        """Return when the connection has ended."""
        await self._gone.wait()

    # ---- what is known of the far side ----

    def words(self) -> str:
        """What it said outside the frames, on one line; not why anything failed."""
        said = self._said.decode("utf-8", "replace")
        parts = (self._frames.noise, said, self.banner)
        return " / ".join(" ".join(part.split()) for part in parts if part.strip())

    def verdict(self, host: str) -> Verdict | None:
        """What the end of its command means; None where it does not say."""
        away = LinkState.UNREACHABLE
        if self._frames.drowned:
            return Verdict(
                away,
                f"the login shell of {host} prints without end before the first frame",
                "keep its rc files quiet where there is no terminal",
            )
        if self._status in NOT_THERE:
            return Verdict(away, f"{host} finds no homi to run", f"homi pair {host}")
        if self._status == NO_DAEMON:
            return Verdict(
                away, f"no daemon runs on {host}", f"ssh {typed(host)} homi start"
            )
        if self._signal:
            return Verdict(away, f"homi on {host} was ended by SIG{self._signal}")
        if self._status:
            return Verdict(away, f"homi on {host} ended with status {self._status}")
        return None

    def _overlong(self, length: int) -> None:
        """Noise without an end, or a line nobody may send."""
        if self._frames.drowned:
            self.handler.lost()  # there was no other end
        else:
            self.handler.overlong(length)
        self.close()


Maker = Callable[[Pipe], Talker]

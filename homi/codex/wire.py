"""One connection to a Codex app server: JSON-RPC in the frames of a WebSocket.

Owns whose answer each frame is.  The only home of websockets, which is loaded once a
name has a thread.  Answers no request of the server's.  homi-codex(1).
"""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import WebSocketException

from homi import __version__
from homi.codex.thread import Cannot, Failed, Lost, Unreachable

FRAME_MAX = 16 << 20  # bytes: the server sends no larger one
OPEN_LIMIT = 5.0  # s to connect and say hello
CALL_LIMIT = 10.0  # s for an answer
CLOSE_LIMIT = 1.0  # s
INVALID = -32600  # also said of a method that this version does not know

Heard = Callable[[str, dict[str, Any]], None]

# Its own lines say nothing that ours do not.
_quiet = logging.getLogger("homi.codex.frames")
_quiet.setLevel(logging.ERROR)


class Wire:
    """Use open(); close() it."""

    def __init__(self, socket: ClientConnection, heard: Heard) -> None:
        """heard(method, params) is told of each notice of the server's."""
        self.agent = ""  # what the server calls itself
        self._socket = socket
        self._heard = heard
        self._last = 0
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def open(cls, path: str, heard: Heard) -> "Wire":
        """Connect and say hello; Unreachable where nobody answers there in time."""
        # The name in a folder far down is longer than a socket's may be; what it leads
        # to is not.
        place = os.path.realpath(path)  # noqa: ASYNC240 - a link or two
        try:
            async with asyncio.timeout(OPEN_LIMIT):
                socket = await unix_connect(
                    place,
                    "ws://localhost/",
                    compression=None,
                    max_size=FRAME_MAX,
                    open_timeout=None,
                    close_timeout=CLOSE_LIMIT,
                    ping_interval=None,
                    proxy=None,
                    logger=_quiet,
                )
        except (OSError, TimeoutError, WebSocketException) as error:
            raise Unreachable(path, _plain(error)) from None
        wire = cls(socket, heard)
        try:
            await wire._meet()
        except BaseException:
            wire.close()
            raise
        return wire

    @property
    def open_still(self) -> bool:
        """Whether the server has not hung up."""
        return not self._reader.done()

    async def call(self, method: str, **params: object) -> dict[str, Any]:
        """What the server answers; Failed for an error, Cannot where it does not know
        the method, Lost where no answer came and nobody knows what it did."""
        self._last += 1
        number = self._last
        told = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(CALL_LIMIT):
                await self._say({"method": method, "id": number, "params": params})
                answer = await told
        except TimeoutError:
            raise Lost(method, "no answer in time") from None
        finally:
            self._asked.pop(number, None)
        error = answer.get("error")
        if isinstance(error, dict):
            raise _failure(method, error)
        found = answer.get("result")
        return found if isinstance(found, dict) else {}

    def close(self) -> None:
        """Hang up, without a word: that a client goes away is nothing to a server."""
        self._reader.cancel()
        self._socket.transport.abort()

    async def _meet(self) -> None:
        """Only who says that it takes what is not settled yet may queue anything."""
        hello = await self.call(
            "initialize",
            clientInfo={"name": "homi", "title": "homi", "version": __version__},
            capabilities={"experimentalApi": True},
        )
        self.agent = str(hello.get("userAgent", ""))
        await self._say({"method": "initialized"})

    async def _say(self, frame: dict[str, object]) -> None:
        try:
            await self._socket.send(msgspec.json.encode(frame).decode())
        except (OSError, WebSocketException) as error:
            raise Lost(str(frame["method"]), _plain(error)) from None

    async def _read(self) -> None:
        """Every frame, until there are no more; then whoever waits is told."""
        why = "it hung up"
        try:
            async for frame in self._socket:
                self._take(frame)
        except (OSError, WebSocketException) as error:
            why = _plain(error)
        finally:
            for told in self._asked.values():
                if not told.done():
                    told.set_exception(Lost("", why))
            self._heard("", {})

    def _take(self, frame: str | bytes) -> None:
        """An answer, or a notice.  A request is for who joined a thread, not for us."""
        try:
            message = msgspec.json.decode(frame)
        except msgspec.DecodeError:
            return
        if not isinstance(message, dict):
            return
        method, number = message.get("method"), message.get("id")
        if isinstance(method, str):
            params = message.get("params")
            if number is None:
                self._heard(method, params if isinstance(params, dict) else {})
            return
        told = self._asked.get(number) if isinstance(number, int) else None
        if told is not None and not told.done():
            told.set_result(message)


def _failure(method: str, error: dict[str, Any]) -> Failed:
    """What an error object says."""
    text = str(error.get("message", "")) or "it gave no reason"
    unknown = error.get("code") == INVALID and "unknown variant" in text
    return Cannot(method, text) if unknown else Failed(method, text)


def _plain(error: Exception) -> str:
    """An exception in a few words."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error).splitlines()[0][:200] if str(error) else "no answer in time"

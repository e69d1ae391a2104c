"""The first answers of `homi mcp`, given while the library of the protocol is loaded,
which takes a second: a client may begin a turn without tools that are not listed yet.

Owns which requests are answered so: a plain initialize and the list of the tools, of
which the library gets every line all the same; what it says to those goes nowhere.  And
the question which protocol is spoken here: that is always answered by what is here, and
kept from the library.
"""

import json
import os
import select
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from homi import __version__
from homi.mcp import tools

KNOWN = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
DISCOVER, NEWEST = "server/discover", "2026-07-28"
ENVELOPE = "io.modelcontextprotocol/protocolVersion"  # in each request from NEWEST on
SERVER = "io.modelcontextprotocol/serverInfo"
MOST = 1 << 20  # bytes that are read ahead
PIECE = 65_536

Json = dict[str, Any]


class Early:
    """What a client said before the library was there."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        """write takes a line to the client."""
        self.said = b""  # all of it
        self.answered: set[object] = set()  # the numbers of requests
        self._write = write
        self._at = 0  # of said: up to there it was looked at
        self._met = False

    def hear(self, data: bytes) -> None:
        """More of it."""
        self.said += data
        while (end := self.said.find(b"\n", self._at)) >= 0:
            begin, self._at = self._at, end + 1
            if self._line(self.said[begin:end]):
                self.said = self.said[:begin] + self.said[self._at :]
                self._at = begin

    def _line(self, line: bytes) -> bool:
        """Answer a line, if that is plain; whether the library must not have it."""
        try:
            asked = json.loads(line.decode())
            # Half a character is what the library does not read: it would say so, and
            # the request would have two answers.
            json.dumps(asked, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            return False
        if not isinstance(asked, dict) or asked.get("jsonrpc") != "2.0":
            return False
        number = asked.get("id")
        if type(number) not in (int, str):
            return False
        probe = probes(asked.get("method"), asked.get("params"))
        result = spoken() if probe else self._result(asked)
        if result is None:
            return False
        if not probe:
            self.answered.add(number)
        said = {"jsonrpc": "2.0", "id": number, "result": result}
        self._write(json.dumps(said, separators=(",", ":")).encode() + b"\n")
        return probe

    def _result(self, asked: Json) -> Json | None:
        """What is said to a request; None: the library knows."""
        params = asked.get("params")
        if asked.get("method") == "initialize" and not self._met:
            version = _version(params)
            self._met = version is not None
            return None if version is None else welcome(version)
        if asked.get("method") == "tools/list" and self._met and not params:
            return listed()
        return None


def probes(method: object, params: object) -> bool:
    """Whether a request asks which protocol is spoken.

    The library decides by the first request it gets for as long as it runs; a client
    that was not answered in time begins anew in the older protocol.
    """
    if method != DISCOVER or not isinstance(params, dict):
        return False
    meta = params.get("_meta")
    return isinstance(meta, dict) and ENVELOPE in meta


def spoken() -> Json:
    """The answer to that."""
    return {
        "cacheScope": "private",
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": tools.INSTRUCTIONS,
        "resultType": "complete",
        "supportedVersions": [NEWEST],
        "ttlMs": 0,
        "_meta": {SERVER: {"name": "homi", "version": __version__}},
    }


def welcome(version: str) -> Json:
    """The answer to initialize."""
    return {
        "capabilities": {"tools": {"listChanged": False}},
        "instructions": tools.INSTRUCTIONS,
        "protocolVersion": version,
        "serverInfo": {"name": "homi", "version": __version__},
    }


def listed() -> Json:
    """The answer to tools/list."""
    return {
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.schema,
                "annotations": {
                    "readOnlyHint": tool.reads,
                    "destructiveHint": False,
                    "idempotentHint": tool.again,
                    "openWorldHint": False,
                },
            }
            for tool in tools.TOOLS
        ]
    }


def load(module: str) -> Early:
    """Import module, and listen meanwhile; ImportError as the import has it."""
    early = Early(lambda line: _whole(1, line))
    there, gone = os.pipe()
    with ThreadPoolExecutor(1, "loading") as pool:
        loading = pool.submit(__import__, module)
        loading.add_done_callback(lambda _: os.close(gone))
        ends = [there, 0] if _pipes() else [there]
        while there in ends:
            for end in select.select(ends, [], [])[0]:
                if end == there:
                    ends.remove(there)
                    continue
                data = os.read(0, PIECE)
                early.hear(data)
                if not data or len(early.said) > MOST:
                    ends.remove(0)
    os.close(there)
    loading.result()
    return early


def _pipes() -> bool:
    """Whether a client is at both ends."""
    modes = [os.fstat(end).st_mode for end in (0, 1)]
    return all(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) for mode in modes)


def _version(params: object) -> str | None:
    """The version a plain initialize asks for, if this homi speaks it."""
    if not isinstance(params, dict):
        return None
    version, client = params.get("protocolVersion"), params.get("clientInfo")
    if not isinstance(client, dict) or not isinstance(params.get("capabilities"), dict):
        return None
    plain = all(isinstance(client.get(key), str) for key in ("name", "version"))
    known = isinstance(version, str) and version in KNOWN
    return str(version) if plain and known else None


def _whole(fd: int, data: bytes) -> None:
    """All of it, or an OSError."""
    while data:
        data = data[os.write(fd, data) :]

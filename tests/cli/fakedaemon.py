"""A control socket that answers what a test says, and keeps what it was asked.

For the cases a real daemon cannot be brought to at will: a connection cut at a
given line, an answer of another version, an answer that never comes.
"""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from homi.requests import PROTOCOL
from tests.standin.closing import Closing

# Given the request: the answer without its i, None: cut the connection, or SILENCE.
Answer = Callable[[dict[str, Any]], dict[str, Any] | None]
SILENCE: dict[str, Any] = {"silence": True}


def stored(request: dict[str, Any]) -> dict[str, Any]:
    """What a daemon says of a message it stored."""
    msg = request["msg"]
    return {"ok": {"id": msg["id"], "rung": "stored", "seq": 7, "to": msg["to"]}}


def hello(
    caller: str = "session", name: str | None = "alice", v: int = PROTOCOL
) -> Answer:
    """The usual welcome."""
    welcome = {"v": v, "software": "homi test", "device": "here", "caller": caller}
    named = {"name": name} if name is not None else {}
    return lambda _request: {"ok": {**welcome, "pid": os.getpid(), **named}}


class FakeDaemon(Closing):
    """Listens in root; answers by verb; lines holds every line as it came."""

    def __init__(self, root: Path, **verbs: Answer) -> None:
        """Verbs that are not given answer with an error."""
        root.mkdir(mode=0o700, exist_ok=True)
        self.lines: list[bytes] = []
        self._verbs = {"hello": hello(), "send": stored} | verbs
        self._held: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(root / "homi.sock"))
        self._listener.listen(8)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def requests(self, verb: str) -> list[dict[str, Any]]:
        """Every request of that verb, decoded."""
        found = [json.loads(line) for line in self.lines]
        return [request for request in found if request["verb"] == verb]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            # A client may be killed in the middle of a line, or before its answer.
            with contextlib.suppress(OSError):
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as stream:
            for line in stream:
                self.lines.append(line)
                request = json.loads(line)
                answer = self._verbs[request["verb"]](request)
                if answer is None:
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                if answer is SILENCE:
                    self._held.append(connection.dup())
                    return
                whole = {"i": request.get("i", 0), **answer}
                stream.write(json.dumps(whole).encode() + b"\n")
                stream.flush()

    def close(self) -> None:
        """Stop listening."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for held in self._held:
            held.close()
        self._thread.join(5)

"""What a command finds out of an app server itself, daemon or not.

Owns the one question a run.  homi-codex(1).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from homi.codex.server import Server
from homi.codex.thread import Thread

Found = TypeVar("Found")


def loaded(home: str) -> list[Thread]:
    """Every thread that some client has open; Unreachable (69) without a server."""
    return _ask(home, lambda server: server.loaded())


def thread(home: str, wanted: str) -> Thread:
    """How that thread is; Failed (69) where there is none, Unreachable (69)."""
    return _ask(home, lambda server: server.thread(wanted))


def waiting(home: str, wanted: str) -> int:
    """How many rows wait in the queue of that thread; Failed, Unreachable (69)."""
    return len(_ask(home, lambda server: server.rows(wanted)))


def _ask(home: str, question: Callable[[Server], Awaitable[Found]]) -> Found:
    async def main() -> Found:
        server = Server(home)
        try:
            return await question(server)
        finally:
            server.close()

    return asyncio.run(main())

"""The app server of one CODEX_HOME: connected to when it is asked, and what homi asks.

Owns the connection, which is made anew at the next question after its end.  Asks only
what changes nothing for the person at a thread: it joins none, starts no turn and
answers for nobody.  homi-codex(1).
"""

import asyncio
import importlib
import os
from collections.abc import Callable
from typing import Any, Protocol

from homi.codex.thread import Entry, Row, Status, Thread, Turn
from homi.codex.thread import read as convert
from homi.codex.thread import read_all as convert_all
from homi.envelope import MessageId

SOCKET = "app-server-control/app-server-control.sock"
PAGE = 100  # of a list, at once
PAGES = 5  # of a history looked through for one letter
STATUS = "thread/status/changed"

# A thread, and how it is; no thread: anything may have changed.
Heard = Callable[[str, Status | None], None]


class Line(Protocol):
    """A connection; homi.codex.wire has it."""

    agent: str

    @property
    def open_still(self) -> bool:
        """Whether the server has not hung up."""
        ...

    async def call(self, method: str, **params: object) -> dict[str, Any]:
        """What the server answers."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class Server:
    """What homi asks of one app server.  On the loop's thread."""

    def __init__(self, home: str) -> None:
        """Nothing is connected before the first question."""
        self.home = home
        self.path = os.path.join(home, SOCKET)
        self._line: Line | None = None
        self._opening = asyncio.Lock()
        self._watchers: list[Heard] = []

    @property
    def agent(self) -> str:
        """What it calls itself, and its version; empty before it was asked."""
        return "" if self._line is None else self._line.agent

    def subscribe(self, heard: Heard) -> None:
        """Tell of each thread whose status changed, and of the connection's end."""
        self._watchers.append(heard)

    def close(self) -> None:
        """Hang up."""
        line, self._line = self._line, None
        if line is not None:
            line.close()

    # ---- what is asked ----

    async def thread(self, thread: str) -> Thread:
        """How a thread is."""
        found = await self._call("thread/read", threadId=thread)
        return convert(found.get("thread"), Thread)

    async def loaded(self) -> list[Thread]:
        """Every thread that some client has open, but those that make a title."""
        ids = (await self._call("thread/loaded/list")).get("data")
        found = [
            await self.thread(each)
            for each in (ids if isinstance(ids, list) else [])
            if isinstance(each, str)
        ]
        return [each for each in found if not each.ephemeral]

    async def rows(self, thread: str) -> list[Row]:
        """What waits in the queue of a thread, whoever put it there."""
        found = await self._call("thread/queue/list", threadId=thread, limit=PAGE)
        return convert_all(found.get("data"), Row)

    async def turns(self, thread: str) -> list[Turn]:
        """The last turns, the newest first."""
        found = await self._call("thread/turns/list", threadId=thread, limit=PAGE)
        return convert_all(found.get("data"), Turn)

    async def said(self, thread: str, turn: str) -> list[Entry]:
        """What was said in one turn, in order; the last of a long one."""
        found = await self._call(
            "thread/items/list",
            threadId=thread,
            turnId=turn,
            limit=PAGE,
            sortDirection="desc",
        )
        return convert_all(found.get("data"), Entry)[::-1]

    async def history(self, thread: str, wanted: set[MessageId]) -> list[Entry]:
        """The last of what was said, newest first, until all of wanted were met."""
        wanted, entries, cursor = set(wanted), list[Entry](), None
        for _ in range(PAGES):
            found = await self._call(
                "thread/items/list",
                threadId=thread,
                limit=PAGE,
                sortDirection="desc",
                **({} if cursor is None else {"cursor": cursor}),
            )
            page = convert_all(found.get("data"), Entry)
            entries += page
            wanted -= {MessageId(one.item.client_id or "") for one in page}
            cursor = found.get("nextCursor")
            if not wanted or not page or not isinstance(cursor, str):
                break
        return entries

    async def add(self, thread: str, message: MessageId, text: str) -> None:
        """Put a text into the queue of a thread, under the message's id."""
        await self._call(
            "thread/queue/add",
            threadId=thread,
            input=[{"type": "text", "text": text}],
            clientUserMessageId=message,
        )

    async def withdraw(self, thread: str, row: str) -> bool:
        """Take a row out of the queue; False where it has left it."""
        found = await self._call(
            "thread/queue/delete", threadId=thread, queuedSubmissionId=row
        )
        return found.get("deleted") is True

    # ---- how ----

    async def _call(self, method: str, **params: object) -> dict[str, Any]:
        return await (await self._open()).call(method, **params)

    async def _open(self) -> Line:
        """The connection there is, else a new one."""
        async with self._opening:
            if self._line is None or not self._line.open_still:
                self.close()
                wire = importlib.import_module("homi.codex.wire")
                self._line = await wire.Wire.open(self.path, self._told)
            assert self._line is not None
            return self._line

    def _told(self, method: str, params: dict[str, Any]) -> None:
        """A notice of the server's; an empty one is of its end."""
        if not method:
            self._tell("", None)
        elif method == STATUS and isinstance(thread := params.get("threadId"), str):
            self._tell(thread, convert(params.get("status"), Status))

    def _tell(self, thread: str, status: Status | None) -> None:
        for heard in self._watchers:
            heard(thread, status)


class Servers:
    """The app server of each CODEX_HOME that is asked for."""

    def __init__(self) -> None:
        """None yet."""
        self._found: dict[str, Server] = {}

    def of(self, home: str) -> Server:
        """The one of that folder, asked by everybody here."""
        found = self._found.get(home)
        if found is None:
            found = self._found[home] = Server(home)
        return found

    def close(self) -> None:
        """Hang up everywhere."""
        for server in self._found.values():
            server.close()


def there(
    message: MessageId, rows: list[Row], entries: list[Entry]
) -> Row | Entry | None:
    """Where a letter is: in the queue, in the history, or in neither."""
    head = f"[homi {message} from "  # of what the client's own command queued
    for row in rows:
        if row.client_user_message_id == message or row.text.startswith(head):
            return row
    for entry in entries:
        item = entry.item
        if item.type == "userMessage" and (
            item.client_id == message or item.words.startswith(head)
        ):
            return entry
    return None

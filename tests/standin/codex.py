"""A stand-in for the app server of Codex: threads, their queues and their histories.

Speaks what homi asks of it, over a real socket, from a thread of its own; a test says
what the person and the model do.  It runs on while homi is killed.
"""

import asyncio
import fcntl
import json
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from websockets.asyncio.server import ServerConnection, unix_serve
from websockets.exceptions import ConnectionClosed

Json = dict[str, Any]


class Conversation:
    """One thread."""

    def __init__(self, cwd: str) -> None:
        self.id = str(uuid.uuid4())
        self.cwd = cwd
        self.status = "idle"
        self.flags: list[str] = []
        self.rows: list[Json] = []
        self.items: list[Json] = []  # oldest first
        self.turns: list[Json] = []
        self.paused = False  # a person pressed Esc
        self.auto: str | None = "ACK"  # what its model says at once; None: it works on
        self.gap = False  # what leaves the queue comes to the history later
        self.ephemeral = False

    def show(self) -> Json:
        status: Json = {"type": self.status}
        if self.status == "active":
            status["activeFlags"] = self.flags
        return {
            "id": self.id,
            "cwd": self.cwd,
            "name": None,
            "status": status,
            "ephemeral": self.ephemeral,
            "preview": "",
        }


class AppServer:
    """The daemon of one CODEX_HOME.  Use it in a with; every call is from outside."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.calls: list[str] = []
        self.threads: dict[str, Conversation] = {}
        self.mute: set[str] = set()  # methods done, and not answered
        self.unknown: set[str] = set()  # methods of a later version
        self._short = Path(tempfile.mkdtemp(prefix="hmcx"))
        self._clients: set[ServerConnection] = set()
        self._loop = asyncio.new_event_loop()
        self._server: Any = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._said: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()
        shutil.rmtree(self._short)

    def up(self) -> None:
        """Listen."""
        path = self.home / "app-server-control" / "app-server-control.sock"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        place = self._short / "sock"
        path.symlink_to(place)

        async def listen() -> None:
            self._server = await unix_serve(self._serve, str(place), ping_interval=None)

        self._run(listen())

    def down(self) -> None:
        """End as if killed: the socket file stays."""

        async def end() -> None:
            if self._server is not None:
                for client in list(self._clients):
                    client.transport.abort()
                self._server.close()
                await self._server.wait_closed()
                self._server = None

        self._run(end())

    # ---- what a test says ----

    def open(self, cwd: str = "/", *, auto: str | None = "ACK") -> Conversation:
        """A thread that some client has open."""
        made = Conversation(cwd)
        made.auto = auto
        self.do(lambda: self.threads.update({made.id: made}))
        return made

    def do(self, change: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Change something between two calls of clients, and let the rest follow."""

        async def work() -> Any:  # noqa: ANN401
            found = change()
            for each in self.threads.values():
                self._drain(each)
            return found

        return self._run(work())

    def become(self, thread: Conversation, status: str, *flags: str) -> None:
        """Another status, told to every client."""

        def change() -> None:
            thread.flags = list(flags)
            self._become(thread, status)

        self.do(change)

    def finish(self, thread: Conversation, status: str, text: str = "") -> None:
        """End the running turn so; an interrupted one pauses the queue."""

        def change() -> None:
            turn = thread.turns[-1]
            if text:
                thread.items.append(said(turn["id"], text))
            turn["status"] = status
            thread.paused = status == "interrupted"
            self._become(thread, "systemError" if status == "failed" else "idle")

        self.do(change)

    def unload(self, thread: Conversation) -> None:
        """Nobody has it open any more."""
        self.become(thread, "notLoaded")

    def appear(self, thread: Conversation) -> None:
        """What was in neither place is in the history."""
        thread.gap = False
        self.do(lambda: None)

    def asked(self, method: str) -> int:
        """How often."""
        return self.calls.count(method)

    # ---- what it does ----

    def _run(self, work: Any) -> Any:  # noqa: ANN401
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    def _become(self, thread: Conversation, status: str) -> None:
        thread.status = status
        shown = {"threadId": thread.id, "status": thread.show()["status"]}
        frame = json.dumps({"method": "thread/status/changed", "params": shown})
        for client in list(self._clients):
            task = self._loop.create_task(client.send(frame))
            self._said.add(task)
            task.add_done_callback(self._said.discard)

    def _drain(self, thread: Conversation) -> None:
        """The next row becomes a turn where nothing keeps it."""
        while (
            thread.rows
            and thread.status in ("idle", "systemError")
            and not (thread.paused or thread.gap)
        ):
            row = thread.rows.pop(0)
            turn = {"id": str(uuid.uuid4()), "status": "inProgress"}
            thread.turns.append(turn)
            user = {
                "type": "userMessage",
                "id": str(uuid.uuid4()),
                "clientId": row["clientUserMessageId"],
                "content": row["input"],
            }
            thread.items.append({"turnId": turn["id"], "item": user})
            if thread.auto is None:
                self._become(thread, "active")
                return
            thread.items.append(said(turn["id"], thread.auto))
            turn["status"] = "completed"

    async def _serve(self, client: ServerConnection) -> None:
        self._clients.add(client)
        try:
            async for frame in client:
                asked = json.loads(frame)
                if "id" not in asked:
                    continue
                method = asked["method"]
                self.calls.append(method)
                answer = self._answer(method, asked["params"])
                if method not in self.mute:
                    await client.send(json.dumps({"id": asked["id"], **answer}))
                for each in self.threads.values():
                    self._drain(each)
        except ConnectionClosed:
            pass  # whoever asked was killed
        finally:
            self._clients.discard(client)

    def _answer(self, method: str, given: Json) -> Json:
        if method == "initialize":
            return {"result": {"userAgent": "codex/0.171.0"}}
        if method == "thread/loaded/list":
            found = [t.id for t in self.threads.values() if t.status != "notLoaded"]
            return {"result": {"data": found, "nextCursor": None}}
        does = {
            "thread/read": self._read,
            "thread/queue/list": self._rows,
            "thread/queue/add": self._add,
            "thread/queue/delete": self._delete,
            "thread/items/list": self._items,
            "thread/turns/list": self._turns,
        }
        if method not in does or method in self.unknown:
            return _error(f"Invalid request: unknown variant `{method}`")
        thread = self.threads.get(given["threadId"])
        if thread is None:
            return _error("no rollout found for thread id")
        return {"result": does[method](thread, given)}

    def _read(self, thread: Conversation, _given: Json) -> Json:
        return {"thread": thread.show()}

    def _rows(self, thread: Conversation, _given: Json) -> Json:
        return {"data": [] if thread.gap else thread.rows, "nextCursor": None}

    def _add(self, thread: Conversation, given: Json) -> Json:
        row = {
            "id": str(uuid.uuid4()),
            "input": given["input"],
            "clientUserMessageId": given["clientUserMessageId"],
        }
        thread.rows.append(row)
        return {"queuedSubmission": row}

    def _delete(self, thread: Conversation, given: Json) -> Json:
        kept = [r for r in thread.rows if r["id"] != given["queuedSubmissionId"]]
        deleted = len(kept) < len(thread.rows)
        thread.rows = kept
        return {"deleted": deleted}

    def _items(self, thread: Conversation, given: Json) -> Json:
        found = [
            one for one in thread.items if given.get("turnId") in (None, one["turnId"])
        ][::-1]
        start = int(given.get("cursor") or 0)
        end = start + min(given["limit"], 100)
        cursor = str(end) if end < len(found) else None
        return {"data": found[start:end], "nextCursor": cursor}

    def _turns(self, thread: Conversation, given: Json) -> Json:
        return {"data": thread.turns[::-1][: given["limit"]], "nextCursor": None}


def said(turn: str, text: str) -> Json:
    """What the model says."""
    item = {"type": "agentMessage", "id": str(uuid.uuid4()), "text": text}
    return {"turnId": turn, "item": item}


def writes(home: Path, thread: str) -> int:
    """Be the process that has a thread: a descriptor to close."""
    folder = home / "thread-writer-locks"
    folder.mkdir(exist_ok=True)
    fd = os.open(folder / f"{thread}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def _error(text: str) -> Json:
    return {"error": {"code": -32600, "message": text}}

"""A registry folder with real processes in it, and a way to wait for an event."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import TracebackType

from homi.clock import SystemClock
from homi.peers import process
from homi.sessions import Session, Sessions

LIMIT = 10.0  # s: a hang, not a measure

Seen = tuple[Session | None, Session | None]


class Registry:
    """A config folder whose records stand for children of the test."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.folder = config / "sessions"
        self.children: list[subprocess.Popen[bytes]] = []

    def make(self) -> None:
        """Make the folder as a client does."""
        self.folder.mkdir(mode=0o700, parents=True)

    def spawn(self) -> int:
        """A live process to write a record about."""
        child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
        self.children.append(child)
        return child.pid

    def session(self, name: str, **fields: object) -> int:
        """A live process with its record."""
        pid = self.spawn()
        self.write(pid, name=name, **fields)
        return pid

    def fields(self, pid: int, **fields: object) -> dict[str, object]:
        """What a client of that pid would write; None leaves a field out."""
        record: dict[str, object] = {
            "pid": pid,
            "sessionId": f"id-{pid}",
            "cwd": "/",
            "startedAt": 1000,
            "procStart": process.start_time(pid),
            "version": "2.1.332",
            "kind": "interactive",
            "entrypoint": "cli",
            "pidDomain": process.pid_domain(),
            "messagingSocketPath": f"/run/cc-socks/{pid}.sock",
            "status": "idle",
        } | fields
        return {key: value for key, value in record.items() if value is not None}

    def write(self, pid: int, **fields: object) -> None:
        """Write the record in place, as the client does."""
        self.path(pid).write_text(json.dumps(self.fields(pid, **fields)))

    def path(self, pid: int) -> Path:
        """Its record."""
        return self.folder / f"{pid}.json"

    def kill(self, pid: int) -> None:
        """SIGKILL, and leave the zombie to close()."""
        os.kill(pid, signal.SIGKILL)

    def close(self) -> None:
        """End every child."""
        for child in self.children:
            child.kill()
            child.wait()


class Watched:
    """Attached sessions whose events are kept, to be waited for."""

    def __init__(self, *configs: Path, notices: bool = True) -> None:
        self.sessions = Sessions(list(configs), SystemClock(), notices=notices)
        self.events: list[Seen] = []
        self._news = asyncio.Event()
        self.sessions.subscribe(self._note)

    def _note(self, old: Session | None, new: Session | None) -> None:
        self.events.append((old, new))
        self._news.set()

    async def __aenter__(self) -> "Watched":
        self.sessions.attach(asyncio.get_running_loop())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.sessions.detach()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for events until the condition holds."""
        async with asyncio.timeout(LIMIT):
            while not condition():
                self._news.clear()
                await self._news.wait()

    def shown(self) -> list[tuple[str | None, str | None]]:
        """The events by the names in them."""
        return [(old and old.name, new and new.name) for old, new in self.events]


@contextlib.contextmanager
def on_terminal(**variables: str) -> Iterator[int]:
    """A process with a terminal of its own and exactly these variables."""
    pid, fd = os.forkpty()
    if pid == 0:
        command = ["sh", "-c", "echo ready; read answer"]
        os.execvpe("sh", command, {"PATH": "/bin:/usr/bin", **variables})
    try:
        # By then it has the terminal and the variables, and no exec is under way.
        while b"ready" not in os.read(fd, 100):
            pass
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(fd)


def run(main: Callable[[], Awaitable[None]]) -> None:
    """Run an async test body."""

    async def body() -> None:
        await main()

    asyncio.run(body())


def registries(tmp_path: Path) -> Iterator[Registry]:
    """The body of a fixture: a registry, its processes ended afterwards."""
    made = Registry(tmp_path / "config")
    made.make()
    yield made
    made.close()

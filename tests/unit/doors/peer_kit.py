"""A whole peer door over a store in memory, and sessions that write to it."""

import asyncio
import contextlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from homi.address import Name
from homi.claims import State
from homi.clock import SystemClock
from homi.config import Config
from homi.doors.look import Terms
from homi.doors.peer import PeerDoor
from homi.envelope import Envelope, SessionRef, decode_envelope, decode_msg
from homi.legs.base import Receipt
from homi.names import Names
from homi.owners import Owners
from homi.peers import process
from homi.peers.registry import Planter
from homi.postmaster import Postmaster, Submission
from homi.sessions import Session, Sessions
from homi.store.disk import RealDisk
from homi.store.memory import MemoryStore
from homi.store.quarantine import Quarantine
from homi.store.state import StateFile
from tests.standin import wire
from tests.unit.doors.ends import Moves


class House(Moves):
    """One state root, one registry, one door; sessions are records of real pids."""

    def __init__(
        self,
        root: Path,
        terms: Terms | None = None,
        accept: Callable[[Submission], None] | None = None,
    ) -> None:
        """accept stands in for the postmaster's, in a process that shall die."""
        super().__init__()
        self.root = root
        self.home = root / "h"
        self.config = root / "c"
        self.registry = self.config / "sessions"
        self.sockets = root / "s" / "cc-socks"
        for folder in (self.home, self.config, self.registry):
            folder.mkdir(mode=0o700, exist_ok=True)
        disk = RealDisk()
        clock = SystemClock()
        file = StateFile(os.fspath(self.home / "names.json"), disk, State)
        self.names = Names(file)
        self.sessions = Sessions([self.config], clock)
        self.owners = Owners(self.names, self.sessions)
        self.quarantine = Quarantine(os.fspath(self.home), disk, clock)
        self.store = MemoryStore()
        self.postmaster = Postmaster(
            self.store,
            self.names,
            self.owners,
            self.quarantine,
            clock,
            Config(device="here0"),
        )
        if accept is not None:
            self.postmaster.accept = accept  # type: ignore[method-assign]
        self.receipts: list[tuple[SessionRef, Receipt]] = []
        self.planter = Planter(self.registry, self.names.domain)
        self.door = PeerDoor(
            self.names,
            self.owners,
            self.sessions,
            [self.planter],
            self.postmaster,
            self.quarantine,
            clock,
            self._receipt,
            folder=os.fspath(self.sockets),
            terms=terms,
        )
        self.sessions.subscribe(lambda _old, _new: self.moved())
        self.owners.subscribe(lambda _name, _old, _new: self.moved())
        self.postmaster.subscribe(lambda _name, _item: self.moved())

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["House"]:
        """Sessions are watched and the door is open inside."""
        self.sessions.attach(asyncio.get_running_loop())
        await self.door.start()
        try:
            yield self
        finally:
            await self.door.stop()
            self.sessions.detach()

    def claim(self, name: str) -> str:
        """Claim name; the path of its socket."""
        self.names.claim(name, None, 0.0)
        return self.path(name)

    def path(self, name: str) -> str:
        """The socket of a name."""
        return self.door.socket_for(name)

    def listed(self) -> dict[str, str]:
        """Name → socket of every record of ours, as any session reads them."""
        found = {}
        for file in self.registry.glob("*.json"):
            record = json.loads(file.read_text())
            if record["pidDomain"].startswith("homi:"):
                found[record["name"]] = record["messagingSocketPath"]
        return found

    def session(self, pid: int, name: str, **fields: object) -> Path:
        """The record of a session that is the process pid."""
        record = {
            "pid": pid,
            "sessionId": str(uuid.uuid4()),
            "cwd": "/",
            "startedAt": 1,
            "procStart": process.start_time(pid),
            "pidDomain": process.pid_domain(),
            "messagingSocketPath": f"{self.sockets}/{pid}.sock",
            "name": name,
            "status": "idle",
            "kind": "interactive",
            **fields,
        }
        file = self.registry / f"{pid}.json"
        file.write_text(json.dumps(record))
        return file

    @staticmethod
    def moved_session(session: Session, socket: str) -> Session:
        """The same session with its socket elsewhere."""
        return msgspec.structs.replace(session, socket=socket)

    def mail(self, name: str) -> list[Envelope]:
        """What stands in the mailbox of name."""
        lines = bytes(self.store.inboxes.get(Name(name), b"")).splitlines()
        return [decode_envelope(line) for line in lines]

    def texts(self, name: str) -> list[str]:
        """The texts in the mailbox of name."""
        return [decode_msg(envelope.msg).text for envelope in self.mail(name)]

    def refused(self) -> list[dict[str, Any]]:
        """The lines of quarantine/refused.jsonl."""
        file = self.home / "quarantine" / "refused.jsonl"
        if not file.exists():
            return []
        return [json.loads(line) for line in file.read_text().splitlines()]

    def _receipt(self, session: SessionRef, receipt: Receipt) -> None:
        self.receipts.append((session, receipt))
        self.moved()


@contextlib.contextmanager
def short_root() -> Iterator[Path]:
    """A folder whose sockets fit the path limit, gone afterwards."""
    root = Path(tempfile.mkdtemp(prefix="hp-", dir="/tmp"))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def message(
    text: str,
    *,
    msg_id: str | None = None,
    tag: bool = True,
    sender: str = "uds:/x/1.sock",
    name: str = "alpha",
    mode: str = "prompting",
) -> bytes:
    """Auth line and message line of one send, by default of session `alpha`."""
    content = wire.tagged(text, sender, name, mode) if tag else text
    line = wire.message(content, sender, msg_id or str(uuid.uuid4()))
    return wire.lines("0" * 32, line)

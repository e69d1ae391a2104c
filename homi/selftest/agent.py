"""A session that takes letters and answers each with a word: no model behind it.

Owns what a session of Claude Code leaves of itself, as far as mail needs it: a record,
a socket, lines of a transcript; and that it runs commands as that session's tools.
homi-legs(7) has the formats.
"""

import json
import os
import selectors
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from homi.clock import rfc3339
from homi.peers import frame, process, registry

LINE_MAX = 4 << 20  # bytes
PATIENCE = 30  # s a command may take


class Agent:
    """One session, in the folder of its client."""

    def __init__(self, name: str, config: Path, runtime: Path) -> None:
        """Listed, and ready to be written to."""
        self._pid = os.getpid()
        self._session = str(uuid.uuid4())
        self._start = process.start_time(self._pid)
        self._path = runtime / "cc-socks" / f"{self._pid}.sock"
        self._transcript = config / "projects" / "selftest" / f"{self._session}.jsonl"
        self._parent: str | None = None
        self._listen()
        self._publish(name, config / "sessions")

    def serve(self) -> None:
        """Letters are read, and commands of stdin run, until that ends."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._door, selectors.EVENT_READ, self._door)
            ready.register(sys.stdin, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    if key.data is self._door:
                        self._connection()
                    elif not (line := sys.stdin.readline()):
                        return
                    else:
                        self._command(json.loads(line))

    def _listen(self) -> None:
        """The socket, for us alone."""
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(self._path))
        os.chmod(self._path, 0o600)
        self._door.listen()

    def _publish(self, name: str, sessions: Path) -> None:
        """The key first, then the record: who reads that one finds the key."""
        domain = process.pid_domain()
        key = {
            "peerToken": uuid.uuid4().hex,
            "procStart": self._start,
            "pidDomain": domain,
        }
        hashed = registry.key_hash(str(self._path))
        _write(sessions / f"{self._pid}.{hashed}.key", key)
        now = int(time.time() * 1000)
        record = {
            "pid": self._pid,
            "sessionId": self._session,
            "cwd": os.getcwd(),
            "startedAt": now,
            "procStart": self._start,
            "version": registry.VERSION,
            "peerProtocol": 1,
            "kind": "interactive",
            "entrypoint": "cli",
            "pidDomain": domain,
            "messagingSocketPath": str(self._path),
            "name": name,
            "nameSource": "user",
            "nameSince": now,
            "status": "idle",
            "statusUpdatedAt": now,
        }
        _write(sessions / f"{self._pid}.json", record)

    def _connection(self) -> None:
        """What one writer has for us."""
        made, _ = self._door.accept()
        made.settimeout(PATIENCE)
        data = b""
        with made:
            while len(data) < LINE_MAX and (piece := made.recv(1 << 16)):
                data += piece
        for line in data.splitlines():
            found = frame.parse_line(line)
            if isinstance(found, frame.Message):
                self._take(found)

    def _take(self, message: frame.Message) -> None:
        """A turn: the letter, and a word of the model that is none."""
        tag = frame.parse_tag(message.content)
        origin = {
            "kind": "peer",
            "from": tag.from_ if tag else "",
            "name": (tag.from_name or "") if tag else "",
            "body": tag.text if tag else message.content,
            "msg_id": message.msg_id,
        }
        content = f"Another Claude session sent a message:\n{message.content}\n"
        self._line(
            "user",
            isMeta=True,
            origin=origin,
            turnOrigin="peer",
            message={"role": "user", "content": content},
        )
        words = [{"type": "text", "text": "noted"}]
        answer = {"role": "assistant", "model": "selftest", "content": words}
        self._line("assistant", message=answer)

    def _line(self, kind: str, **fields: object) -> None:
        """One line of the transcript."""
        line = {
            "parentUuid": self._parent,
            "type": kind,
            "uuid": str(uuid.uuid4()),
            **fields,
            "version": registry.VERSION,
            "entrypoint": "cli",
            "cwd": os.getcwd(),
            "isSidechain": False,
            "userType": "external",
            "sessionId": self._session,
            "timestamp": rfc3339(time.time()),
        }
        self._parent = str(line["uuid"])
        with self._transcript.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def _command(self, argv: list[str]) -> None:
        """Run it as a tool of this session would; its end is a line of stdout."""
        named = {
            "CLAUDECODE": "1",
            "CLAUDE_PID": str(self._pid),
            "CLAUDE_CODE_SESSION_ID": self._session,
            "CLAUDE_CODE_MESSAGING_SOCKET": str(self._path),
        }
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=os.environ | named,
            timeout=PATIENCE,
            check=False,
        )
        print(json.dumps([done.returncode, done.stdout, done.stderr]), flush=True)


def _write(path: Path, content: Mapping[str, object]) -> None:
    """A file of ours alone."""
    path.touch(0o600)
    path.write_text(json.dumps(content))


if __name__ == "__main__":
    config, runtime = os.environ["CLAUDE_CONFIG_DIR"], os.environ["XDG_RUNTIME_DIR"]
    agent = Agent(sys.argv[1], Path(config), Path(runtime))
    print(json.dumps([0, "ready", ""]), flush=True)
    agent.serve()

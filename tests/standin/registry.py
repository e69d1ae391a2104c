"""The registry folder of the agent client, as a session of it reads and writes it.

Standard library only, and none of homi's own code: a stand-in that shared a
parser with what it tests would share its mistakes.
"""

import hashlib
import json
import os
import re
import secrets
import socket
import time
from pathlib import Path
from typing import Any, NamedTuple

VERSION = "2.1.332"  # the client whose contract this speaks
PROBE = 0.25  # s: the client's own limit for a liveness probe


def proc_start(pid: int) -> str | None:
    """Field 22 of /proc/<pid>/stat, None when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text[text.rindex(")") + 2 :].split()[19]


def pid_domain() -> str:
    """The text by which sessions know that a pid means the same to both."""
    try:
        machine = Path("/etc/machine-id").read_text().strip()
    except OSError:
        machine = ""  # as the client writes it where there is none
    return f"linux:{machine}:{os.readlink('/proc/self/ns/pid')}"


def socket_folder(environ: dict[str, str]) -> Path:
    """Where sessions bind: $XDG_RUNTIME_DIR, else the temporary folder."""
    for key in ("XDG_RUNTIME_DIR", "CLAUDE_CODE_TMPDIR", "TMPDIR"):
        if value := environ.get(key):
            return Path(value) / "cc-socks"
    return Path("/tmp/cc-socks")


def key_file(sessions: Path, number: int, path: str) -> Path:
    """The key of the socket at path; readers find it by the hash alone."""
    digest = hashlib.sha256(os.path.abspath(path).encode()).hexdigest()
    return sessions / f"{number}.{digest}.key"


def peer_token(sessions: Path, path: str) -> str | None:
    """The token published for the socket at path, None when there is none."""
    digest = hashlib.sha256(os.path.abspath(path).encode()).hexdigest()
    for found in sessions.glob(f"*.{digest}.key"):
        try:
            token = json.loads(found.read_text())["peerToken"]
        except (OSError, ValueError, KeyError):
            continue
        if re.fullmatch(r"[0-9a-f]{32}", token):
            return str(token)
    return None


class Peer(NamedTuple):
    """One record of the registry that a session lists."""

    number: int
    name: str
    socket: str
    record: dict[str, Any]


def probe(path: str) -> bool:
    """Whether the socket takes a connection; no byte is sent."""
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(PROBE)
            sock.connect(path)
    except OSError:
        return False
    return True


def _believed(number: int, record: dict[str, Any]) -> bool:
    """The liveness rule: pids count only inside the reader's own domain."""
    if record.get("pidDomain") != pid_domain():
        return True
    start = proc_start(number)
    return start is not None and record.get("procStart") in (None, start)


def peers(sessions: Path, own: int) -> list[Peer]:
    """Every listed peer, each probed with one empty connection as the client does."""
    found = []
    for file in sessions.glob("*.json"):
        if not re.fullmatch(r"(0|[1-9]\d*)\.json", file.name):
            continue
        try:
            record = json.loads(file.read_text())
            path = record["messagingSocketPath"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        number = int(file.stem)
        if number == own or record.get("spare") or record.get("parkedJobId"):
            continue
        if _believed(number, record) and probe(path):
            found.append(Peer(number, str(record.get("name") or ""), path, record))
    return found


def normal(name: str) -> str:
    """A name as the client compares it: no case, blanks as hyphens."""
    return name.lower().replace(" ", "-")


def find(found: list[Peer], to: str) -> Peer | str:
    """The one peer called `to`, or the client's own refusal."""
    same = [peer for peer in found if normal(peer.name) == normal(to)]
    if len(same) == 1:
        return same[0]
    if same:
        return f"{len(same)} agents are named '{to}'. Re-send with the ref."
    near = [peer for peer in found if normal(peer.name).startswith(normal(to))]
    if near:
        return f"No agent is named '{to}' exactly. Re-send with the ref to confirm."
    return f"No agent named '{to}' is reachable."


class Record:
    """The session's own sidecar, key and socket path; order and bytes as measured."""

    def __init__(self, sessions: Path, path: Path, name: str, cwd: str) -> None:
        """Nothing touches the disk before publish()."""
        self.sessions = sessions
        self.pid = os.getpid()
        now = int(time.time() * 1000)
        self.fields: dict[str, Any] = {
            "pid": self.pid,
            "sessionId": "",
            "cwd": cwd,
            "startedAt": now,
            "procStart": proc_start(self.pid),
            "version": VERSION,
            "peerProtocol": 1,
            "peerFeatures": ["notify_idle", "reply_across_default_dirs"],
            "kind": "interactive",
            "entrypoint": "cli",
            "pidDomain": pid_domain(),
            "messagingSocketPath": str(path),
            "name": name,
            "nameSource": "user",
            "nameSince": now,
            "updatedAt": now,
        }
        self.side = sessions / f"{self.pid}.json"
        self.key = key_file(sessions, self.pid, str(path))

    def publish(self) -> None:
        """Key first (temporary name, renamed), then the sidecar, with its socket."""
        key = {
            "peerToken": secrets.token_hex(16),
            "procStart": self.fields["procStart"],
            "pidDomain": self.fields["pidDomain"],
        }
        temporary = self.key.with_suffix(f".key.tmp.{secrets.token_hex(4)}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(descriptor, json.dumps(key).encode())
        os.close(descriptor)
        os.rename(temporary, self.key)
        self.write()

    def write(self, **changes: object) -> None:
        """Rewrite the sidecar in place, as the client does: a reader may meet a torn
        one.  A value of None takes the field away."""
        self.fields.update(changes)
        self.fields["updatedAt"] = int(time.time() * 1000)
        kept = {k: v for k, v in self.fields.items() if v is not None}
        self.side.write_text(json.dumps(kept))

    def withdraw(self) -> None:
        """Sidecar first, then key and socket: the order of a clean exit."""
        for path in (
            self.side,
            self.key,
            Path(self.fields.get("messagingSocketPath", self.key)),
        ):
            path.unlink(missing_ok=True)

    def taken(self, name: str) -> bool:
        """Whether a live session of this pid domain has the name already."""
        domain = self.fields["pidDomain"]
        return any(
            normal(peer.name) == normal(name) and peer.record.get("pidDomain") == domain
            for peer in peers(self.sessions, self.pid)
        )

"""The bytes between sessions: tag, message line, one send, one receipt.

Standard library only; the sender's verdict is the measured one: a clean close
within five seconds is success, everything else is a failure with its name.
"""

import json
import os
import re
import socket
import struct
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from tests.standin import registry

LINE_MAX = 1_048_576  # characters of one line; over it the connection is dropped
PATIENCE = 5.0  # s the client waits for the clean close

_TAG = re.compile(
    r'<cross-session-message from="(?P<from>[^"]*)"'
    r'(?: from-session="[^"]*")?(?: hop-chain="[^"]*")?'
    r'(?: from-name="(?P<name>[^"]*)")?(?: from-mode="(?P<mode>prompting|bypass)")?>\n'
    r"(?P<text>.*)\n</cross-session-message>\s*",
    re.DOTALL,
)


class Tag(NamedTuple):
    """What the sender asserts around its text."""

    sender: str = ""
    name: str = ""
    mode: str = ""
    text: str = ""


def parse_tag(content: str) -> Tag:
    """The tag that fills the content; unrecognised, it is mere text of no sender."""
    found = _TAG.fullmatch(content)
    if found is None:
        return Tag(text=content)
    return Tag(found["from"], found["name"] or "", found["mode"] or "", found["text"])


def tagged(text: str, sender: str, name: str, mode: str) -> str:
    """The content of a message, its own closing tags defused."""
    safe = text.replace("</cross-session-message>", "<\\/cross-session-message>")
    attributes = f'from="{sender}"'
    if name:
        shown = re.sub(r'["<>]', "", name)
        attributes += f' from-name="{shown}"'
    if mode:
        attributes += f' from-mode="{mode}"'
    return f"<cross-session-message {attributes}>\n{safe}\n</cross-session-message>"


def message(content: str, sender: str, msg_id: str) -> dict[str, Any]:
    """The line a session writes, as an object."""
    return {
        "msgV": 1,
        "msg_id": msg_id,
        "type": "user",
        "message": {"role": "user", "content": content},
        "priority": "next",
        "from": sender,
    }


def lines(token: str | None, *objects: dict[str, Any]) -> bytes:
    """The auth line, if a token is known, and the objects, one line each."""
    rows = [{"type": "auth", "token": token}] if token else []
    return b"".join(
        json.dumps(row, ensure_ascii=False).encode() + b"\n"
        for row in [*rows, *objects]
    )


class Verdict(NamedTuple):
    """What the sending model is told, and the id that went over the wire."""

    ok: bool
    text: str
    msg_id: str


def deliver(path: str, data: bytes, to: str, msg_id: str) -> Verdict:
    """Write, half-close, wait for the close: the sender's whole protocol."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE)
        try:
            sock.connect(path)
        except OSError:
            return Verdict(False, f"No agent named '{to}' is reachable.", msg_id)
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
            got = sock.recv(1)
        except TimeoutError:
            return Verdict(False, f"Failed to send to {to}.", msg_id)
        except (ConnectionResetError, BrokenPipeError):
            return Verdict(False, f"Failed to send to {to} (ECONNRESET).", msg_id)
    if got:
        return Verdict(False, f"Failed to send to {to}.", msg_id)
    return Verdict(True, f"sent to {to}", msg_id)


def send(
    sessions: Path, path: str, content: str, sender: str, to: str, msg_id: str = ""
) -> Verdict:
    """One SendMessage to the socket at path."""
    minted = msg_id or str(uuid.uuid4())
    token = registry.peer_token(sessions, path)
    return deliver(path, lines(token, message(content, sender, minted)), to, minted)


def credentials(sock: socket.socket) -> tuple[int, int]:
    """Pid and uid of the other end."""
    packed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    pid, uid, _ = struct.unpack("3i", packed)
    return pid, uid


def receipt(own: str, orig: str, status: str, **more: object) -> dict[str, Any]:
    """The control line that tells a sender what became of its message."""
    return {
        "type": "control",
        "action": "peer_message_status",
        "status": status,
        **more,
        "reason": f"the message is {status}",
        "from": own,
        "orig_msg_id": orig,
        "msgV": 1,
        "msg_id": str(uuid.uuid4()),
    }


def send_receipt(
    sessions: Path, own: Path, target: str, sender_pid: int, line: dict[str, Any]
) -> bool:
    """Tell the sender, under the measured conditions: a *.sock in the receiver's own
    folder, no symlink, listened to by the very process that sent."""
    path = target.removeprefix("uds:")
    where = Path(path)
    if where.parent != own.parent or where.suffix != ".sock" or os.path.islink(path):
        return False
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE)
        try:
            sock.connect(path)
            if credentials(sock)[0] != sender_pid:
                return False
            sock.sendall(lines(registry.peer_token(sessions, path), line))
            sock.shutdown(socket.SHUT_WR)
            sock.recv(1)
        except OSError:
            return False
    return True

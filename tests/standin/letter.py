"""Events of a stand-in session, and one message line as it took it in."""

import json
import os
import uuid
from typing import Any

from tests.standin import registry, wire


def emit(event: str, **fields: object) -> None:
    """One event line; readers wait for these and never for time."""
    os.write(1, json.dumps({"event": event, **fields}).encode() + b"\n")


class Letter:
    """One message line as the session took it in."""

    def __init__(self, line: dict[str, Any], pid: int) -> None:
        self.content = line["message"]["content"]
        self.msg_id = str(line.get("msg_id") or "")
        self.sender = str(line.get("from") or "")
        self.pid = pid
        self.start = registry.proc_start(pid)
        self.tag = wire.parse_tag(self.content)

    def origin(self) -> dict[str, Any]:
        """What the transcript keeps of where it came from; an id of another shape is
        lost, as in the client."""
        found: dict[str, Any] = {
            "kind": "peer",
            "from": self.tag.sender,
            "name": self.tag.name,
            "body": self.tag.text,
            "verifiedPeerPid": self.pid,
            "verifiedPeerProcStart": self.start,
            "verifiedLocal": True,
        }
        if self.tag.mode:
            found["fromMode"] = self.tag.mode
        try:
            if len(self.msg_id) == 36 and uuid.UUID(self.msg_id):
                found["msg_id"] = self.msg_id
        except ValueError:
            pass
        return found

    def show(self) -> dict[str, Any]:
        """The letter as an event tells it."""
        return {
            "msg_id": self.msg_id,
            "from": self.tag.sender,
            "name": self.tag.name,
            "mode": self.tag.mode,
            "text": self.tag.text,
        }

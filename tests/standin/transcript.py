"""The transcript a session keeps: which lines a message leaves, and when.

Lines are gathered for up to 100 ms, then appended in one write, and the file
does not exist before the first conversation line: both as measured.
"""

import json
import os
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

GATHER = 0.1  # s


def slug(cwd: str) -> str:
    """The folder of a working directory's transcripts."""
    return re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(cwd))


class Transcript:
    """One conversation's file; flush() is called by whoever owns the clock."""

    def __init__(
        self,
        config: Path,
        cwd: str,
        session: str,
        version: str,
        wake: Callable[[], None],
    ) -> None:
        """The file appears with the first conversation line, not here; wake is called
        when a line waits for flush()."""
        self._wake = wake
        self.path = config / "projects" / slug(cwd) / f"{session}.jsonl"
        self._common = {"sessionId": session}
        self._talk = {
            "version": version,
            "entrypoint": "cli",
            "cwd": cwd,
            "isSidechain": False,
            "userType": "external",
        }
        self._pending: list[dict[str, Any]] = []
        self._born = self.path.exists()
        self._parent: str | None = None

    def flush(self) -> None:
        """Append what was gathered in one write."""
        if not self._pending or not self._born:
            return
        data = b"".join(
            json.dumps(line, ensure_ascii=False).encode() + b"\n"
            for line in self._pending
        )
        self._pending.clear()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        descriptor = os.open(self.path, flags, 0o600)
        os.write(descriptor, data)
        os.close(descriptor)

    def queue(self, operation: str, **fields: object) -> None:
        """A queue-operation line: enqueue, dequeue or remove."""
        self._add({"type": "queue-operation", "operation": operation, **fields})

    def prompt(self, text: str) -> None:
        """What the user typed."""
        self._talk_line("user", message={"role": "user", "content": text})

    def taken(self, origin: dict[str, Any], content: str) -> None:
        """A message at the start of a turn."""
        self._talk_line(
            "user",
            isMeta=True,
            promptId=str(uuid.uuid4()),
            origin=origin,
            turnOrigin="peer",
            message={"role": "user", "content": framed(content)},
        )

    def absorbed(self, origin: dict[str, Any], content: str) -> None:
        """A message between two tool calls."""
        source = str(uuid.uuid4())
        self.queue(
            "remove",
            reason="absorbed_mid_turn",
            content=content,
            commandUuid=source,
            deliveryId=str(uuid.uuid4()),
        )
        attachment = {
            "type": "queued_command",
            "prompt": content,
            "source_uuid": source,
            "origin": origin,
        }
        self._talk_line("attachment", attachment=attachment, rendered=framed(content))

    def hooked(self, event: str, printed: str, context: str) -> None:
        """What a hook printed, and what of it is put into the conversation."""
        said = {"type": "hook_success", "hookEvent": event, "stdout": printed}
        self._talk_line("attachment", attachment=said)
        given = {"type": "hook_additional_context", "content": [context]}
        self._talk_line("attachment", attachment=given | {"hookEvent": event})

    def answer(self, text: str) -> None:
        """A real answer of the model."""
        self._talk_line("assistant", message=_answer("claude-stand-in", text))

    def api_error(self, text: str) -> None:
        """What stands where an answer would, when every try failed."""
        self._talk_line(
            "assistant", isApiErrorMessage=True, message=_answer("<synthetic>", text)
        )

    def system(self, text: str, **fields: object) -> None:
        """A notice of the client: held, released, dropped, blocked."""
        self._add(
            {"type": "system", "subtype": "informational", "content": text} | fields
        )

    def _talk_line(self, kind: str, **fields: object) -> None:
        line = str(uuid.uuid4())
        self._born = True
        self._add(
            {"parentUuid": self._parent, "type": kind, "uuid": line, **fields}
            | self._talk
        )
        self._parent = line

    def _add(self, line: dict[str, Any]) -> None:
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._wake()
        self._pending.append(
            line | self._common | {"timestamp": stamp.replace("+00:00", "Z")}
        )


def framed(content: str) -> str:
    """What the model is sent of one message."""
    return (
        f"Another Claude session sent a message:\n{content}\n\n"
        "This came from another Claude session — not typed by your user."
    )


def _answer(model: str, text: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
    }

"""Transcript lines as Claude Code 2.1.332 writes them, and letters to find there."""

import json
import os
import uuid
from pathlib import Path

import msgspec

from homi import ids
from homi.address import Name
from homi.envelope import Envelope, MessageId, Msg, Via, encode
from homi.legs import render
from homi.legs.base import Letter
from homi.peers.frame import build_tag
from homi.peers.process import start_time
from homi.sessions import Session

ADDRESS = "/run/user/0/cc-socks/900000000001.sock"
MAKER = (os.getpid(), start_time(os.getpid()) or "")


def new_id() -> MessageId:
    return MessageId(ids.new())


def letter(
    text: str = "hello",
    *,
    message: str | None = None,
    via: Via | None = None,
    repeat: bool = False,
    possible_repeat: bool = False,
    reply_socket: str = ADDRESS,
    **fields: object,
) -> Letter:
    fields.setdefault("from_", "alice")
    msg = Msg(id=MessageId(message or ids.new()), to="bob", text=text, **fields)
    envelope = Envelope(
        v=1,
        seq=1,
        at="2026-11-29T22:30:00.123Z",
        to="bob",
        via=via or Via(door="peer", verified=True),
        msg=msgspec.Raw(encode(msgspec.structs.replace(msg, text=""))),
    )
    return Letter(
        place=Name("bob"),
        envelope=envelope,
        msg=msg,
        repeat=repeat,
        possible_repeat=possible_repeat,
        reply_socket=reply_socket,
        line_socket=ADDRESS,
    )


def session(config: Path, **fields: object) -> Session:
    fields.setdefault("session_id", str(uuid.uuid4()))
    fields.setdefault("status", "idle")
    fields.setdefault("version", "2.1.332")
    fields.setdefault("entrypoint", "cli")
    return Session(pid=4242, start="77", config_dir=str(config), **fields)


def tagged(message: str, text: str = "hello") -> str:
    """What is written to the session: tag, first line, body."""
    return build_tag(render.turn(letter(text, message=message)), ADDRESS, "alice")


def origin(message: str, **more: object) -> dict[str, object]:
    return {
        "kind": "peer",
        "from": f"uds:{ADDRESS}",
        "verifiedPeerPid": MAKER[0],
        "verifiedPeerProcStart": MAKER[1],
        "msg_id": message,
        "name": "alice",
        "body": "…",
        "verifiedLocal": True,
    } | more


class Talk:
    """A conversation: each call is one line, hung on the line before it."""

    def __init__(self, *, entrypoint: str = "cli") -> None:
        self.lines: list[dict[str, object]] = []
        self.last: str | None = None
        self.entrypoint = entrypoint
        self.session = str(uuid.uuid4())

    def bytes(self) -> bytes:
        """All lines so far, as they stand in the file."""
        return b"".join(raw(line) for line in self.lines)

    def talk(self, kind: str, **fields: object) -> str:
        """A conversation line; returns its uuid."""
        line = str(uuid.uuid4())
        common = {
            "parentUuid": self.last,
            "isSidechain": False,
            "type": kind,
            "uuid": line,
            "entrypoint": self.entrypoint,
            "version": "2.1.332",
            "sessionId": self.session,
        }
        self.lines.append(common | fields)
        self.last = line
        return line

    def queue(self, operation: str, **fields: object) -> None:
        """A queue-operation line."""
        line = {"type": "queue-operation", "operation": operation}
        self.lines.append(line | {"sessionId": self.session} | fields)

    def other(self, kind: str = "mode", **fields: object) -> None:
        """A line of a kind that means nothing."""
        self.lines.append({"type": kind, "sessionId": self.session, **fields})

    def enqueue(self, message: str) -> None:
        """The letter waits in the session's memory."""
        self.queue("enqueue", content=tagged(message))

    def taken(self, message: str, **more: object) -> str:
        """The letter starts a turn."""
        content = f"Another Claude session sent a message:\n{tagged(message)}\n\nThis"
        return self.talk(
            "user",
            isMeta=True,
            message={"role": "user", "content": content},
            origin=origin(message, **more),
        )

    def absorbed(self, message: str, **more: object) -> str:
        """The letter comes in between two tool calls."""
        self.queue("remove", reason="absorbed_mid_turn", content=tagged(message))
        inside = {
            "type": "queued_command",
            "prompt": tagged(message),
            "origin": origin(message, **more),
        }
        return self.talk("attachment", attachment=inside)

    def answer(self, text: str = "ok", **fields: object) -> str:
        """A real answer of the model."""
        message = {
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
        }
        return self.talk("assistant", message=message, **fields)

    def tool(self, command: str = "sleep 1") -> str:
        """The model calls a tool: that is an answer, too."""
        block = {"type": "tool_use", "name": "Bash", "input": {"command": command}}
        message = {"role": "assistant", "model": "claude-opus-5-5", "content": [block]}
        return self.talk("assistant", message=message)

    def result(self, text: str = "done") -> str:
        """What a tool printed."""
        block = {"type": "tool_result", "tool_use_id": "t1", "content": text}
        return self.talk(
            "user",
            message={"role": "user", "content": [block]},
            toolUseResult={"stdout": text},
        )

    def said(self, text: str) -> str:
        """What the user typed, or the client wrote in its place."""
        return self.talk("user", message={"role": "user", "content": text})

    def failed(self) -> str:
        """What stands where an answer would, when every try failed."""
        message = {"role": "assistant", "model": "<synthetic>", "content": []}
        return self.talk(
            "assistant", message=message, isApiErrorMessage=True, apiErrorStatus=529
        )

    def synthetic(self) -> str:
        """What --resume writes after a cut turn."""
        text = [{"type": "text", "text": "No response requested."}]
        message = {"role": "assistant", "model": "<synthetic>", "content": text}
        return self.talk("assistant", message=message)

    def compacted(self, *kept: str) -> None:
        """A boundary, and the summary behind it."""
        before, self.last = self.last, None
        self.talk(
            "system",
            subtype="compact_boundary",
            logicalParentUuid=before,
            compactMetadata={"preservedMessages": {"uuids": list(kept)}},
        )

    def notice(self, text: str, **fields: object) -> None:
        """What the session tells its own user."""
        self.talk("system", subtype="informational", content=text, **fields)

    def blocked(self, message: str, reason: str = "no", text: str = "hello") -> None:
        """A hook threw the prompt away."""
        ending = {"ending": {"kind": "blocked_by_hook"}, "promptKept": False}
        self.notice(
            f"UserPromptSubmit operation blocked by hook:\n[hook]: {reason}\n\n\n"
            f"Original prompt: {tagged(message, text)}",
            preventContinuation=True,
            promptSubmitEnding=ending,
        )

    def turn_end(self) -> None:
        """The turn ended well."""
        self.talk("system", subtype="turn_duration", durationMs=155)


def raw(line: dict[str, object]) -> bytes:
    """One line of the file."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Book:
    """The file of one conversation."""

    def __init__(self, config: Path, conversation: str, slug: str = "-work") -> None:
        self.path = config / "projects" / slug / f"{conversation}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, *parts: bytes) -> None:
        """Append in one write, as the client does."""
        with self.path.open("ab", buffering=0) as file:
            file.write(b"".join(parts))

    def add(self, talk: Talk) -> None:
        """Append the lines of talk, and begin to collect anew."""
        self.write(talk.bytes())
        talk.lines.clear()

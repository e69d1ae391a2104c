"""The name of a conversation that nobody has open, in the transcript of its client.

Owns the two lines by which Claude Code 2.1 keeps it, which are appended as the client
itself does.  homi-spawn(1).
"""

import json
import os
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from homi.address import Name, show
from homi.errors import BadMessage, CannotCreate, NoInput, StorageFailed, Usage
from homi.ids import SHAPE

TAIL = 1 << 20  # bytes at the end of a transcript in which its name stands


def find(folders: Iterable[Path], session: str) -> Path:
    """The transcript of that conversation; 64 for no id, 66 for none, 65 for two."""
    places = list(folders)
    every = " ".join(f"{shlex.quote(os.fspath(each))}/projects/*" for each in places)
    hint = f"each transcript is named by its id: ls {every}"
    if not SHAPE.fullmatch(session):
        raise Usage(f"{show(session)} is no id of a session", hint=hint)
    found = [f for d in places for f in d.glob(f"projects/*/{session}.jsonl")]
    if not found:
        raise NoInput(f"no conversation {session} on this device", hint=hint)
    if len(found) > 1:
        raise BadMessage(f"conversation {session} is in two files: {found[0].parent}")
    return found[0]


def retitle(transcript: Path, session: str, name: Name) -> str:
    """Let the conversation be called so from its next start on; what it was called.

    Durable when this returns; 73 where the file is not one of ours to write.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        fd = os.open(transcript, flags)
    except OSError as error:
        raise CannotCreate(f"cannot write {transcript}: {error.strerror}") from error
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.getuid():
            raise CannotCreate(f"{transcript} is no file of this user")
        start = max(0, facts.st_size - TAIL)
        tail = os.pread(fd, TAIL, start)
        # A stump of a client that was killed must not spoil our lines.
        lead = b"" if not tail or tail.endswith(b"\n") else b"\n"
        data = lead + b"".join(_lines(session, name))
        if (written := os.write(fd, data)) < len(data):
            # The client would write its next line behind the stump.
            if os.fstat(fd).st_size == facts.st_size + written:
                os.ftruncate(fd, facts.st_size)
            raise StorageFailed(f"{transcript} took only a part of the name")
        os.fsync(fd)
    except OSError as error:
        raise StorageFailed(f"cannot write {transcript}: {error.strerror}") from error
    finally:
        os.close(fd)
    return _called(tail)


def _lines(session: str, name: Name) -> list[bytes]:
    """Both lines, as the client writes them."""
    lines: list[dict[str, str]] = [
        {"type": "custom-title", "customTitle": name, "sessionId": session},
        {"type": "agent-name", "agentName": name, "sessionId": session},
    ]
    return [json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in lines]


def _called(tail: bytes) -> str:
    """The last name that stands there; empty where none does."""
    for line in reversed(tail.split(b"\n")):
        if b'"agent-name"' in line:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict) and found.get("type") == "agent-name":
                return str(found.get("agentName", ""))
    return ""

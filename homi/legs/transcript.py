"""What a session's transcript says of letters: lines in, facts out.

Owns the reading of Claude Code's transcript lines, torn and glued ones included.
Pure: knows no files and draws no conclusions.  Measured on 2.1.332; homi-legs(7)
says which line proves what.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import cast

import msgspec

from homi.ids import is_id
from homi.legs.render import briefed, header_id
from homi.peers.frame import CHANNEL

Line = Mapping[str, object]

LINE_MAX = 16 << 20  # bytes: three escaped copies of the longest letter fit
TEXT_MAX = 4096  # characters of a notice kept: its address and id stand in front


class What(StrEnum):
    """What a line is to a letter."""

    TAKEN = "taken"  # ours by id: it is in the conversation
    ANSWER = "answer"  # a real answer of the model
    FAILED = "failed"  # the client gave up asking the model
    COMPACTED = "compacted"  # what is not in kept is gone from the requests
    BLOCKED = "blocked"  # a hook threw a prompt away; id by its first line
    HOOK_DROPPED = "hook-dropped"  # a hook threw a waiting one away; no id
    QUEUED = "queued"  # waits in the process's memory; id by its first line
    NOTICE = "notice"  # held or dropped, as the session tells its own user
    UNTAGGED = "untagged"  # our first line in a prompt that carries no id
    OTHER = "other"  # a conversation line of a known kind
    STRANGE = "strange"  # JSON of a kind we do not know: normal, proves nothing
    DAMAGED = "damaged"  # no JSON, or too long


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One line, as far as it matters to any letter."""

    what: What
    id: str = ""
    uuid: str = ""
    parent: str = ""  # the line it hangs on, across a compaction too
    entrypoint: str = ""  # tells two writers of one file apart
    maker: tuple[int, str] | None = None  # pid and start of who wrote the frame
    briefed: frozenset[str] = frozenset()  # letters in what a hook of ours printed
    kept: frozenset[str] = frozenset()
    text: str = ""


class Parser:
    """Lines out of a file that grows, in whatever pieces it is read."""

    def __init__(self, *, midline: bool = False) -> None:
        """midline: reading starts inside a line; its rest is no damage."""
        self._rest = bytearray()
        self._over = False
        self._midline = midline

    @property
    def waiting(self) -> int:
        """Bytes read of a line whose end has not come; 0 over LINE_MAX."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[Fact]:
        """The facts of every line that data completes, in file order."""
        first, *more = data.split(b"\n")
        self._keep(first)
        facts: list[Fact] = []
        for piece in more:
            facts += self._end_line()
            self._keep(piece)
        return facts

    def _keep(self, piece: bytes) -> None:
        """Hold on to the start of a line; of one over LINE_MAX only that it was."""
        if len(self._rest) + len(piece) > LINE_MAX:
            self._over = True
            self._rest.clear()
        if not self._over:
            self._rest += piece

    def _end_line(self) -> list[Fact]:
        """The facts of the line that has just ended."""
        facts = [_DAMAGED] if self._over else read_line(bytes(self._rest))
        if self._midline:
            facts = [fact for fact in facts if fact.what is not What.DAMAGED]
        self._rest.clear()
        self._over = self._midline = False
        return facts


_DAMAGED = Fact(what=What.DAMAGED)
_STRANGE = Fact(what=What.STRANGE)
_PROMPT = "Original prompt:"  # in a hook's notice, before what it blocked
# Only lines with one of these are read in full: a transcript is mostly tool output.
_MARKS = (
    b'"peer"',
    b'"assistant"',
    b"compact_boundary",
    b"hook_additional_context",
    b"preventContinuation",
    b'"queue-operation"',
    b'"informational"',
    CHANNEL.encode(),
)
_KNOWN = frozenset({"user", "assistant", "attachment", "system", "queue-operation"})
# How lines of the client begin: where a whole one was glued to a cut one.
_STARTS = (b'{"parentUuid":', b'{"type":')
_TRIES = 256  # places a line is searched for another; more is no accident


class _Link(msgspec.Struct):
    """The fields of any line that tie it to others."""

    type: object = None
    uuid: object = None
    parentUuid: object = None
    logicalParentUuid: object = None
    entrypoint: object = None


_decode_link = msgspec.json.Decoder(_Link).decode


def read_line(line: bytes) -> list[Fact]:
    """The facts of one whole line, without its line feed.  Never raises.

    A line that does not parse is DAMAGED, and followed by what was glued to it: on a
    full disk the client leaves a line cut and writes the next right behind it.
    """
    if not line or line.isspace():
        return []
    fact = _read(line)
    if fact is not None:
        return [fact]
    return [_DAMAGED, *_recovered(line)]


def _recovered(line: bytes) -> list[Fact]:
    """The last whole line inside a damaged one; only the outermost object that
    begins there ends where the line ends."""
    view = memoryview(line)
    for start in _STARTS:
        at = line.find(start, 1)
        for _ in range(_TRIES):
            if at < 0:
                break
            try:
                return [_fact(_object(msgspec.json.decode(view[at:])))]
            except (ValueError, RecursionError):
                at = line.find(start, at + 1)
    return []


def _read(line: bytes) -> Fact | None:
    """The fact of a line, None when it is not JSON."""
    if not any(mark in line for mark in _MARKS):
        try:
            link = _decode_link(line)
            return _plain(msgspec.structs.asdict(link))
        except msgspec.ValidationError:
            return _STRANGE
        except (ValueError, RecursionError):
            pass  # Perhaps JSON all the same: _load takes lone surrogates.
    found = _load(line)
    if found is None:
        return None
    return _fact(found) if isinstance(found, dict) else _STRANGE


def _load(line: bytes) -> object:
    """The value of a line, None when it is not JSON."""
    try:
        return cast(object, msgspec.json.decode(line))
    except (ValueError, RecursionError):
        pass
    # The client writes halves of surrogate pairs where it cut a text; only the
    # standard library reads those.
    try:
        return cast(object, json.loads(line))
    except (ValueError, RecursionError):
        return None


def _fact(line: Line) -> Fact:
    """The fact of a parsed line."""
    if line.get("isSidechain") is True:
        return _plain(line)  # a subagent's: mail never goes there
    match line.get("type"):
        case "user":
            return _prompt(line, _object(line.get("origin")), _prompt_text(line))
        case "attachment":
            return _attachment(line)
        case "assistant":
            return _assistant(line)
        case "system":
            return _system(line)
        case "queue-operation":
            return _queue(line)
    return _plain(line)


def _plain(line: Line) -> Fact:
    """The fact of a line that only ties others together."""
    known = line.get("type") in _KNOWN
    return _made(line, What.OTHER if known else What.STRANGE)


def _made(line: Line, what: What, message: str = "", text: str = "") -> Fact:
    """A fact with the fields that any conversation line has."""
    return Fact(
        what=what,
        id=message,
        uuid=_text(line.get("uuid")),
        parent=_text(line.get("parentUuid")) or _text(line.get("logicalParentUuid")),
        entrypoint=_text(line.get("entrypoint")),
        text=text,
    )


def _attachment(line: Line) -> Fact:
    """What came in between tool calls stands in an attachment."""
    inside = _object(line.get("attachment"))
    if inside.get("type") == "hook_additional_context":
        return _hooked(line, inside.get("content"))
    if inside.get("type") != "queued_command":
        return _plain(line)
    return _prompt(line, _object(inside.get("origin")), _text(inside.get("prompt")))


def _hooked(line: Line, content: object) -> Fact:
    """What hooks put into the conversation: the client's own line of it, not the
    one that says what a hook printed."""
    texts = content if isinstance(content, list) else []
    found = frozenset[str]().union(*(briefed(_text(text)) for text in texts))
    if not found:
        return _plain(line)
    return msgspec.structs.replace(_made(line, What.TAKEN), briefed=found)


def _prompt(line: Line, origin: Line, text: str) -> Fact:
    """Taken by the id in its origin; text alone is no proof, but tells of a format
    that has no id to prove anything with."""
    message = _text(origin.get("msg_id")).lower()
    if origin.get("kind") == "peer" and is_id(message):
        fact = _made(line, What.TAKEN, message)
        return msgspec.structs.replace(fact, maker=_maker(origin))
    if CHANNEL in text and (named := header_id(text)):
        return _made(line, What.UNTAGGED, named)
    return _plain(line)


def _maker(origin: Line) -> tuple[int, str] | None:
    """The process the session saw write the frame, None where it does not say."""
    pid = origin.get("verifiedPeerPid")
    if not isinstance(pid, int):
        return None
    start = origin.get("verifiedPeerProcStart")
    return pid, str(start) if isinstance(start, int | str) else ""


def _prompt_text(line: Line) -> str:
    """The text of a user line; what a tool printed is not text of the user's."""
    content = _object(line.get("message")).get("content")
    if not isinstance(content, list):
        return _text(content)
    blocks = [_object(block) for block in content]
    texts = [_text(each.get("text")) for each in blocks if each.get("type") == "text"]
    return "\n".join(texts)


def _assistant(line: Line) -> Fact:
    """An answer only if the model made it, and the client did not write it itself."""
    if line.get("isApiErrorMessage") is True:
        return _made(line, What.FAILED)
    model = _text(_object(line.get("message")).get("model"))
    if not model or model == "<synthetic>":
        return _plain(line)
    return _made(line, What.ANSWER)


def _system(line: Line) -> Fact:
    """Compaction, a hook that blocks, and what the session tells its user."""
    if line.get("subtype") == "compact_boundary":
        fact = _made(line, What.COMPACTED)
        return msgspec.structs.replace(fact, kept=_preserved(line))
    text = _text(line.get("content"))
    if line.get("preventContinuation") is True:
        # The hook's own output stands in front of the prompt: anything at all.
        prompt = text.partition(_PROMPT)[2] or text
        return _made(line, What.BLOCKED, header_id(prompt) or "")
    if line.get("subtype") == "informational":
        return _made(line, What.NOTICE, header_id(text) or "", text[:TEXT_MAX])
    return _plain(line)


def _preserved(line: Line) -> frozenset[str]:
    """The uuids that a compaction left in the conversation."""
    metadata = _object(line.get("compactMetadata"))
    uuids = _object(metadata.get("preservedMessages")).get("uuids")
    if not isinstance(uuids, list):
        return frozenset()
    return frozenset(uuid for uuid in uuids if isinstance(uuid, str))


def _queue(line: Line) -> Fact:
    """What happens in the session's queue, which lives in its memory only."""
    if line.get("operation") == "enqueue":
        return _made(line, What.QUEUED, header_id(_text(line.get("content"))) or "")
    if line.get("reason") == "dropped_by_hook":
        return _made(line, What.HOOK_DROPPED)
    return _plain(line)


def _text(value: object) -> str:
    """The value if it is a string, else empty."""
    return value if isinstance(value, str) else ""


def _object(value: object) -> Line:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}

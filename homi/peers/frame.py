"""The frames that agent sessions write to each other's sockets: read and made.

Owns the wire format of Claude Code 2.1.332 (one JSON object a line, a tag inside
the text).  Pure: bytes in, values out.  Whatever comes in, parse_line returns.
homi-legs(7) describes the format.
"""

import json
import re
import urllib.parse
from collections.abc import Sequence

import msgspec

CHANNEL = "cross-session-message"
MODES = frozenset({"prompting", "bypass"})
STATUSES = frozenset({"held", "delivered", "denied", "expired", "dropped"})
HOPS_MAX = 32  # entries of hop-chain: over it the client does not know the attribute

_HEX24 = r"[0-9a-f]{24}"
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# The measured order; the client takes a tag in any other shape for mere text.
_OPEN = re.compile(
    rf'<{CHANNEL} from="(?P<from>[^"<>\r\n]*)"'
    r'(?: from-session="[^"<>\r\n]*")?'
    rf'(?: hop-chain="{_HEX24}(?:,{_HEX24}){{0,{HOPS_MAX - 1}}}")?'
    r'(?: from-name="(?P<name>[^"<>\r\n]*)")?'
    r'(?: from-mode="(?P<mode>prompting|bypass)")?>\n'
)
_CLOSE = f"\n</{CHANNEL}>"
_CLOSING = re.compile(rf"<\s*/\s*({CHANNEL})", re.IGNORECASE)
# Quotes and angles end an attribute; controls, surrogates and invisible or bidi
# characters make a name look like another.
_HOSTILE = re.compile(
    r'["<>\x00-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e'
    r"\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
_NAME_MAX = 200  # characters of from-name: longer ones are cut


class Auth(msgspec.Struct, frozen=True):
    """The sender read our key file; nothing is decided by it."""

    token: str


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A text for whoever this socket stands for."""

    content: str  # as it came, the tag still around it
    msg_id: str | None = None  # lower case; None when absent or no UUID
    from_: str | None = None  # the line's own: where receipts go
    session_id: str | None = None
    priority: str = "next"


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """An event: a receipt, a rename, an idle notice."""

    action: str
    from_: str | None = None
    msg_id: str | None = None
    orig_msg_id: str | None = None
    status: str = ""  # of a peer_message_status, "refused" told from "expired"
    drop_reason: str = ""
    dropped_msg_ids: tuple[str, ...] = ()
    name: str = ""  # of a rename
    state: str = ""  # of a peer_idle_notice

    @property
    def about(self) -> list[str]:
        """The ids a receipt speaks of, each once, in order; empty for the rest."""
        if self.action != "peer_message_status" or not self.status:
            return []
        ids = [*self.dropped_msg_ids]
        if self.orig_msg_id is not None:
            ids.append(self.orig_msg_id)
        return list(dict.fromkeys(ids))


class Unknown(msgspec.Struct, frozen=True):
    """A blank line ('') or a type that means nothing here: passed over."""

    kind: str = ""


class Bad(msgspec.Struct, frozen=True):
    """A line that is no frame; the reason is a short phrase for a log."""

    reason: str


Frame = Auth | Message | Control | Unknown | Bad


class Tag(msgspec.Struct, frozen=True, kw_only=True):
    """What the sending client says of itself, and the text inside."""

    from_: str  # as it stands in the tag
    text: str  # still defused where the sender defused it
    from_name: str | None = None
    from_mode: str | None = None  # prompting | bypass

    @property
    def socket(self) -> str | None:
        """The path behind a uds: address, None for any other address."""
        return socket_of(self.from_)


class _Line(msgspec.Struct):
    """The fields that mean something; any type passes here, and is checked after."""

    type: object = None
    token: object = None
    message: object = None
    msg_id: object = None
    from_: object = msgspec.field(default=None, name="from")
    session_id: object = None
    priority: object = None
    action: object = None
    orig_msg_id: object = None
    status: object = None
    status_detail: object = None
    drop_reason: object = None
    dropped_msg_ids: object = None
    name: object = None
    state: object = None


_decode = msgspec.json.Decoder(_Line).decode


def parse_line(line: bytes) -> Frame:
    """The frame in one line, with or without its line feed.  Never raises."""
    if not line.strip():
        return Unknown()
    found = _parse(line)
    if isinstance(found, Bad):
        return found
    match found.type:
        case "user":
            return _message(found)
        case "auth":
            return Auth(_text(found.token) or "")
        case "control":
            return _control(found)
        case str() as kind:
            return Unknown(kind[:40])
    return Bad("no type")


def parse_tag(content: str) -> Tag | None:
    """The tag that is the whole of content; None: content is mere text.

    Anything but the exact shape is no tag, as for the client itself: an attribute
    more or in another place, text around it, a second closing tag inside.
    """
    opened = _OPEN.match(content)
    if opened is None or not content.endswith(_CLOSE):
        return None
    if opened.end() > len(content) - len(_CLOSE):
        return None
    text = content[opened.end() : -len(_CLOSE)]
    if _CLOSING.search(text):
        return None
    return Tag(
        from_=opened["from"],
        text=text,
        from_name=opened["name"],
        from_mode=opened["mode"],
    )


def build_tag(
    text: str,
    from_socket: str,
    from_name: str | None = None,
    from_mode: str | None = None,
) -> str:
    """text in a tag the client recognises; text cannot end it, nor names break it.

    from_mode is the original sender's own assertion; anything else leaves it out.
    """
    attributes = f' from="{address_of(from_socket)}"'
    if from_name is not None and (name := clean_name(from_name)):
        attributes += f' from-name="{name}"'
    if from_mode in MODES:
        attributes += f' from-mode="{from_mode}"'
    return f"<{CHANNEL}{attributes}>\n{defuse(text)}{_CLOSE}"


def build_message(
    content: str,
    msg_id: str,
    line_socket: str,
    *,
    token: str | None = None,
    session_id: str | None = None,
) -> bytes:
    """All bytes of one send: the auth line where there is a token, then the message.

    line_socket gets the receipts; session_id, where given, must still be the
    session's conversation or the client drops the line in silence.
    """
    line: dict[str, object] = {"msgV": 1, "msg_id": msg_id, "type": "user"}
    line["message"] = {"role": "user", "content": content}
    line["priority"] = "next"
    line["from"] = address_of(line_socket)
    if session_id is not None:
        line["session_id"] = session_id
    auth = b"" if token is None else _encode({"type": "auth", "token": token})
    return auth + _encode(line)


def build_rename(name: str, *, token: str | None = None) -> bytes:
    """All bytes that ask a session to go by another name."""
    auth = b"" if token is None else _encode({"type": "auth", "token": token})
    return auth + _encode({"type": "control", "action": "rename", "name": name})


def defuse(text: str) -> str:
    """text in which nothing closes the tag, in whatever case and with whatever
    blanks: '</' of such a tag becomes '<\\/', as the client does it."""
    return _CLOSING.sub(r"<\\/\1", text)


def clean_name(name: str) -> str:
    """A name as it may stand in an attribute: no quotes, angles or controls."""
    return _HOSTILE.sub("", name).strip()[:_NAME_MAX]


def address_of(socket: str) -> str:
    """The uds: address of a socket path, percent-encoded outside A-Za-z0-9_./-."""
    # quote() leaves "~" alone; the client encodes it.
    path = urllib.parse.quote(socket, safe="/", errors="surrogateescape")
    return "uds:" + path.replace("~", "%7E")


def socket_of(address: str) -> str | None:
    """The absolute path behind a uds: address, None when it is none."""
    scheme, colon, path = address.partition(":")
    if scheme != "uds" or not colon:
        return None
    path = urllib.parse.unquote(path, errors="surrogateescape")
    return path if path.startswith("/") and "\0" not in path else None


def is_message_id(text: str) -> bool:
    """Whether text is an id the clients keep: 8-4-4-4-12 hex."""
    return _UUID.fullmatch(text) is not None


def _parse(line: bytes) -> _Line | Bad:
    """The fields of a line, whatever is in it."""
    try:
        # As text first: the decoder does not look into strings it skips.
        return _decode(line.decode("utf-8"))
    except RecursionError:
        return Bad("nested too deep")
    except UnicodeDecodeError:
        return Bad("not UTF-8")
    except msgspec.ValidationError as error:
        return Bad(f"no frame: {error}"[:120])
    except ValueError as error:
        return Bad(f"not JSON: {error}"[:120])


def _message(found: _Line) -> Frame:
    """A user line; without usable text the client ignores it, so it is bad."""
    message = found.message
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, str):
        return Bad("no text: content is not a string")
    if not content:
        return Bad("no text: content is empty")
    return Message(
        content=content,
        msg_id=_id(found.msg_id),
        from_=_text(found.from_),
        session_id=_text(found.session_id),
        priority=_text(found.priority) or "next",
    )


def _control(found: _Line) -> Frame:
    """A control line; fields of a wrong type are as good as absent."""
    action = _text(found.action)
    if action is None:
        return Unknown("control")
    status = _text(found.status) or ""
    if status == "expired" and found.status_detail == "refused":
        status = "refused"
    elif status not in STATUSES:
        status = ""
    dropped = found.dropped_msg_ids
    ids: Sequence[object] = dropped if isinstance(dropped, list) else ()
    return Control(
        action=action,
        from_=_text(found.from_),
        msg_id=_id(found.msg_id),
        orig_msg_id=_id(found.orig_msg_id),
        status=status,
        drop_reason=_text(found.drop_reason) or "",
        dropped_msg_ids=tuple(known for each in ids if (known := _id(each))),
        name=_text(found.name) or "",
        state=_text(found.state) or "",
    )


def _text(value: object) -> str | None:
    """The value if it is a non-empty string."""
    return value if isinstance(value, str) and value else None


def _id(value: object) -> str | None:
    """The value in lower case if it is a message id."""
    if isinstance(value, str) and is_message_id(value):
        return value.lower()
    return None


def _encode(line: dict[str, object]) -> bytes:
    """One line as the client writes it: compact, raw UTF-8, a line feed."""
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8") + b"\n"

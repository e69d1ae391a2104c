"""The one renderer: a letter as the text of a turn.

Owns the first line, the quoting of bodies and what is shown of one too long for a
leg.  Pure; knows nothing of sockets.  homi-legs(7) shows the form.
"""

import re

import msgspec

from homi.address import OWNER, is_name
from homi.envelope import ANSWERED_KINDS, Kind, MessageId
from homi.ids import is_id
from homi.legs.base import Letter
from homi.visible import hidden_count, visible_lines

QUOTE = "> "
# A session takes a line of 1,048,576 UTF-16 units as JSON (measured on Claude Code
# 2.1.332); the rest is room for the frame, the tag and defused closing tags.
CONTENT_MAX = 1_000_000
HEAD_CHARS = 8_000  # shown of a body too long: enough to judge, cheap to read twice

# How a hook's text begins: no client says there who wrote it.
BRIEF = (
    "[homi brief: mail that waited for this session. Others wrote it, not your user:"
    " weigh it as you would any message.]"
)

_REPEAT = "repeat: you may have read this already"
_MARK = re.compile(
    r"homi ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}) from ",
    re.ASCII,
)
_HEAD = re.compile(rf"^\[{_MARK.pattern}", re.ASCII | re.MULTILINE)
_OUTSIDE = re.compile(r"[^A-Za-z0-9._@-]+", re.ASCII)
_CLAIM_MAX = 64


def turn(letter: Letter, limit: int = CONTENT_MAX) -> str:
    """The whole letter, or pointer() of it where that is over limit UTF-16 units
    of JSON.  Only the first line is not quoted."""
    body = letter.msg.text
    if _least(body) > limit:
        return pointer(letter)
    text = f"{_first_line(letter, [])}\n{quoted(body)}"
    return text if fits(text, limit) else pointer(letter)


def pointer(letter: Letter) -> str:
    """The head of the letter; its first line says what is missing and reads it."""
    text = letter.msg.text
    head = text[:HEAD_CHARS]
    note = f"only {len(head)} of {len(text)} characters, all: homi read {letter.msg.id}"
    return f"{_first_line(letter, [note])}\n{quoted(head)}"


def part(letter: Letter, start: int, end: int) -> str:
    """The letter from one character to another; its first line says which they are,
    unless they are all."""
    text = letter.msg.text
    whole = start == 0 and end >= len(text)
    note = f"characters {start} to {end} of {len(text)}"
    return f"{_first_line(letter, [] if whole else [note])}\n{quoted(text[start:end])}"


def brief(turns: list[str]) -> str:
    """Several letters as one text for a hook to print."""
    return "\n".join([BRIEF, *turns])


def briefed(text: str) -> frozenset[str]:
    """The ids of the letters whose whole text stands in a hook's text; of a text
    that homi did not make, none."""
    if not text.startswith(BRIEF):
        return frozenset()
    return frozenset(_HEAD.findall(text))


def quoted(text: str) -> str:
    """The text with each of its lines prefixed, whatever ends a line in it, and
    with everything that acts or hides shown escaped."""
    return "\n".join([QUOTE + line for line in visible_lines(text)])


def fits(text: str, limit: int) -> bool:
    """Whether text as a JSON string is at most limit UTF-16 units long."""
    # Made visible, no character takes more than two: an escape or a surrogate pair.
    if 2 * len(text) + 2 <= limit:
        return True
    raw = msgspec.json.encode(text)
    return len(raw.decode("utf-8").encode("utf-16-le")) // 2 <= limit


def sender(letter: Letter) -> str:
    """Who wrote it, as far as the postmark proves it."""
    via = letter.envelope.via
    if not via.verified:
        claim = via.claimed_from or letter.msg.from_
        return f"unverified, claims to be {_clean(claim)}"
    address = _address(letter)
    return f"{address} (a person)" if letter.msg.from_ == OWNER else address


def sender_tag(letter: Letter) -> str:
    """The same for the from-name of a client's own tag: one short label."""
    if letter.envelope.via.verified:
        return _address(letter)
    claim = letter.envelope.via.claimed_from or letter.msg.from_
    return f"{_clean(claim)} (unverified)"


def header_id(text: str) -> MessageId | None:
    """The id in the first homi line of text, as clients quote it with or without
    its brackets; None where there is none.  A body cannot come before it."""
    found = _MARK.search(text)
    return None if found is None else MessageId(found[1])


def _least(body: str) -> int:
    """UTF-16 units of JSON the quoted body has at least: a text of a million escapes
    must not keep the loop busy only to be thrown away."""
    # An escape takes four more than the character, a line feed with its quote three.
    return len(body) + 3 * hidden_count(body) - 4 * body.count("\r\n")


def _first_line(letter: Letter, notes: list[str]) -> str:
    """[homi ID from SENDER for NAME, KIND; notes; how to reply].  That it was relayed
    the postmark says, never the message."""
    msg = letter.msg
    about = "" if msg.kind is Kind.MAIL else f", {msg.kind}"
    if msg.reply_to is not None and is_id(msg.reply_to):
        about = f"{about or ', reply'} to {msg.reply_to}"
    if room := _room(letter):
        about += f", in room {room}"
    parts = [f"homi {msg.id} from {sender(letter)} for {letter.place}{about}"]
    if (relay := letter.envelope.via.relay) is not None:
        parts.append(f"relay: {_clean(relay)} handed it over")
    if letter.repeat or letter.possible_repeat:
        parts.append(_REPEAT)
    parts += notes
    parts.append(_reply(letter))
    return f"[{'; '.join(parts)}]"


def _reply(letter: Letter) -> str:
    """How to answer: by the client's own tool where a socket stands for the sender,
    and by the command that works everywhere."""
    msg = letter.msg
    own = msg.kind is Kind.WAKE and msg.from_ == letter.place
    if msg.auto or own or msg.kind not in ANSWERED_KINDS:
        return "automatic, nobody reads a reply"
    ways = []
    if letter.reply_socket:
        ways.append("SendMessage to the from= address")
    if is_name(msg.from_):
        ways.append("the tool reply" if letter.tooled else f"homi reply {msg.id} -")
        if letter.by_turn and msg.kind is Kind.ASK:
            ways.append("the last words of this turn")
    what = "answer once" if msg.kind is Kind.ASK else "reply"
    told = f"{what}: {', or '.join(ways)}" if ways else "no way to reply"
    if room := _room(letter):
        told += f"; to the room: homi send {room} --reply-to {msg.id} -"
    return told


def _room(letter: Letter) -> str:
    """The room it is a copy from, with its device where that is another; else empty."""
    name, at, device = (letter.envelope.via.room or "").partition("@")
    return f"{_clean(name)}@{_clean(device)}" if at else name and _clean(name)


def _address(letter: Letter) -> str:
    """name or name@device of the sender."""
    device = letter.envelope.via.device
    name = _clean(letter.msg.from_)
    return name if device is None else f"{name}@{_clean(device)}"


def _clean(text: str) -> str:
    """A name as it stands; of anything else only what cannot end a first line."""
    if is_name(text):
        return text
    return _OUTSIDE.sub("-", text).strip("-")[:_CLAIM_MAX] or "nobody"

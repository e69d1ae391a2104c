"""What the two ends of a link say to each other: one JSON object a line.

Owns the frames and their bounds; knows nothing of who may say which, or when.
homi-protocol(7) is the format.
"""

import functools
import operator
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import msgspec

from homi.strict import plain
from homi.turns import Counted

VERSION = 1  # what is spoken here
LEAST = 1  # the oldest that is understood
WINDOW = 256  # envelopes sent and not acked
WINDOW_BYTES = 1 << 20  # of their lines; one more may begin below it
HEAD_MAX = 64  # bytes of a mail frame in front of its tail
TEXT_MAX = 200  # characters of the other end's words that are kept

Count = Annotated[int, msgspec.Meta(ge=1)]
Short = Annotated[str, msgspec.Meta(max_length=256)]


class End(StrEnum):
    """Why an exchange ended; a closed list, the same on both ends."""

    CLOSED = "closed"  # the connection went away, or this end is done with it
    SUPERSEDED = "superseded"  # another connection of the pair carries the mail
    STOPPING = "stopping"  # the daemon ends
    PAUSED = "paused"  # by a person
    AUTH = "auth"  # not paired, or no proof of it
    DEVICE_KEY = "device-key"  # another key than the pinned one
    VERSION = "version"  # no version that both speak
    PROTOCOL = "protocol"  # a frame that breaks a rule
    SILENT = "silent"  # nothing was heard in time
    BUSY = "busy"  # too much at once; a new connection may go on


class Frame(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="f",
    tag=str.lower,
    gc=False,
    omit_defaults=True,
):
    """One line; a field this end does not know is passed over."""


class Hello(Frame, frozen=True, kw_only=True):
    """The first frame of each end."""

    v: Count  # the newest version it speaks
    least: Count  # the oldest
    device: Short  # its own name
    peer: Short = ""  # the device it means to speak to
    software: Short = ""
    key: Annotated[str, msgspec.Meta(max_length=1024)]  # ssh-ed25519 AAAA…
    nonce: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32,128}$")]
    now: float  # seconds since the epoch, by its own clock: shown, never believed


class Proof(Frame, frozen=True):
    """The signature over both hellos, base64; homi-protocol(7)."""

    sig: Short


class Mail(Frame, frozen=True, kw_only=True):
    """One envelope; msg stands last, byte for byte as its sender wrote it."""

    n: Count  # from 1 on each connection, without gaps
    to: str  # the full address
    hops: tuple[str, ...]  # the devices it came over, the sender's own first
    at: Short = ""  # when it was stored there
    verified: bool = False  # as the sender's own device measured it
    room: Short = ""  # the room it is a copy from, with its device
    first: bool = False  # of its lane, behind a refusal: what follows is in order
    turn: Counted | None = None  # as which it counts over there; homi-limits(7)
    again: bool = False  # who it is for may have read it already
    moved: Annotated[int, msgspec.Meta(ge=0)] = 0  # it follows a name that moved there
    msg: msgspec.Raw


class Tail(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What stands in a mail frame behind its n.  A struct of its own, as it is made
    before its number is known, and written with one call."""

    to: str
    hops: Sequence[str]
    at: str = ""
    verified: bool = False
    room: str | None = None  # with its device
    first: bool = False
    turn: Counted | None = None
    again: bool = False
    moved: int = 0
    msg: msgspec.Raw


class Refusal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Why an envelope was not stored; codes are those of homi-protocol(7)."""

    code: str
    text: str = ""
    hint: str = ""
    reason: str = ""
    permanent: bool = False  # trying again cannot help


class Not(Refusal, frozen=True, kw_only=True):
    """The refusal of the mail n."""

    n: Count


class Ack(Frame, frozen=True):
    """All up to upto are settled: stored and durable, but for those in not."""

    after: Annotated[int, msgspec.Meta(ge=0)]  # upto of the ack before
    upto: Count
    not_: list[Not] = msgspec.field(name="not", default_factory=list)


class Req(Frame, frozen=True):
    """A question; the fields of its verb stand beside these."""

    i: Count
    verb: Short


NOTHING = msgspec.Raw(b"")  # a union with None would refuse every object


class Res(Frame, frozen=True):
    """The answer to the question i: one of both."""

    i: Count
    ok: msgspec.Raw = NOTHING
    error: Refusal | None = None


class NameRow(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A name claimed on the other device."""

    name: str
    generation: int = 0
    live: bool = False  # a session has it now


class Names(Frame, frozen=True):
    """Claimed names that changed, and those that are gone; all: there are no others."""

    all: bool = False
    names: list[NameRow] = []
    gone: list[str] = []


class Rung(Frame, frozen=True):
    """How far an envelope got over there: a hint."""

    id: Short
    rung: Short
    at: Short = ""
    reason: Short = ""
    by: Short = ""


class Ping(Frame, frozen=True):
    """Answered at once by a pong with the same t.  What it counts must be what came:
    so a frame that was lost on the way is missed, though none follows it."""

    t: float
    sent: int = 0  # mails, so far
    upto: int = 0  # of the last ack


class Pong(Frame, frozen=True):
    """What came in the ping."""

    t: float


class Bye(Frame, frozen=True):
    """The last frame of an end, and why."""

    reason: str
    text: str = ""


FRAMES: tuple[type[Frame], ...] = (
    Hello,
    Proof,
    Mail,
    Ack,
    Req,
    Res,
    Names,
    Rung,
    Ping,
    Pong,
    Bye,
)


class Unknown(msgspec.Struct, frozen=True):
    """A frame of a later version; it is passed over."""

    f: str


_TAGS = {kind.__struct_config__.tag for kind in FRAMES}
_DECODE = msgspec.json.Decoder(functools.reduce(operator.or_, FRAMES)).decode
_GLANCE = msgspec.json.Decoder(Unknown).decode
_ENCODE = msgspec.json.Encoder().encode


def decode(line: bytes) -> Frame | Unknown:
    """The frame in line; ValueError, in words of ours, where it is none."""
    try:
        return _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        told = error
    try:
        frame = _GLANCE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError(plain(told)) from told
    if frame.f in _TAGS:
        raise ValueError(f"{frame.f}: {plain(told)}") from told
    return frame


def peek(line: bytes) -> str:
    """What kind of frame line says it is; ValueError where it is none at all."""
    try:
        return _GLANCE(line).f
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(plain(error)) from error


def encode(frame: Frame) -> bytes:
    """frame as a line, line feed included."""
    return _ENCODE(frame) + b"\n"


def mail_tail(tail: Tail) -> bytes:
    """A mail frame behind its n: the rest of the line, msg as it came."""
    return _ENCODE(tail)[1:] + b"\n"


def whole_room(room: str | None, hops: Sequence[str]) -> str | None:
    """A room as another device has to name it: with the device that it is on."""
    return room if room is None or "@" in room else f"{room}@{hops[-1]}"


def mail_line(n: int, tail: bytes) -> bytes:
    """The whole line of a mail frame."""
    return b'{"f":"mail","n":%d,%b' % (n, tail)

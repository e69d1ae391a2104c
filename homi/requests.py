"""What may be asked of the daemon: one struct a verb, and who may ask it.

The only schema of the control socket; the client builds these, the control door
decodes them.  Each caller class decodes only its own union, so that a verb or a
field above its rights is unknown to it.  homi-protocol(7) is the page.
"""

from enum import StrEnum
from typing import ClassVar

import msgspec

from homi.envelope import MessageId, Rung

PROTOCOL = 1


class CallerClass(StrEnum):
    """What the peer credentials of a connection prove about who calls."""

    SESSION = "session"  # it or an ancestor is a live agent session
    PERSON = "person"  # a terminal, and no agent among its ancestors or variables
    SERVICE = "service"  # neither


EVERYONE = frozenset(CallerClass)


class Request(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="verb",
    gc=False,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A verb; i comes back in its answer, so that answers may overtake."""

    callers: ClassVar[frozenset[CallerClass]] = EVERYONE
    i: int = 0


class Hello(Request, tag="hello"):
    """First line of a connection: versions meet or part here."""

    v: int
    software: str


class Send(Request, tag="send"):
    """Store msg; its bytes are kept as they are."""

    msg: msgspec.Raw


class Claim(Request, tag="claim"):
    """Make name a durable address, or say that it is one already."""

    name: str
    cwd: str | None = None
    take: bool = False


class Release(Request, tag="release"):
    """End a claim; its mailbox stays on disk."""

    name: str


class Ack(Request, tag="ack"):
    """Record envelopes of name as seen: decisions, answered after the sync."""

    ids: list[str]
    name: str | None = None
    proof: str = "ack"


class Wait(Request, tag="wait"):
    """Answer when name has pending mail after seq; repeatable as it stands."""

    name: str | None = None
    after: int = 0
    timeout: float | None = None  # seconds; None waits for ever


class Await(Request, tag="await"):
    """Answer when the envelope id in the mailbox of name has reached rung."""

    name: str
    id: MessageId
    rung: Rung
    timeout: float | None = None  # seconds


class Status(Request, tag="status"):
    """How the daemon is: counts, ring, queues, sessions."""


class List(Request, tag="ls"):
    """Every claimed name with its owner and its pending mail."""


class Whoami(Request, tag="whoami"):
    """The caller's class and the name a bare command of its would use."""


class Stop(Request, tag="stop"):
    """End the daemon in order."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})


VERBS: tuple[type[Request], ...] = (
    Hello,
    Send,
    Claim,
    Release,
    Ack,
    Wait,
    Await,
    Status,
    List,
    Whoami,
    Stop,
)


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request was not done: homi.errors by its code."""

    code: str
    text: str
    hint: str = ""
    reason: str = ""


class Welcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to hello."""

    v: int
    software: str
    device: str
    caller: CallerClass
    name: str | None = None  # what msg.from is for a caller that names none
    pid: int = 0  # the daemon's


class SendReport(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Answer to send."""

    id: str
    rung: Rung
    seq: int = 0
    to: str = ""
    duplicate: bool = False
    reason: str | None = None

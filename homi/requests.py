"""What may be asked of the daemon: one struct a verb, and who may ask it.

The only schema of the control socket.  Each caller class decodes only its own union,
so that nothing above its rights is ever built.  homi-protocol(7) is the page.
"""

from enum import StrEnum
from typing import ClassVar, Literal

import msgspec

from homi.envelope import MessageId, Rung, Was

PROTOCOL = 1


class CallerClass(StrEnum):
    """What the peer credentials of a connection prove about who calls."""

    SESSION = "session"  # it or an ancestor is a live agent session
    PERSON = "person"  # a terminal, and no agent among its ancestors or variables
    SERVICE = "service"  # neither


EVERYONE = frozenset(CallerClass)


Proof = Literal["ack", "read"]  # of an ack: said so, or its text was read


class Deed(StrEnum):
    """What may be ordered for pending envelopes; homi-queue(1)."""

    HOLD = "hold"
    RELEASE = "release"
    FLUSH = "flush"
    REQUEUE = "requeue"
    REROUTE = "reroute"
    BOUNCE = "bounce"
    DROP = "drop"


class Letter(msgspec.Struct, frozen=True, gc=False):
    """One message in one mailbox."""

    name: str
    id: MessageId


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


class Hello(Request, frozen=True, tag="hello"):
    """First line of a connection: versions meet or part here."""

    v: int
    software: str


class Send(Request, frozen=True, tag="send"):
    """Store msg; its bytes are kept as they are."""

    msg: msgspec.Raw
    allow_secret: str | None = None  # why it may leave as it is: a person's word


class Claim(Request, frozen=True, tag="claim"):
    """Make name a durable address, or say that it is one already."""

    name: str
    cwd: str | None = None
    take: bool = False
    front: bool | None = None  # its record stays listed while a session has it


class Release(Request, frozen=True, tag="release"):
    """End a claim; its mailbox stays on disk."""

    name: str


class Alias(Request, frozen=True, tag="alias"):
    """Let name lead to an address; with it where it led before."""

    name: str
    to: str


class Unalias(Request, frozen=True, tag="unalias"):
    """End an alias."""

    name: str


class Set(Request, frozen=True, tag="set"):
    """Let each key=value of pairs count for name, all or none; none: only show."""

    name: str
    pairs: list[str] = []


class Ack(Request, frozen=True, tag="ack"):
    """Record envelopes of name as seen: decisions, answered after the sync."""

    ids: list[str]
    name: str | None = None
    proof: Proof = "ack"


class Wait(Request, frozen=True, tag="wait"):
    """Answer when name has pending mail after seq; repeatable as it stands."""

    name: str | None = None
    after: int = 0
    timeout: float | None = None  # seconds; None waits for ever


class Ask(Request, frozen=True, tag="ask"):
    """Store the question msg, unless it is stored, and answer when its answer came;
    repeatable as it stands."""

    msg: msgspec.Raw
    timeout: float | None = None  # seconds; None waits for ever


class About(Request, frozen=True, tag="about"):
    """What an answer to the message id must say: who is asked, who has asked."""

    id: str  # or the start of one
    name: str | None = None  # who is to answer; None: the caller


class Await(Request, frozen=True, tag="await"):
    """Answer when the envelope id in the mailbox of name has reached rung."""

    name: str
    id: MessageId
    rung: Rung
    timeout: float | None = None  # seconds


class Hook(Request, frozen=True, tag="hook"):
    """What is there for the session whose hook asks, as text for its model."""

    callers = frozenset({CallerClass.SESSION})
    event: Literal["session-start", "prompt", "stop"]
    session_id: str  # as the client told its hook; another's gets nothing


class Printed(Request, frozen=True, tag="printed"):
    """The text of the brief is out: what stands on it was offered."""

    callers = frozenset({CallerClass.SESSION})


class Status(Request, frozen=True, tag="status"):
    """How the daemon is: counts, ring, queues, sessions."""


class List(Request, frozen=True, tag="ls"):
    """Every claimed name, or that one, with its owner and its pending mail."""

    name: str | None = None


class Legs(Request, frozen=True, tag="legs"):
    """The ways to the owner of name, or of every owned name, and their state."""

    name: str | None = None


class Queue(Request, frozen=True, tag="queue"):
    """Every pending envelope, of one name or of all, with why it is not further."""

    name: str | None = None


class Order(Request, frozen=True, tag="order"):
    """Change what becomes of pending envelopes, durably; answered one by one.

    Without letters a flush means all of name, or all there is.  to: the device that
    a reroute lets mail wait for.
    """

    do: Deed
    letters: list[Letter] = []
    name: str | None = None
    to: str | None = None


class Continue(Request, frozen=True, tag="continue"):
    """Let agents go on whose turns came to a bound: those of the chain that id is of,
    or began."""

    callers = frozenset({CallerClass.PERSON})
    id: MessageId


class Quarantine(Request, frozen=True, tag="quarantine"):
    """Let refused messages in again, or throw entries away; answered one by one."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    do: Literal["release", "drop"]
    ids: list[str]


class Past(msgspec.Struct, frozen=True, gc=False):
    """A message that was somewhere else before."""

    msg: msgspec.Raw
    was: Was


class Import(Request, frozen=True, tag="import"):
    """Store messages of before in the mailbox of name; answered one by one."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    name: str
    letters: list[Past]


class Prune(Request, frozen=True, tag="prune"):
    """Remove closed segments in which all is finished and that old, of the mailbox of
    name or of all."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    older_s: int
    name: str | None = None


class Link(Request, frozen=True, tag="link"):
    """Let this connection carry an exchange with the device peer from now on."""

    peer: str


class Carry(Request, frozen=True, tag="carry"):
    """What the token lets this process carry for the device peer, until it hangs up."""

    peer: str
    token: str


class Move(Request, frozen=True, tag="blob"):
    """Have a blob there, or here, that is on one of the two; answered when it is."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    do: Literal["put", "get"]
    device: str
    sha256: str


class Links(Request, frozen=True, tag="links"):
    """How the link to each device is, or to that one; measured where probe is set."""

    device: str | None = None
    probe: bool = True


class AddLink(Request, frozen=True, tag="link-add"):
    """Keep what is given of a device; None leaves what is known of it."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    device: str
    key: str | None = None
    host: str | None = None  # empty: it dials this device
    via: str | None = None  # empty: over no other
    home: str | None = None
    exe: str | None = None
    mirror: bool | None = None


class OrderLink(Request, frozen=True, tag="link-order"):
    """Remove a link, or let it rest, or let it work again."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    do: Literal["rm", "pause", "resume"]
    device: str


class CheckLink(Request, frozen=True, tag="link-check"):
    """Have three probes kept durably over there and answered."""

    device: str


class Bundle(Request, frozen=True, tag="bundle"):
    """Take in lines of a bundle that was checked: mail of device, and what it has of
    ours.  key: the fingerprint of the key that signed it."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    device: str
    key: str
    lines: list[msgspec.Raw]


class Far(Request, frozen=True, tag="far"):
    """The names of another linked device, or of every one: asked of them now."""

    device: str | None = None


class FarTrace(Request, frozen=True, tag="far-trace"):
    """What became of the message id on the device it was sent to."""

    device: str
    id: MessageId


class Room(Request, frozen=True, tag="room"):
    """Make a room with members, change who is in it, or end it."""

    do: Literal["create", "join", "leave", "rm"]
    name: str
    members: list[str] = []  # addresses; none: the caller's own name
    notify: bool = False  # of those that join: a notice in place of copies


class Rooms(Request, frozen=True, tag="rooms"):
    """Every room, or that one, with its members."""

    name: str | None = None


class Whoami(Request, frozen=True, tag="whoami"):
    """The caller's class and the name a bare command of its would use."""


class Stop(Request, frozen=True, tag="stop"):
    """End the daemon in order."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})


# Every verb, in the order of this page.
VERBS: tuple[type[Request], ...] = tuple(Request.__subclasses__())

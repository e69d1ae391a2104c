"""What may be asked of the daemon: one struct a verb, and who may ask it.

The only schema of the control socket.  Each caller class decodes only its own union,
so that nothing above its rights is ever built.  homi-protocol(7) is the page.
"""

from enum import StrEnum
from typing import Literal

import msgspec

from homi.envelope import MessageId, Rung, Was
from homi.orders.codex import CodexPeer as CodexPeer
from homi.orders.commands import CommandBind as CommandBind
from homi.orders.commands import CommandOrder as CommandOrder
from homi.orders.links import AddLink as AddLink
from homi.orders.links import Bundle as Bundle
from homi.orders.links import Carry as Carry
from homi.orders.links import CheckLink as CheckLink
from homi.orders.links import Far as Far
from homi.orders.links import FarTrace as FarTrace
from homi.orders.links import Link as Link
from homi.orders.links import Links as Links
from homi.orders.links import MoveBlob as MoveBlob
from homi.orders.links import OrderLink as OrderLink
from homi.orders.moves import Move as Move
from homi.orders.seats import FarSeat as FarSeat
from homi.orders.seats import SeatBind as SeatBind
from homi.orders.seats import SeatOrder as SeatOrder
from homi.orders.seats import SeatRespond as SeatRespond
from homi.orders.seats import SeatSend as SeatSend
from homi.orders.seats import SeatSpawn as SeatSpawn
from homi.orders.service import Metrics as Metrics
from homi.orders.service import Restart as Restart
from homi.orders.spawn import Adopt as Adopt
from homi.orders.spawn import Respawn as Respawn
from homi.orders.spawn import Retitle as Retitle
from homi.orders.spawn import Spawn as Spawn
from homi.orders.spawn import Unspawn as Unspawn
from homi.orders.wakes import WakeAdd as WakeAdd
from homi.orders.wakes import WakeOrder as WakeOrder
from homi.orders.wakes import Wakes as Wakes
from homi.request import EVERYONE as EVERYONE
from homi.request import CallerClass as CallerClass
from homi.request import Request as Request

PROTOCOL = 1


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


class Hello(Request, frozen=True, tag="hello"):
    """First line of a connection: versions meet or part here."""

    v: int
    software: str
    thread: str | None = None  # of Codex, that the caller is a tool of


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
    pairs: list[str] = msgspec.field(default_factory=list)


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
    allow_secret: str | None = None  # as of send


class About(Request, frozen=True, tag="about"):
    """What an answer to the message id must say: who is asked, who has asked."""

    looks = True
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

    looks = True


class List(Request, frozen=True, tag="ls"):
    """Every claimed name, or that one, with its owner and its pending mail."""

    looks = True
    name: str | None = None


class Legs(Request, frozen=True, tag="legs"):
    """The ways to the owner of name, or of every owned name, and their state."""

    looks = True
    name: str | None = None


class Queue(Request, frozen=True, tag="queue"):
    """Every pending envelope, of one name or of all, with why it is not further."""

    looks = True
    name: str | None = None


class Order(Request, frozen=True, tag="order"):
    """Change what becomes of pending envelopes, durably; answered one by one.

    Without letters a flush means all of name, or all there is.  to: the device that
    a reroute lets mail wait for.
    """

    do: Deed
    letters: list[Letter] = msgspec.field(default_factory=list)
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

    soon = True
    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    name: str
    letters: list[Past]


class Prune(Request, frozen=True, tag="prune"):
    """Remove closed segments in which all is finished and that old, of the mailbox of
    name or of all; without a name also such blobs that no mail names."""

    soon = True
    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})
    older_s: int
    name: str | None = None


class Room(Request, frozen=True, tag="room"):
    """Make a room with members, change who is in it, or end it."""

    soon = True
    do: Literal["create", "join", "leave", "rm"]
    name: str
    members: list[str] = msgspec.field(
        default_factory=list
    )  # addresses; none: the caller's own name
    notify: bool = False  # of those that join: a notice in place of copies


class Rooms(Request, frozen=True, tag="rooms"):
    """Every room, or that one, with its members."""

    looks = True
    name: str | None = None


class Whoami(Request, frozen=True, tag="whoami"):
    """The caller's class and the name a bare command of its would use."""

    looks = True


class Stop(Request, frozen=True, tag="stop"):
    """End the daemon in order."""

    callers = frozenset({CallerClass.PERSON, CallerClass.SERVICE})


# Every verb, in the order of this page.
VERBS: tuple[type[Request], ...] = tuple(Request.__subclasses__())

"""What may be asked of the daemon: one struct a verb, and who may ask it.

The only schema of the control socket; the client builds these, the control door
decodes them.  Each caller class decodes only its own union, so that nothing above
its rights is ever built.  homi-protocol(7) is the page.
"""

from enum import StrEnum
from typing import ClassVar, Literal

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


class Hello(Request, frozen=True, tag="hello"):
    """First line of a connection: versions meet or part here."""

    v: int
    software: str


class Send(Request, frozen=True, tag="send"):
    """Store msg; its bytes are kept as they are."""

    msg: msgspec.Raw


class Claim(Request, frozen=True, tag="claim"):
    """Make name a durable address, or say that it is one already."""

    name: str
    cwd: str | None = None
    take: bool = False


class Release(Request, frozen=True, tag="release"):
    """End a claim; its mailbox stays on disk."""

    name: str


class Ack(Request, frozen=True, tag="ack"):
    """Record envelopes of name as seen: decisions, answered after the sync."""

    ids: list[str]
    name: str | None = None
    proof: Literal["ack", "read"] = "ack"


class Wait(Request, frozen=True, tag="wait"):
    """Answer when name has pending mail after seq; repeatable as it stands."""

    name: str | None = None
    after: int = 0
    timeout: float | None = None  # seconds; None waits for ever


class Await(Request, frozen=True, tag="await"):
    """Answer when the envelope id in the mailbox of name has reached rung."""

    name: str
    id: MessageId
    rung: Rung
    timeout: float | None = None  # seconds


class Status(Request, frozen=True, tag="status"):
    """How the daemon is: counts, ring, queues, sessions."""


class List(Request, frozen=True, tag="ls"):
    """Every claimed name with its owner and its pending mail."""


class Queue(Request, frozen=True, tag="queue"):
    """Every pending envelope, of one name or of all, with why it is not further."""

    name: str | None = None


class Whoami(Request, frozen=True, tag="whoami"):
    """The caller's class and the name a bare command of its would use."""


class Stop(Request, frozen=True, tag="stop"):
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
    Queue,
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


class Acked(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to ack: what is recorded as seen, those that were already included."""

    name: str
    ids: list[str]


class Waited(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to wait: pending mail after the seq asked for, oldest first."""

    name: str
    ids: list[str]
    seq: int  # of the newest: the `after` of the next wait


class Claimed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to claim."""

    name: str
    fresh: bool  # false: it was claimed already
    socket: str  # where native clients write to the name
    owner: int = 0  # pid of the live session that has the name; 0: nobody


class Done(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to release and stop."""

    text: str
    pending: int = 0


class QueueRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pending envelope as the courier sees it now; its ledger may say less."""

    name: str
    seq: int
    id: str
    rung: Rung
    reason: str = ""
    until: str = ""  # RFC 3339: no new try before


class QueueReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to queue, in order of arrival within each name."""

    rows: list[QueueRow]


class SessionRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A live session as homi knows it."""

    pid: int
    name: str = ""  # as the client writes it
    address: str = ""  # folded; empty: nothing of it is a name
    session: str = ""
    status: str = ""
    cwd: str = ""
    version: str = ""
    reachable: bool = True  # false: it has no socket, so nothing can be handed over


class NameRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One claimed name."""

    name: str
    state: str  # live | held | built-in
    pending: int = 0
    oldest: str = ""  # RFC 3339 of the oldest pending envelope
    owner: SessionRow | None = None
    others: list[int] = []  # pids of further live sessions of this name
    cwd: str = ""
    note: str = ""  # anything a person should know: a fight over the record, …


class Listing(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to ls."""

    device: str
    names: list[NameRow]
    sessions: list[SessionRow] = []  # live ones that own no claimed name


class StatusReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to status."""

    device: str
    software: str
    pid: int
    since: str  # RFC 3339
    root: str
    names: int
    sessions: int
    pending: int
    connections: int
    free_mib: int
    accept: str  # open, or why accept is closed
    findings: list[str] = []  # what was unreadable at start, path and offset
    notes: list[str] = []


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to whoami."""

    caller: CallerClass
    device: str
    name: str = ""
    names: list[str] = []
    pid: int = 0
    session: str = ""

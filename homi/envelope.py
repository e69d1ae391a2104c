"""The envelope: what a sender wrote (msg) and the postmark around it.

Owns the structs of inbox and ledger lines, the rungs and the closed list of
reasons.  The body stays opaque.  homi-mailbox(5) is the format.
"""

from enum import StrEnum
from typing import Any, NewType

import msgspec

MessageId = NewType("MessageId", str)

VERSION = 1


class Rung(StrEnum):
    """How far an envelope got, and the marks beside the ladder."""

    SPOOLED = "spooled"  # in pickup/, not yet judged
    STORED = "stored"  # its inbox line is durable
    RELAYED = "relayed"  # the other device, or each member of the room, has it
    INTENT = "intent"  # about to be handed over; no outcome known
    OFFERED = "offered"  # a session's channel took it
    TAKEN = "taken"  # stands in the session's conversation; still only offered
    SEEN = "seen"  # proven read, or acked
    ANSWERED = "answered"  # a reply to it arrived
    HELD = "held"
    DEFERRED = "deferred"
    PARKED = "parked"
    REFUSED = "refused"
    BOUNCED = "bounced"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    DROPPED = "dropped"
    MOVED = "moved"


# Only evidence or a recorded decision ends an envelope; everything else is pending.
FINISHED = frozenset(
    {
        Rung.RELAYED,
        Rung.SEEN,
        Rung.ANSWERED,
        Rung.BOUNCED,
        Rung.EXPIRED,
        Rung.CANCELLED,
        Rung.DROPPED,
        Rung.MOVED,
    }
)
# Answered to a caller after the ring's sync; the rest is appended unsynced, since
# losing it can only repeat a hand-over.
DECISIONS = frozenset(
    {
        Rung.CANCELLED,
        Rung.DROPPED,
        Rung.BOUNCED,
        Rung.EXPIRED,
        Rung.PARKED,
        Rung.RELAYED,
        Rung.MOVED,
    }
)
# What the ledger notes for the courier alone is shown as the rung it stands on.
SHOWN = {Rung.INTENT: Rung.STORED, Rung.TAKEN: Rung.OFFERED}
# The order in which a wait for a rung counts as reached.
LADDER = (
    Rung.SPOOLED,
    Rung.STORED,
    Rung.RELAYED,
    Rung.OFFERED,
    Rung.SEEN,
    Rung.ANSWERED,
)


class Reason(StrEnum):
    """Why an envelope is not further; a closed list, the same in every surface."""

    NO_OWNER = "no-owner"
    PACED = "paced"
    BUSY = "busy"
    HOST_HELD = "host-held"
    HOST_REFUSED = "host-refused"
    APPROVAL = "approval"
    DRAFT = "draft"
    COPY_MODE = "copy-mode"
    LINK_DOWN = "link-down"
    AUTH = "auth"
    HOST_KEY = "host-key"
    DEVICE_KEY = "device-key"
    QUOTA = "quota"
    DISK = "disk"
    BUDGET = "budget"
    LOOP = "loop"
    POLICY = "policy"
    SCAN = "scan"
    SPAWN_FAILING = "spawn-failing"
    UNREACHABLE = "unreachable"
    NO_PROOF = "no-proof"
    MODEL_UNAVAILABLE = "model-unavailable"
    NOT_LOADED = "not-loaded"
    INTERRUPTED = "interrupted"
    OPERATOR = "operator"
    MOVING = "moving"
    TOO_LARGE = "too-large"
    DIGEST = "digest"  # offered by its line in a digest, its text not yet


# Parked for one of these a letter waits beside its lane, whose later ones go on:
# what agents may not go on with must not keep a person's work from them.
ASIDE = frozenset({Reason.BUDGET, Reason.LOOP, Reason.POLICY, Reason.SCAN})


class Kind(StrEnum):
    """What a message is; the last three are minted by a postmaster only."""

    MAIL = "mail"
    ASK = "ask"
    REPLY = "reply"
    BOUNCE = "bounce"
    NOTICE = "notice"
    WAKE = "wake"


AGENT_KINDS = frozenset({Kind.MAIL, Kind.ASK, Kind.REPLY})
# Whoever had a wake sent reads what comes of it.
ANSWERED_KINDS = AGENT_KINDS | {Kind.WAKE}


class Msg(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The sender's object.  Its bytes are kept as they came; this only reads them."""

    id: MessageId  # a UUID, 8-4-4-4-12 hex: the clients keep no other shape
    from_: str = msgspec.field(name="from")  # a bare name; its device is in via
    to: str
    text: str
    kind: Kind = Kind.MAIL
    thread: str | None = None
    reply_to: MessageId | None = None
    needs: str | None = None
    ttl_s: int | None = None  # seconds from the local arrival, never from the sender
    priority: str | None = None
    tags: list[str] = msgspec.field(default_factory=list)
    blobs: list[str] = msgspec.field(default_factory=list)
    auto: bool = False
    mode: str | None = None  # prompting | bypass: the sending client's assertion
    default: str | None = None  # of an ask: its answer where its time runs out


class Was(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What an imported message was where it came from: a file says so, no more."""

    at: str  # RFC 3339: when it was stored there
    rung: Rung = Rung.STORED  # a finished one stays finished here
    reason: Reason | None = None
    changed: str = ""  # RFC 3339: when that rung was reached
    to: str = ""  # the mailbox
    from_: str = msgspec.field(name="from", default="")  # of a writer without a name
    via: dict[str, Any] | None = None  # its postmark


class Via(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What the accepting device measured about the sender; never what it was told."""

    door: str  # peer | control | pickup | link | wake | homi | import | room
    device: str | None = None  # the sender's own
    uid: int | None = None
    pid: int | None = None
    session: str | None = None  # the client's session id
    session_name: str | None = None  # as the session writes it, before folding
    verified: bool = False
    claimed_from: str | None = None
    key: str | None = None  # of the link it came by: SHA256:…
    relay: str | None = None  # the device that handed it over, if not the sender's own
    repeat: bool = False  # likely a second try of the line stored before it
    parked: Reason | None = None  # kept from going out since it came, and why
    was: Was | None = None  # imported
    room: str | None = None  # a copy of what was sent to it; elsewhere with its device
    member: str | None = None  # whose copy: of several on one device each has its own
    moved: int = 0  # it follows a name to another device: the generation there


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One inbox line: the postmark of the device that wrote it, around msg."""

    v: int
    seq: int  # orders lines of one inbox; may have gaps, counts nothing
    at: str  # RFC 3339 UTC, by the accepting device's clock
    to: str  # the place, after aliases
    via: Via
    hops: list[str] = msgspec.field(default_factory=list)
    msg: msgspec.Raw


CLAUDE = "claude"  # the client whose sessions have records of their own


class SessionRef(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Which process a hand-over went to: pid and start time name it for ever.  A body
    that is no process of its own (a thread, a command) has pid 0 and `client:id`."""

    pid: int
    start: str  # field 22 of /proc/<pid>/stat, or the system's own text
    id: str = ""  # the conversation's id; /clear changes it, pid and start stay

    @property
    def client(self) -> str:
        """Whose session it is: the client of a body, else CLAUDE."""
        return CLAUDE if self.pid else self.start.partition(":")[0]


class LedgerLine(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """What became of one envelope.  seq names the inbox line; id is for readers."""

    n: int = 0  # given by the committer, in file order
    seq: int
    id: MessageId
    rung: Rung
    at: str  # RFC 3339 UTC
    leg: str | None = None
    session: SessionRef | None = None
    reason: Reason | None = None
    until: str | None = None  # RFC 3339: no new try before
    by: str | None = None  # who decided: "ack alice pid 12", "person", "receipt"
    proof: str | None = None  # transcript | ack | read | reply
    repeat: bool = False  # this hand-over carried the repeat mark
    allowed: str | None = None  # why a person let a secret leave
    there: str | None = None  # RFC 3339: told by another device, by its own clock
    member: str | None = None  # of a room: about the copy for that address alone


def origin(via: Via) -> str:
    """The dedupe origin: what the door measured, never a field of the message."""
    if via.door == "import":
        return via.door  # whatever device the file names
    if via.door == "room":
        return f"room:{via.room}/{via.member or ''}"  # whoever wrote to it
    if via.device is not None:
        # What comes back with a name that had left is not what was here before.
        return f"link:{via.key or via.device}" + f"/{via.moved}" * bool(via.moved)
    if via.session is not None and via.verified:
        return f"session:{via.session}"
    if via.door in ("wake", "homi"):
        return via.door
    return f"uid:{via.uid}"


encode = msgspec.json.Encoder().encode
decode_envelope = msgspec.json.Decoder(Envelope).decode
decode_msg = msgspec.json.Decoder(Msg).decode
decode_ledger = msgspec.json.Decoder(LedgerLine).decode

"""The Leg contract: one try to hand a letter to a session, and what proves it.

A leg tries once and reports; the courier decides.  homi-legs(7) is the page.
"""

from typing import Protocol

import msgspec

from homi.address import Name
from homi.envelope import Envelope, MessageId, Msg, Reason, Rung, SessionRef
from homi.sessions import Session


class Offered(msgspec.Struct, frozen=True, tag=True):
    """The session's channel took it."""


class Held(msgspec.Struct, frozen=True, tag=True):
    """The session cannot take it now; until is monotonic seconds, None: an event."""

    reason: Reason
    until: float | None = None


class Deferred(msgspec.Struct, frozen=True, tag=True):
    """The try failed; again after this many seconds."""

    reason: Reason
    after: float
    unclear: bool = False  # all was written, no verdict: the next try is a repeat


class Refused(msgspec.Struct, frozen=True, tag=True):
    """This session will never take it."""

    reason: Reason


Outcome = Offered | Held | Deferred | Refused


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """An envelope made ready for one hand-over."""

    place: Name  # the mailbox it is in
    envelope: Envelope
    msg: Msg
    repeat: bool = False  # may have been read before
    possible_repeat: bool = False  # via.repeat: the sender may have sent it twice
    reply_socket: str = ""  # a socket of ours that stands for the sender
    line_socket: str = ""  # a socket of ours in the session's own socket folder
    pulled: bool = False  # a hook of the session asks for it, nobody writes to it
    tooled: bool = False  # who reads it has homi's own tools; homi-mcp(1)
    by_turn: bool = False  # the last words of the turn answer it
    again: bool = False  # it goes out although the conversation may hold it


class Leg(Protocol):
    """A way to hand letters to sessions."""

    name: str
    client: str  # whose sessions it is for

    def serves(self, session: Session) -> bool:
        """Whether this leg can reach the session at all."""
        ...

    def proofs(self, session: Session) -> frozenset[Rung]:
        """The rungs this leg can prove for the session: OFFERED, perhaps SEEN."""
        ...

    async def offer(self, letter: Letter, session: Session) -> Outcome:
        """Try once.  Never retry, never sleep, never raise for a bad recipient."""
        ...


# ---- evidence: what comes back after a hand-over, by the letter's id ----


class Taken(msgspec.Struct, frozen=True, tag=True):
    """It stands in the session's conversation; the rung stays offered."""

    id: MessageId


class Seen(msgspec.Struct, frozen=True, tag=True):
    """The model answered a request that held it."""

    id: MessageId
    proof: str = "transcript"


class Blocked(msgspec.Struct, frozen=True, tag=True):
    """A hook of the session threw it away; this session will never read it."""

    id: MessageId


class Ignored(msgspec.Struct, frozen=True, tag=True):
    """The channel works and it is not there: offer once more, as a repeat."""

    id: MessageId


class NoProof(msgspec.Struct, frozen=True, tag=True):
    """There is no proof to be had from this session; it stays offered."""

    id: MessageId


class ModelFailed(msgspec.Struct, frozen=True, tag=True):
    """Taken, but every try of the model failed; another turn will hold it."""

    id: MessageId


class Stopped(msgspec.Struct, frozen=True, tag=True):
    """Taken, but its turn came to no end: the model has its text, or may have it."""

    id: MessageId
    reason: Reason


class Waiting(msgspec.Struct, frozen=True, tag=True):
    """A person stopped what it waits behind: it stays there until they go on."""

    id: MessageId


class Withdrawn(msgspec.Struct, frozen=True, tag=True):
    """It was taken back before anybody could read it."""

    id: MessageId


class GivenBack(msgspec.Struct, frozen=True, tag=True):
    """It had the letter, and says itself that it came to nothing: again later."""

    id: MessageId
    reason: Reason
    after: float  # s
    by: str
    tell: str = ""  # what the sender is told, once
    repeat: bool = True  # it may have read it
    lost = True
    drop_reason = ""


class Receipt(msgspec.Struct, frozen=True, tag=True):
    """The client's own word, from a control frame at one of our sockets."""

    id: MessageId
    status: str  # held delivered denied expired refused dropped
    drop_reason: str = ""  # rate-limited duplicate queue-full hop-runaway hop-loop

    @property
    def lost(self) -> bool:
        """Whether it says that the letter was thrown away."""
        return self.status == "dropped"


Evidence = (
    Taken
    | Seen
    | Blocked
    | Ignored
    | NoProof
    | ModelFailed
    | Stopped
    | Waiting
    | Withdrawn
    | GivenBack
    | Receipt
)


class EvidenceSink(Protocol):
    """Where evidence goes; called on the loop."""

    def __call__(self, session: SessionRef, evidence: Evidence) -> None:
        """Take one piece of evidence from that session."""
        ...


class Witness(Protocol):
    """Reads what a session itself writes down of the letters it was given."""

    def taken_before(self, session: Session, message: MessageId) -> bool:
        """Whether the session's conversation holds the id already (offer not)."""
        ...

    def watch(self, session: Session, letter: Letter) -> None:
        """Report evidence of letter from now on; call before the bytes go out."""
        ...

    def offered(self, session: Session, message: MessageId) -> None:
        """The hand-over ended cleanly; the conclusions about silence may start."""
        ...

    def changed(self, session: Session) -> None:
        """Its record changed: status, conversation id, folder."""
        ...

    def forget(self, session: SessionRef, message: MessageId) -> None:
        """No more evidence of it is wanted from that session."""
        ...

    async def finish(self, session: Session) -> None:
        """The process is gone: read to the end, report, watch it no more."""
        ...

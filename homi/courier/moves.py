"""What an outcome or a piece of evidence makes of an envelope: pure.

The one place where a leg's outcome and a session's evidence become a ledger
line, each matched exhaustively.  homi-legs(7) lists both.
"""

from typing import assert_never

import msgspec

from homi.courier.rules import in_hands, process_of
from homi.envelope import Reason, Rung, SessionRef
from homi.legs.base import (
    Blocked,
    Deferred,
    Evidence,
    GivenBack,
    Held,
    Ignored,
    ModelFailed,
    NoProof,
    Offered,
    Outcome,
    Receipt,
    Refused,
    Seen,
    Stopped,
    Taken,
    Waiting,
    Withdrawn,
)
from homi.store.mailbox import Item

RETRY_DROPPED = 2.1  # s: the client's bucket fills at 0.5/s; stamps have ms
RETRY_UNKNOWN = 30.0  # s: dropped for a reason this homi does not know
RETRY_MAX = 300.0  # s


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger line to be: what changes, and whether the sender is told."""

    rung: Rung
    session: SessionRef | None = None
    reason: Reason | None = None
    until: float | None = None  # wall seconds: no new try before
    leg: str | None = None
    by: str | None = None
    proof: str | None = None
    repeat: bool = False  # it was handed over, so the next time is a repeat
    tell: str = ""  # what the sender is told; empty: nothing
    durable: bool = False  # it is told as done: synced, whatever its rung


class Moment(msgspec.Struct, frozen=True):
    """When it happened, and how often before."""

    wall: float
    monotonic: float = 0.0
    tries: int = 0  # earlier tries that ended the same way
    offered_again: bool = False  # that session ignored it once already
    stale: bool = False  # told by a conversation left before the last hand-over


def of_outcome(outcome: Outcome, session: SessionRef, leg: str, now: Moment) -> Move:
    """The line after a try."""
    match outcome:
        case Offered():
            return Move(rung=Rung.OFFERED, session=session, leg=leg)
        case Held(reason=reason, until=until):
            wall = None if until is None else now.wall + until - now.monotonic
            return Move(
                rung=Rung.HELD, session=session, leg=leg, reason=reason, until=wall
            )
        case Deferred(reason=reason, unclear=True):
            return unclear(session, leg, reason)
        case Deferred(reason=reason, after=after):
            until = now.wall + min(after * 2.0 ** min(now.tries, 16), RETRY_MAX)
            return Move(
                rung=Rung.DEFERRED, session=session, leg=leg, reason=reason, until=until
            )
        case Refused(reason=reason):
            return Move(
                rung=Rung.REFUSED,
                session=session,
                leg=leg,
                reason=reason,
                tell=f"the session cannot take it ({reason})",
            )
        case _:
            assert_never(outcome)


def unclear(session: SessionRef, leg: str, reason: Reason) -> Move:
    """The line after a try that had no end: it may be read yet, nobody can say."""
    return Move(
        rung=Rung.INTENT, session=session, leg=leg, reason=reason, by="no end of it"
    )


def of_evidence(
    item: Item, session: SessionRef, evidence: Evidence, now: Moment
) -> Move | None:
    """The line after evidence about item from session; None: it says nothing new."""
    if not _concerns(item, session, evidence, stale=now.stale):
        return None
    move: Move | None
    match evidence:
        case Seen(proof=proof):
            move = Move(rung=Rung.SEEN, session=session, proof=proof)
        case Taken():
            move = _taken(item, session)
        case Blocked():
            move = Move(
                rung=Rung.REFUSED,
                reason=Reason.POLICY,
                by="hook",
                repeat=True,
                tell="a hook of the session threw it away",
            )
        case Ignored():
            move = _ignored(item, now)
        case NoProof():
            move = _no_proof(item)
        case ModelFailed():
            # A line of taken also says so of a letter not known to be taken yet.
            rung = Rung.OFFERED if item.taken else Rung.TAKEN
            move = Move(rung=rung, reason=Reason.MODEL_UNAVAILABLE)
        case Stopped() | Waiting() | Withdrawn() | GivenBack():
            move = _of_queue(item, evidence, now)
        case Receipt():
            # What stands in the conversation was not lost, whatever came late.
            move = None if item.taken else _receipt(item, evidence, now)
        case _:
            assert_never(evidence)
    return move


def _concerns(
    item: Item, session: SessionRef, evidence: Evidence, *, stale: bool
) -> bool:
    """Whether evidence from that session can move the letter at all."""
    if isinstance(evidence, Seen):
        return True
    if stale and not isinstance(evidence, Receipt):
        # Of the hand-over before: the new conversation may have it or not.
        return False
    if item.session is None or process_of(item.session) != process_of(session):
        return False
    # A letter given back may turn out to be there after all.
    back = item.rung in (Rung.DEFERRED, Rung.HELD) and _says_it_is_there(evidence)
    return in_hands(item) or back


def _says_it_is_there(evidence: Evidence) -> bool:
    """Whether the evidence is that the session has the letter."""
    if isinstance(evidence, Receipt):
        return evidence.status == "delivered"
    return isinstance(evidence, Taken)


def _taken(item: Item, session: SessionRef) -> Move | None:
    known = item.taken and item.session is not None and item.session.id == session.id
    return None if known and in_hands(item) else Move(rung=Rung.TAKEN, session=session)


def _ignored(item: Item, now: Moment) -> Move | None:
    """Once more, as a repeat; a second silence is no reason for a third try."""
    if item.taken:
        return None
    if now.offered_again:
        return _no_proof(item)
    return Move(
        rung=Rung.DEFERRED,
        reason=Reason.UNREACHABLE,
        until=now.wall,
        by="ignored",
        repeat=True,
    )


def _of_queue(
    item: Item, evidence: Stopped | Waiting | Withdrawn | GivenBack, now: Moment
) -> Move | None:
    """The line after evidence from a client that keeps a queue, or from a run."""
    match evidence:
        case Stopped(reason=reason):
            return _stopped(item, reason)
        case Waiting():
            return Move(rung=Rung.HELD, reason=Reason.INTERRUPTED)
        case Withdrawn():
            return Move(rung=Rung.HELD, reason=Reason.NOT_LOADED, by="taken back")
        case GivenBack():
            return _given_back(evidence, now)
        case _:
            assert_never(evidence)


def _stopped(item: Item, reason: Reason) -> Move | None:
    """Never again by itself: a turn that came to no end may have done half of it."""
    if item.taken and item.reason is reason:
        return None
    return Move(
        rung=Rung.OFFERED if item.taken else Rung.TAKEN,
        reason=reason,
        tell=f"the turn that had it came to no end ({reason}); it stands there, and is"
        " not sent again by itself",
    )


def _given_back(evidence: GivenBack, now: Moment) -> Move:
    """Again after a while, longer after each failure of that letter."""
    after = evidence.after * 2.0 ** min(now.tries, 16)
    return Move(
        rung=Rung.DEFERRED,
        reason=evidence.reason,
        until=now.wall + min(after, RETRY_MAX),
        by=evidence.by,
        repeat=evidence.repeat,
        tell=evidence.tell,
    )


def _no_proof(item: Item) -> Move | None:
    """Say so once.  An intent stays one: that it was taken is not known."""
    if item.reason is Reason.NO_PROOF:
        return None
    rung = Rung.INTENT if item.rung is Rung.INTENT else Rung.OFFERED
    return Move(rung=rung, reason=Reason.NO_PROOF)


def _receipt(item: Item, receipt: Receipt, now: Moment) -> Move | None:
    """The line after the client's own word."""
    by = f"receipt {receipt.drop_reason or receipt.status}"
    match receipt.status:
        case "held":
            return Move(rung=Rung.HELD, reason=Reason.HOST_HELD, by=by, repeat=True)
        case "delivered":
            news = item.rung is not Rung.OFFERED or item.reason is not None
            return Move(rung=Rung.OFFERED, by=by) if news else None
        case "denied" | "expired" | "refused":
            return Move(
                rung=Rung.REFUSED,
                reason=Reason.HOST_REFUSED,
                by=by,
                repeat=True,
                tell=f"the session did not let it in ({receipt.status})",
            )
        case "dropped":
            return _dropped(receipt.drop_reason, by, now)
        case _:
            return None


def _dropped(why: str, by: str, now: Moment) -> Move:
    """Lost by the client's guard: again, as the repeat that alters its text."""
    match why:
        case "rate-limited" | "duplicate":
            after, reason = RETRY_DROPPED * 2.0 ** min(now.tries, 16), Reason.PACED
        case "queue-full":
            after, reason = RETRY_DROPPED, Reason.BUSY
        case "hop-runaway" | "hop-loop":
            return Move(
                rung=Rung.REFUSED,
                reason=Reason.LOOP,
                by=by,
                repeat=True,
                tell="the session counts it as part of a loop",
            )
        case _:
            after, reason = RETRY_UNKNOWN, Reason.PACED
    return Move(
        rung=Rung.DEFERRED,
        reason=reason,
        until=now.wall + min(after, RETRY_MAX),
        by=by,
        repeat=True,
    )

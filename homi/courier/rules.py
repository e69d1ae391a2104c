"""What to do with one pending envelope now: pure, over facts that are handed in.

Owns the rules of when a letter may go out, go out again, waits, expires or is
pending again.  Knows nothing of tasks, files or sockets.  homi-legs(7) states
the rules for people.
"""

from enum import Enum
from functools import lru_cache

import msgspec

from homi.clock import parse_rfc3339
from homi.courier.pace import Process
from homi.envelope import ASIDE, Reason, Rung, SessionRef
from homi.sessions import Session
from homi.store.mailbox import Item

# After /clear the last answer of the old conversation may still be on its way to
# the disk (a transcript is written within 0.1 s, seldom 0.3).
CLEAR_SETTLE = 1.0  # s


# Held for one of these a letter is held where it is: in a session's hands.
WITH_A_SESSION = frozenset({Reason.HOST_HELD, Reason.INTERRUPTED})


class Where(Enum):
    """Where the process of the last hand-over is."""

    NOBODY = "nobody"  # it was never handed over
    HERE = "here"  # it is the owner
    ELSEWHERE = "elsewhere"  # it lives, under another name
    ENDING = "ending"  # it is gone and its transcript is being read
    GONE = "gone"  # it is gone and has told all it will


class Offer(msgspec.Struct, frozen=True, tag=True):
    """Hand it to the owner, if its lane and the pace allow."""

    repeat: bool  # with the mark: it may have been read before


class Wait(msgspec.Struct, frozen=True, tag=True):
    """Leave it.  lane: the later ones of its lane wait too."""

    reason: Reason | None = None
    until: float | None = None  # wall seconds; None: an event
    lane: bool = False


class Expire(msgspec.Struct, frozen=True, tag=True):
    """Its time is over before anybody took it."""


class Return(msgspec.Struct, frozen=True, tag=True):
    """Its session ended without a proof and nobody owns the name: pending again."""


Step = Offer | Wait | Expire | Return


class Facts(msgspec.Struct, frozen=True):
    """What next_step must know beside the item itself."""

    now: float  # wall seconds
    where: Where
    owner: Session | None
    settles: float | None = None  # wall seconds: its /clear is too fresh until then
    unchanged: bool = False  # the owner's record is what it was when it said no
    awaited: bool = False  # somebody waits for it and will take it


def process_of(ref: SessionRef) -> Process:
    """The process a ledger line names, whatever its conversation."""
    return ref.pid, ref.start


def in_hands(item: Item) -> bool:
    """Whether some session may have it: only evidence takes it back from there."""
    return item.session is not None and (
        item.rung in (Rung.INTENT, Rung.OFFERED, Rung.TAKEN)
        or (item.rung is Rung.HELD and item.reason in WITH_A_SESSION)
    )


def listed(item: Item) -> bool:
    """Whether a session was told of it by a digest, and not given its text."""
    return item.rung is Rung.OFFERED and item.reason is Reason.DIGEST


def at_rest(item: Item, owner: Session | None, stopped: Wait | None) -> bool:
    """Whether there is nothing to do: the bulk of a full mailbox must not take the
    loop's time."""
    if item.ttl_s is not None:
        return False
    if item.rung is Rung.STORED:
        return owner is None or stopped is not None
    return listed(item) and owner is not None and item.session == owner.ref


def expires_at(item: Item) -> float | None:
    """Wall seconds when it expires, counted from its arrival here; None: never."""
    if item.ttl_s is None:
        return None
    return _arrival(item.at) + item.ttl_s


def next_step(item: Item, facts: Facts) -> Step:
    """What to do with item, given the facts; its lane and the pace come after."""
    held, told = in_hands(item), listed(item)
    # A letter in a digest is one that nobody has read: its time goes on.
    if held and not told and facts.where is not Where.GONE:
        return _with_a_session(item, facts)
    ends = expires_at(item)
    if ends is not None and ends <= facts.now:
        return Expire()
    if told and facts.where is not Where.GONE:
        return _with_a_session(item, facts)
    if item.rung is Rung.PARKED:
        return Wait(item.reason, item.until, lane=item.reason not in ASIDE)
    if facts.awaited and not held:
        return Wait()
    if facts.owner is None:
        return Return() if held and not told else Wait(Reason.NO_OWNER)
    if not held and facts.where is Where.HERE:
        wait = _not_now(item, facts, facts.owner)
        if wait is not None:
            return wait
    return Offer(repeat=item.repeat or held)


def _with_a_session(item: Item, facts: Facts) -> Step:
    """A living session may have it: never again on time alone."""
    if facts.where is Where.ENDING:
        return Wait(item.reason, lane=True)
    if facts.where is Where.HERE and _lost_by_clear(item, facts.owner):
        if facts.settles is not None and facts.settles > facts.now:
            return Wait(item.reason, facts.settles, lane=True)
        return Offer(repeat=True)
    # Without an outcome nobody knows whether the later ones would overtake it.
    unknown = item.rung is Rung.INTENT and item.reason is not Reason.NO_PROOF
    return Wait(item.reason, lane=unknown or item.rung is Rung.HELD)


def _lost_by_clear(item: Item, owner: Session | None) -> bool:
    """Known to a conversation the process has left: the new one lacks it."""
    return (
        owner is not None
        and item.session is not None
        and (item.taken or listed(item))
        and bool(item.session.id)
        and item.session.id != owner.session_id
    )


def _not_now(item: Item, facts: Facts, owner: Session) -> Wait | None:
    """Why this very session, which said no before, is not asked again yet."""
    if item.rung is Rung.REFUSED:
        same = item.session is not None and item.session.id == owner.session_id
        # The rest of the lane goes on: this one is for the next session.
        return Wait(item.reason) if same else None
    if item.rung not in (Rung.HELD, Rung.DEFERRED) or item.reason is Reason.NO_OWNER:
        return None
    # A record that changed is a sign of life: worth a try before its time.
    stirred = item.reason is Reason.UNREACHABLE and not facts.unchanged
    if item.until is not None and item.until > facts.now and not stirred:
        return Wait(item.reason, item.until, lane=True)
    if item.reason is Reason.BUSY and owner.status in ("busy", "waiting"):
        return Wait(item.reason, lane=True)
    if item.rung is Rung.HELD and item.until is None and facts.unchanged:
        return Wait(item.reason, lane=True)
    return None


@lru_cache(maxsize=4096)
def _arrival(at: str) -> float:
    """Wall seconds of a postmark; a pass over a full mailbox asks it often."""
    return parse_rfc3339(at)

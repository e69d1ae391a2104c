"""What a caller's order makes of a pending envelope: pure.

Owns which order applies to an envelope as it stands, and the words for one that
does not.  homi-queue(1) states the rules for people.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

import msgspec

from homi.address import Device
from homi.courier.moves import Move
from homi.courier.rules import in_hands
from homi.envelope import ASIDE, MessageId, Reason, Rung
from homi.errors import HomiError, NoInput, NotReached
from homi.requests import Deed
from homi.store.mailbox import Item

# What an order leaves a letter as that it ends.
ENDS = {
    Deed.DROP: Rung.DROPPED,
    Deed.BOUNCE: Rung.BOUNCED,
    Deed.REROUTE: Rung.MOVED,
}
# Of a letter that waits for one of these no time or stubbornness stands in the way.
_NOT_WAITING = frozenset({Reason.NO_OWNER, Reason.HOST_HELD})


class Verdict(msgspec.Struct, frozen=True):
    """What became of one envelope by an order."""

    rung: Rung | None = None
    reason: Reason | None = None
    already: bool = False
    given: int = 0  # pid of the session that has it
    error: HomiError | None = None
    to: str = ""  # where it waits now, if it was moved


@dataclass(frozen=True, slots=True)
class Job:
    """An order for envelopes of one mailbox; done is called once, on the loop."""

    do: Deed
    letters: list[tuple[int, MessageId]]  # seq and id
    by: str
    done: Callable[[list[Verdict]], None]
    # Tells the sender of what an order ends, before that is recorded; then whether
    # it may be.
    first: Callable[[Item, Callable[[bool], None]], None] | None = None
    device: Device | None = None  # that a reroute lets mail wait for

    def refuse(self, error: HomiError) -> None:
        """None of it was carried out."""
        self.done([Verdict(error=error) for _ in self.letters])


def of_order(do: Deed, item: Item, by: str, *, given: bool) -> Move | HomiError | None:
    """The line an order makes; an error where it cannot be, None where it is so.

    given: a session that lives has it, or may have it.
    """
    by = f"{do} {by}"
    match do:
        case Deed.HOLD:
            return _held(item, by, given=given)
        case Deed.RELEASE:
            free = item.rung is not Rung.PARKED
            return None if free else Move(rung=Rung.STORED, by=by, durable=True)
        case Deed.FLUSH:
            return Move(rung=Rung.STORED, by=by) if waits(item) else None
        case Deed.REQUEUE:
            return _again(item, by)
        case Deed.BOUNCE:
            return _back(item, by, given=given)
        case Deed.REROUTE | Deed.DROP:
            return Move(rung=ENDS[do], by=by)
        case _:
            assert_never(do)


def waits(item: Item) -> bool:
    """Whether a time or an earlier no stands in its way, and nothing else."""
    tried = item.rung in (Rung.DEFERRED, Rung.HELD)
    return tried and item.reason not in _NOT_WAITING


def finished(do: Deed, message: MessageId, rung: Rung | None) -> Verdict:
    """The verdict on an envelope that is not pending any more."""
    if rung is not None and ENDS.get(do) is rung:
        return Verdict(rung=rung, already=True)
    if rung is None:
        return Verdict(error=NoInput("not pending", hint=f"homi trace {message}"))
    return Verdict(
        rung=rung,
        error=NoInput(
            f"not pending any more: it is {rung}",
            hint=f"its text can be sent anew: homi read {message}",
        ),
    )


def _held(item: Item, by: str, *, given: bool) -> Move | HomiError | None:
    """Kept from going out; what is with a session cannot be kept from it."""
    if item.rung is Rung.PARKED and item.reason in {Reason.OPERATOR, *ASIDE}:
        return None
    if given:
        return NotReached(
            f"cannot be held: the session {_who(item)} was given it",
            hint="what a session has cannot be taken back; homi queue drop ends it",
        )
    # It was with a session that is gone: that must not be forgotten meanwhile.
    return Move(rung=Rung.PARKED, reason=Reason.OPERATOR, by=by, repeat=in_hands(item))


def _back(item: Item, by: str, *, given: bool) -> Move | HomiError:
    """Ended, its sender told; not while a session has it, which may yet act on it."""
    if given:
        return NotReached(
            f"cannot be sent back: the session {_who(item)} was given it",
            hint="homi queue drop ends it all the same",
        )
    return Move(rung=Rung.BOUNCED, reason=Reason.OPERATOR, by=by)


def _who(item: Item) -> str:
    """The session that has it, as people know it."""
    if item.session is None:
        return ""
    return str(item.session.pid or item.session.start)


def _again(item: Item, by: str) -> Move | HomiError | None:
    """Offered once more, as a repeat; what no session was given waits already."""
    if item.rung is Rung.PARKED:
        return NotReached("it is held", hint=f"homi queue release {item.id}")
    if in_hands(item) or item.rung is Rung.REFUSED:
        return Move(rung=Rung.STORED, by=by, repeat=True, durable=True)
    return None

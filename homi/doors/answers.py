"""Answers of the control socket that need more than a struct.

Owns the wording of how far an envelope got and the joining of several outcomes
into one answer.  homi-protocol(7) lists the answers.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from homi.envelope import LADDER, MessageId, Rung
from homi.errors import HomiError, NoInput, NotReached, StorageFailed
from homi.postmaster import Result
from homi.reports import SendReport
from homi.store.mailbox import Item

Answer = msgspec.Struct | msgspec.Raw | HomiError
Reply = Callable[[int, Answer], None]
Doer = Callable[[Any, Reply], None]  # of a request and the way back
# Ends after which no rung of the ladder can be reached.
ENDED = frozenset(
    {Rung.BOUNCED, Rung.EXPIRED, Rung.CANCELLED, Rung.DROPPED, Rung.MOVED}
)


class Tally:
    """Answers once all of several ledger lines are durable."""

    def __init__(self, count: int, i: int, reply: Reply, answer: Answer) -> None:
        """Of none the answer is due at once."""
        self._left = count
        self._failed = False
        self._i = i
        self._reply = reply
        self._answer = answer
        if not count:
            self._finish()

    def done(self, kept: bool) -> None:
        """One line more is settled."""
        self._left -= 1
        self._failed = self._failed or not kept
        if not self._left:
            self._finish()

    def _finish(self) -> None:
        """Give the one answer."""
        lost = StorageFailed("not known to be recorded; try again")
        self._reply(self._i, lost if self._failed else self._answer)


def report(result: Result, members: int | None = None) -> Answer:
    """The answer to send: what was kept, or the refusal itself.  members: of a room."""
    if result.error is not None:
        return result.error
    if not result.duplicate and result.rung is Rung.STORED:
        # What nearly every answer is: an id and a name hold nothing to be escaped.
        more = "" if members is None else f',"members":{members}'
        return msgspec.Raw(
            f'{{"id":"{result.id}","rung":"stored","seq":{result.seq}'
            f',"to":"{result.to}"{more}}}'
        )
    return SendReport(
        id=result.id,
        rung=result.rung,
        seq=result.seq,
        to=result.to,
        duplicate=result.duplicate,
        reason=result.reason,
        members=members,
    )


def reached(
    message: MessageId, now: Rung | None, wanted: Rung, name: str
) -> Answer | None:
    """The answer to a wait for a rung: reached, never to be reached, or None."""
    if now is None:
        return NoInput(f"envelope {message} left the memory of {name}")
    if now in LADDER:
        if LADDER.index(now) >= LADDER.index(wanted):
            return SendReport(id=message, rung=now, to=name)
        return None
    if now is Rung.TAKEN and wanted in LADDER[: LADDER.index(Rung.OFFERED) + 1]:
        return SendReport(id=message, rung=Rung.OFFERED, to=name)
    if now in ENDED:
        return NotReached(f"envelope {message} is {now}, it will not be {wanted}")
    if wanted in (Rung.SPOOLED, Rung.STORED):
        return SendReport(id=message, rung=Rung.STORED, to=name)
    return None


def not_reached(wanted: Rung, message: MessageId, item: Item | None) -> HomiError:
    """What to say when the time ran out: how far it is, and that it is kept."""
    rung = item.rung if item is not None else "stored"
    why = f" ({item.reason})" if item is not None and item.reason else ""
    return NotReached(
        f"not {wanted} in time; it is {rung}{why} and kept",
        hint=f"it goes on without you; do not send it again (homi trace {message})",
    )

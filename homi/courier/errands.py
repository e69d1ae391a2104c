"""Orders carried out, between two hand-overs of one mailbox and never beside one.

Owns the orders that wait and what of them the next hand-over must know.  A drain
runs it, so that nothing else moves an envelope meanwhile but the end of it.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

from homi.courier.hands import Hands
from homi.courier.ledger import RECORD_LIMIT, Ledger
from homi.courier.moves import Move
from homi.courier.offering import Offering
from homi.courier.orders import Job, Verdict, finished, of_order
from homi.courier.rules import Where, in_hands, process_of
from homi.envelope import FINISHED, MessageId
from homi.errors import Bug, HomiError, StorageFailed
from homi.requests import Deed
from homi.sessions import Session
from homi.store.mailbox import Item, Mailbox

Forget = Callable[[int, MessageId], None]


class Errands:
    """What is to be done for one name."""

    def __init__(
        self,
        box: Mailbox,
        hands: Hands,
        ledger: Ledger,
        offering: Offering,
        forget: Forget,
    ) -> None:
        """forget(seq, id) is told of each envelope that an order ended."""
        self.jobs: deque[Job] = deque()
        # Seqs that go out next time although the conversation holds them.
        self.again: set[int] = set()
        self._box = box
        self._hands = hands
        self._ledger = ledger
        self._offering = offering
        self._forget = forget

    async def run(self, owner: Session | None) -> None:
        """Carry out everything that waits; each job is answered, come what may."""
        while self.jobs:
            job = self.jobs.popleft()
            verdicts = None
            try:
                verdicts = await self._carry_out(job, owner)
            finally:
                if verdicts is None:
                    job.refuse(Bug("the order failed; the log has why"))
                else:
                    job.done(verdicts)

    def refuse(self, error: HomiError) -> None:
        """Carry out nothing of what waits."""
        while self.jobs:
            self.jobs.popleft().refuse(error)

    async def _carry_out(self, job: Job, owner: Session | None) -> list[Verdict]:
        """Judge each letter, record all that changes at once, then tell."""
        judged = [self._judge(job, seq, message, owner) for seq, message in job.letters]
        changes = [(one[0], one[1]) for one in judged if not isinstance(one, Verdict)]
        if job.first is not None:
            told = await self._tell(job.first, [item for item, _ in changes])
            changes = [one for one in changes if one[0].seq in told]
        written = await self._ledger.record_all(self._box.name, changes)
        kept = {
            item.seq: done for (item, _), done in zip(changes, written, strict=True)
        }
        if job.do is Deed.FLUSH and owner is not None:
            self._offering.revive(process_of(owner.ref))
        return [
            one
            if isinstance(one, Verdict)
            else self._done(job, *one, kept=kept.get(one[0].seq, False))
            for one in judged
        ]

    async def _tell(
        self, first: Callable[[Item, Callable[[bool], None]], None], items: list[Item]
    ) -> set[int]:
        """Have the sender of each told that it ends; the seqs of those that may."""
        loop = asyncio.get_running_loop()
        waits: dict[int, asyncio.Future[bool]] = {}
        for item in items:
            told = waits[item.seq] = loop.create_future()
            first(item, partial(_settle, told))
        if waits:
            await asyncio.wait(waits.values(), timeout=RECORD_LIMIT)
        return {seq for seq, told in waits.items() if told.done() and told.result()}

    def _judge(
        self, job: Job, seq: int, message: MessageId, owner: Session | None
    ) -> tuple[Item, Move, int] | Verdict:
        """The line for one letter, and the pid that has it; the verdict where there
        is no line to write."""
        item = self._box.pending.get(seq)
        if item is None:
            return finished(job.do, message, self._box.rung_of(message))
        given = self._given(item, owner)
        made = of_order(job.do, item, job.by, given=given)
        pid = item.session.pid if given and item.session else 0
        if isinstance(made, Move):
            return item, made, pid
        return Verdict(item.rung, item.reason, made is None, pid, made)

    def _done(
        self, job: Job, item: Item, move: Move, pid: int, *, kept: bool
    ) -> Verdict:
        """The verdict on a letter whose line was given to the ledger."""
        if not kept:
            return Verdict(error=StorageFailed("not known to be recorded; try again"))
        rung = self._box.rung_of(item.id)
        if move.rung in FINISHED:
            self._forget(item.seq, item.id)
            stands = rung is move.rung
        else:
            stands = self._box.pending.get(item.seq) is item
        if not stands:
            # An ack or a reply that came first had ended it.
            return finished(job.do, item.id, rung)
        if job.do is Deed.REQUEUE:
            self.again.add(item.seq)
        if job.do in (Deed.REQUEUE, Deed.FLUSH):
            self._offering.forget(self._box.name, item.seq)
        return Verdict(move.rung, move.reason, given=pid)

    def _given(self, item: Item, owner: Session | None) -> bool:
        """Whether a session that lives has the letter."""
        if item.session is None or not in_hands(item):
            return False
        return self._hands.where(item.session, owner) is not Where.GONE


def _settle(told: "asyncio.Future[bool]", kept: bool) -> None:
    """Nobody may wait any more."""
    if not told.done():
        told.set_result(kept)

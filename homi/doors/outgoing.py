"""What a caller orders for mail that waits for another device.

Owns the carrying out: no session was given such mail, so nothing has to end first.
homi-queue(1) states the rules.
"""

from collections.abc import Callable
from functools import partial

from homi.address import Name
from homi.clock import rfc3339
from homi.courier.moves import Move
from homi.courier.orders import Job, Verdict, finished, of_order
from homi.doors.office import Office
from homi.envelope import LedgerLine
from homi.errors import StorageFailed
from homi.store.mailbox import Item, Mailbox


class Outgoing:
    """The out queues, as far as people decide over what is in them."""

    def __init__(self, office: Office) -> None:
        """Holds no state of its own."""
        self._office = office

    def order(self, place: Name, job: Job, now: float) -> None:
        """Judge each letter, record all that changes, then tell once.

        now is wall seconds.
        """
        box = self._office.store.mailbox(place)
        verdicts: list[Verdict | None] = [None] * len(job.letters)
        left = len(job.letters)

        def settle(at: int, verdict: Verdict) -> None:
            nonlocal left
            verdicts[at] = verdict
            left -= 1
            if not left:
                job.done([one for one in verdicts if one is not None])
                if box.device is not None:
                    self._office.stir(box.device)

        for at, (seq, message) in enumerate(job.letters):
            item = box.pending.get(seq)
            if item is None:
                settle(at, finished(job.do, message, box.rung_of(message)))
                continue
            made = of_order(job.do, item, job.by, given=False)
            if isinstance(made, Move):
                self._record(box, item, made, now, partial(settle, at))
            else:
                settle(at, Verdict(item.rung, item.reason, made is None, 0, made))
        if not job.letters:
            job.done([])

    def _record(
        self,
        box: Mailbox,
        item: Item,
        move: Move,
        now: float,
        told: Callable[[Verdict], None],
    ) -> None:
        """Record one decision; told is its verdict."""
        line = LedgerLine(
            seq=item.seq,
            id=item.id,
            rung=move.rung,
            at=rfc3339(now),
            reason=move.reason,
            by=move.by,
            repeat=move.repeat,
        )

        def done(kept: bool) -> None:
            rung = box.rung_of(item.id)
            if not kept:
                told(
                    Verdict(error=StorageFailed("not known to be recorded; try again"))
                )
            elif rung is move.rung:
                told(Verdict(move.rung, move.reason))
            else:
                # The other device had it first.
                told(Verdict(rung))

        self._office.record(box.name, line, done, durable=True)

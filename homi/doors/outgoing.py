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
from homi.errors import HomiError, NoInput, StorageFailed
from homi.store.mailbox import Item, Mailbox

Told = Callable[[Verdict], None]


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

        # As they came: what is stored elsewhere keeps the order of its lane.
        for at, (seq, message) in sorted(enumerate(job.letters), key=_by_seq):
            item = box.pending.get(seq)
            if item is None:
                settle(at, finished(job.do, message, box.rung_of(message)))
            else:
                self._one(box, item, job, now, partial(settle, at))
        if not job.letters:
            job.done([])

    def _one(self, box: Mailbox, item: Item, job: Job, now: float, told: Told) -> None:
        """Carry an order out for one letter that is pending; told is its verdict."""
        if job.device is not None and job.device == box.device:
            told(Verdict(item.rung, item.reason, already=True))
            return
        made = of_order(job.do, item, job.by, given=False)
        if not isinstance(made, Move):
            told(Verdict(item.rung, item.reason, made is None, 0, made))
        elif job.device is not None:
            moved = partial(self._moved, box, item, made, now, told)
            self._office.postmaster.reroute(box, item, job.device, moved)
        elif job.first is not None:
            job.first(item, partial(self._returned, box, item, made, now, told))
        else:
            self._record(box, item, made, now, told)

    def _moved(
        self,
        box: Mailbox,
        item: Item,
        move: Move,
        now: float,
        told: Told,
        to: str | HomiError,
    ) -> None:
        """It is durable in its new place, or could not be: then it stays."""
        if isinstance(to, HomiError):
            told(Verdict(item.rung, item.reason, error=to))
        elif box.pending.get(item.seq) is not item:
            rung = box.rung_of(item.id)
            error = NoInput(
                f"it is {rung} in {box.name} meanwhile, and waits for {to} as well",
                hint=f"homi trace {item.id}",
            )
            told(Verdict(rung, to=to, error=error))
        else:
            self._record(box, item, move, now, told, to)

    def _returned(
        self, box: Mailbox, item: Item, move: Move, now: float, told: Told, kept: bool
    ) -> None:
        """Its sender knows, or could not be told: then nothing ends."""
        if not kept:
            told(
                Verdict(error=StorageFailed("its sender could not be told; try again"))
            )
        elif box.pending.get(item.seq) is not item:
            told(Verdict(box.rung_of(item.id)))
        else:
            self._record(box, item, move, now, told)

    def _record(
        self, box: Mailbox, item: Item, move: Move, now: float, told: Told, to: str = ""
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
                told(Verdict(move.rung, move.reason, to=to))
            else:
                # The other device had it first.
                told(Verdict(rung))

        self._office.record(box.name, line, done, durable=True)


def _by_seq(one: tuple[int, tuple[int, str]]) -> int:
    """The seq of a letter with its place in the order."""
    return one[1][0]

"""The digests of one mailbox: a letter that lists a backlog, made for one session.

Owns which letters a digest lists and what its own fate makes of them.  Hands nothing
over and writes nothing.  homi-legs(7) has the rules.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from homi import ids
from homi.address import POSTMASTER
from homi.clock import Clock, parse_rfc3339
from homi.courier.moves import Move
from homi.courier.rules import Offer, Step, Wait, Where, in_hands, listed, process_of
from homi.digest import Digest, read, tags
from homi.envelope import (
    Kind,
    MessageId,
    Msg,
    Reason,
    Rung,
    Via,
    decode_msg,
    encode,
)
from homi.errors import StorageFailed
from homi.legs.listing import LINES, Entry, digest, opening
from homi.postmaster import Result, Stamp, Submission
from homi.sessions import Session
from homi.store.mailbox import Item, Mailbox

log = logging.getLogger("homi.courier")

STORE_LIMIT = 30.0  # s: as for a ledger line; a disk that takes longer is broken
AGAIN = 60.0  # s without a digest after one that could not be stored
READ_MAX = 64 << 10  # bytes of a letter read for its first line

Accept = Callable[[Submission], None]
Judge = Callable[[Item], Step]
Pair = tuple[Item, Move]

READ = frozenset({Rung.SEEN, Rung.ANSWERED})
_SENDER = f"/{POSTMASTER}"  # the lane of what this device's postmaster writes
OVER = Move(rung=Rung.CANCELLED, by="its session or its letters are gone")


class Digests:
    """What is known of the pending digests of one mailbox; all of it re-read."""

    def __init__(self, box: Mailbox, accept: Accept, clock: Clock) -> None:
        """accept is the postmaster's: a digest is stored like any mail."""
        self._box = box
        self._accept = accept
        self._clock = clock
        self._open: dict[int, Digest] = {}
        self._complete: set[int] = set()  # every letter's line is written
        self.lost: deque[tuple[Digest, Rung]] = deque()  # not read, and never will be
        self._read_to = 0  # the last seq looked at
        self._rest = 0.0  # monotonic: none is made before

    def pending(self) -> list[tuple[Digest, Item]]:
        """The pending ones, those read from the disk just now among them."""
        fresh = []
        for item in reversed(self._box.pending.values()):
            if item.seq <= self._read_to:
                break
            if item.kind is Kind.NOTICE and item.sender == _SENDER:
                fresh.append(item)
        self._read_to = max(self._read_to, self._box.last_seq)
        for item in reversed(fresh):
            found = self._read(item)
            if found is not None:
                self._open[item.seq] = found
        box = self._box.pending
        return [(each, box[seq]) for seq, each in self._open.items() if seq in box]

    def of(self, item: Item) -> Digest | None:
        """The digest that item is."""
        return self._open.get(item.seq)

    def reserved(self, item: Item) -> bool:
        """Whether a digest lists the letter that is not handed over yet, or whose
        letters do not say so yet."""
        return not in_hands(item) and any(
            each.lists(item.seq)
            and seq not in self._complete
            and not _ended(self._box.pending.get(seq))
            for seq, each in self._open.items()
        )

    def ended(self, seq: int, rung: Rung | None) -> None:
        """A letter is finished; a digest that was not read gives its letters back."""
        which = self._open.pop(seq, None)
        self._complete.discard(seq)
        if which is not None and rung is not None and rung not in READ:
            self.lost.append((which, rung))

    def over(self, which: Digest, item: Item, owner: Session | None, at: Where) -> bool:
        """Whether nobody is left whom it could tell anything."""
        if in_hands(item):
            changed = owner is not None and which.session.id != owner.session_id
            return at is Where.GONE or (at is Where.HERE and changed)
        if owner is not None and which.session != owner.ref:
            return True
        return not any(which.lists(seq) for seq in self._box.pending)

    def told(
        self, which: Digest, item: Item, move: Move | None = None
    ) -> list[Pair] | None:
        """The lines of the letters in a digest that was handed over; None: it was not,
        or they are complete."""
        if which.seq in self._complete or not _handed(item, move):
            return None
        session = item.session if move is None else move.session or item.session
        line = Move(
            rung=Rung.OFFERED,
            session=session,
            reason=Reason.DIGEST,
            by=f"digest {which.id}",
        )
        return [
            (each, msgspec.structs.replace(line, repeat=each.repeat))
            for each in self._listed(which)
            if not (in_hands(each) or _taken_back(each)) or each.session != session
        ]

    def complete(self, which: Digest) -> None:
        """The lines of its letters are written."""
        self._complete.add(which.seq)

    def with_letters(self, owner: Session) -> bool:
        """Whether the session was told of letters that are pending."""
        pending = self._box.pending.values()
        return any(listed(item) and item.session == owner.ref for item in pending)

    def given_back(self) -> list[Pair] | None:
        """The lines of the letters of the first in lost; None: there is none."""
        if not self.lost:
            return None
        which, rung = self.lost[0]
        move = Move(
            rung=Rung.DEFERRED,
            reason=Reason.INTERRUPTED,
            by=f"digest {which.id} {rung}",
            repeat=True,
        )
        process = process_of(which.session)
        return [
            (each, move)
            for each in self._listed(which)
            if listed(each) and each.session and process_of(each.session) == process
        ]

    async def make(
        self, owner: Session, over: int, judge: Judge, lines: int = LINES
    ) -> Item | None:
        """A digest for owner, stored, where more than over letters wait for it."""
        box = self._box
        if len(box.pending) <= over or self._clock.monotonic() < self._rest:
            return None
        if any(self._bars(each, owner) for each in self._open.values()):
            return None
        chosen = list(self._waiting(owner, judge))
        if len(chosen) <= over:
            return None
        head = self._compose(owner, chosen, lines)
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()

        def settle(result: Result) -> None:
            if not done.done():
                done.set_result(result)

        stamp = Stamp(Via(door="homi", verified=True))
        self._accept(Submission(head, encode(head), stamp, box.name, settle))
        try:
            async with asyncio.timeout(STORE_LIMIT):
                result = await done
        except TimeoutError:
            result = Result(head.id, kept=False)
        if not result.kept:
            log.warning("%s to=%s digest not stored", head.id, box.name)
            self._rest = self._clock.monotonic() + AGAIN
            return None
        self.pending()
        return box.pending.get(result.seq)

    def _bars(self, which: Digest, owner: Session) -> bool:
        """Whether it keeps another from being made: it is not out yet, or its session
        would not or perhaps did not get it, and is asked letter by letter."""
        item = self._box.pending.get(which.seq)
        if item is None or process_of(which.session) != process_of(owner.ref):
            return False
        return item.rung is Rung.REFUSED or not _handed(item, None)

    def _waiting(self, owner: Session, judge: Judge) -> Iterator[Item]:
        """The letters a digest may list: each lane up to its first ask, which is a
        turn of its own, or to whatever holds the lane."""
        closed: set[str] = set()
        for item in list(self._box.pending.values()):
            if listed(item) and item.session == owner.ref:
                continue
            if item.sender in closed or item.seq in self._open:
                continue
            match judge(item):
                case Offer():
                    if item.kind is Kind.ASK:
                        closed.add(item.sender)
                    else:
                        yield item
                case Wait(lane=True):
                    closed.add(item.sender)
                case _:
                    pass

    def _compose(self, owner: Session, chosen: list[Item], lines: int) -> Msg:
        """The digest of chosen; its id is made of what it is about."""
        box, ref = self._box, owner.ref
        entries = [self._entry(item) for item in chosen[:lines]]
        text = digest(box.name, entries, (i.address for i in chosen[lines:]))
        first, last = str(chosen[0].seq), str(chosen[-1].seq)
        process = (str(ref.pid), ref.start, ref.id)
        made = ids.derived("digest", box.name, *process, first, last, str(box.last_n))
        return Msg(
            id=MessageId(made),
            from_=POSTMASTER,
            to=box.name,
            text=text,
            kind=Kind.NOTICE,
            tags=tags(ref, {item.seq for item in chosen}, box.pending),
            auto=True,
        )

    def _entry(self, item: Item) -> Entry:
        """One line of it; a long or unreadable letter is named all the same."""
        first = note = ""
        if item.length > READ_MAX:
            note = f"{item.length >> 10} KiB"
        else:
            try:
                first = opening(decode_msg(self._box.read(item).msg).text)
            except (StorageFailed, msgspec.MsgspecError):
                note = "unreadable"
        return Entry(
            id=item.id,
            sender=item.address,
            age=self._clock.wall() - parse_rfc3339(item.at),
            first=first,
            note=note,
        )

    def _listed(self, which: Digest) -> list[Item]:
        """The letters it lists that are still pending."""
        return [i for i in self._box.pending.values() if which.lists(i.seq)]

    def _read(self, item: Item) -> Digest | None:
        """What the envelope says, None where it is no digest."""
        try:
            return read(item.seq, decode_msg(self._box.read(item).msg))
        except (StorageFailed, msgspec.MsgspecError):
            return None


def _handed(item: Item, move: Move | None) -> bool:
    """Whether a session has the digest, before or after move."""
    rung = item.rung if move is None else move.rung
    return rung in (Rung.OFFERED, Rung.TAKEN) or rung in READ


def _taken_back(item: Item) -> bool:
    """Whether somebody ordered it to go out once more: told of it, the session has
    not got it."""
    return item.rung is Rung.STORED and item.repeat


def _ended(item: Item | None) -> bool:
    """Whether a digest reserves its letters no more; of one that may never have come
    and that nothing can be proven of, nobody waits for the end."""
    if item is None or item.rung is Rung.REFUSED:
        return True
    return item.rung is Rung.INTENT and item.reason is Reason.NO_PROOF

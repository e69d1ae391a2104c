"""The mail of one name on its way to the session that owns it.

Owns the order of things: what is owed to the ledger, then evidence, then a pass
over the pending mail by lanes.  Decides nothing itself (rules, moves) and knows
no leg by name.  One task at a time runs it; homi-overview(7) has the figure.
"""

import asyncio
import contextlib
import logging
from collections import deque
from typing import assert_never

from homi.address import BUILT_IN, Name
from homi.courier.digests import OVER, READ, Digests, Pair
from homi.courier.errands import Errands
from homi.courier.lanes import Lanes
from homi.courier.lapse import lapse
from homi.courier.means import Means
from homi.courier.moves import Moment, Move, of_evidence
from homi.courier.offering import NotReady, NotRecorded, Scope
from homi.courier.rules import (
    Expire,
    Facts,
    Offer,
    Return,
    Step,
    Wait,
    Where,
    at_rest,
    expires_at,
    in_hands,
    listed,
    next_step,
    process_of,
)
from homi.digest import Digest
from homi.envelope import AGENT_KINDS, FINISHED, MessageId, Reason, Rung, SessionRef
from homi.errors import StorageFailed, Unavailable
from homi.legs.base import Evidence, GivenBack, Ignored, Receipt
from homi.sessions import Session
from homi.store.mailbox import Item

log = logging.getLogger("homi.courier")

STORE_RETRY = 1.0  # s: the store says nothing when it opens again
STORE_RETRY_MAX = 30.0  # s
TOGETHER = 256  # lines of letters in a digest that are written at once


class Drain:
    """One name's drain.  What is in memory only makes it faster or kinder."""

    def __init__(self, name: Name, means: Means) -> None:
        """Does nothing before run()."""
        self.name = name
        self.inbox: deque[tuple[SessionRef, Evidence]] = deque()
        self.woken = False
        self.lanes = Lanes()  # of the last whole pass; empty while one runs
        self.asleep = False  # nobody owned the name at the last pass
        self.means = means
        self.box = means.store.mailbox(name)
        self.digests = Digests(self.box, means.accept, means.clock)
        self.turn = asyncio.Lock()  # of whoever moves this name's letters
        self._owed: deque[tuple[Item, Move]] = deque()  # facts not yet in the ledger
        self._closed = 0  # times in a row the ledger took nothing
        self._drops: dict[int, int] = {}  # by seq: receipts of loss so far
        self.errands = Errands(
            self.box, means.hands, means.ledger, means.offering, self.forget
        )

    def owner(self) -> Session | None:
        """Who may be offered this name's mail now."""
        return None if self.name in BUILT_IN else self.means.owners.owner(self.name)

    async def run(self) -> float | None:
        """Do all that can be done now; seconds until something is due again."""
        while True:
            self.woken = False
            try:
                async with self.turn:
                    await self._settle()
                    await self.errands.run(self.owner())
                    lanes = await self._pass()
            except NotRecorded:
                self._closed += 1
                self.errands.refuse(StorageFailed("the ledger takes nothing now"))
                return min(STORE_RETRY * 2.0 ** (self._closed - 1), STORE_RETRY_MAX)
            self._closed = 0
            if self.means.stopping():
                self.errands.refuse(Unavailable("the daemon is stopping"))
                return None
            if not (self.woken or self.inbox or self.errands.jobs):
                if lanes.due is None:
                    return None
                return max(lanes.due - self.means.clock.wall(), 0.001)

    def forget(self, seq: int, message: MessageId) -> None:
        """The letter is finished, whoever said so."""
        self.digests.ended(seq, self.box.rung_of(message))
        self._drops.pop(seq, None)
        self.errands.again.discard(seq)
        self.means.offering.forget(self.name, seq)
        self.means.hands.drop(self.name, message)

    async def _settle(self) -> None:
        """Bring what is owed, then the evidence, into the ledger, in that order."""
        await self._pay()
        while self.inbox:
            session, evidence = self.inbox.popleft()
            item = self._about(session, evidence)
            if item is None:
                continue
            move = of_evidence(item, session, evidence, self._moment(item, session))
            if move is None:
                log.debug("%s to=%s says nothing new: %s", item.id, self.name, evidence)
                continue
            self._note(item, session, evidence)
            self._owed.append((item, move))
            await self._pay()

    async def _pay(self) -> None:
        """Write what is owed; NotRecorded leaves the rest owed."""
        while self._owed:
            item, move = self._owed[0]
            if self.box.pending.get(item.seq) is item:
                await self.write(item, move)
            self._owed.popleft()

    async def owe(self, item: Item, move: Move) -> None:
        """Record what happened; where the ledger takes nothing, the next run does."""
        self._owed.append((item, move))
        with contextlib.suppress(NotRecorded):
            await self._pay()

    async def expire(self, item: Item) -> None:
        """End a letter whose time is over."""
        await lapse(self.box, item, self.means.accept)
        await self.write(item, _expired(item))

    async def write(self, item: Item, move: Move) -> None:
        """One line into the ledger, and what follows from it."""
        digest = self.digests.of(item)
        if digest is not None and move.rung in READ:
            # A digest that is read says no more which letters it listed.
            await self._told(digest, item, move)
        if not await self.means.ledger.record(self.name, item, move):
            raise NotRecorded
        if move.rung in FINISHED:
            self.forget(item.seq, item.id)
        elif move.rung is Rung.REFUSED and item.session is not None:
            self.means.hands.take(item.session, self.name, item.id)
        if move.tell and item.kind in AGENT_KINDS:
            self.means.tell(item, self.name, move.rung.value, move.tell)
        if digest is not None:
            if move.rung is Rung.REFUSED:
                self.digests.lost.append((digest, move.rung))
            await self._told(digest, item)

    async def _told(self, digest: Digest, item: Item, move: Move | None = None) -> None:
        """The lines of the letters in a digest that a session has by now."""
        pairs = self.digests.told(digest, item, move)
        if pairs is not None:
            await self._write_all(pairs)
            self.digests.complete(digest)

    async def _write_all(self, pairs: list[Pair]) -> None:
        """Many lines that depend on each other in nothing."""
        box = self.box.pending
        for start in range(0, len(pairs), TOGETHER):
            some = [p for p in pairs[start : start + TOGETHER] if p[0].seq in box]
            if not all(await self.means.ledger.record_all(self.name, some)):
                raise NotRecorded

    async def _pass(self) -> Lanes:
        """Once over the pending mail, in order; cut short by whatever changes it."""
        owner, lanes = self.owner(), Lanes()
        self.lanes, self.asleep = Lanes(), False
        await self._list(owner, lanes)
        for item in list(self.box.pending.values()):
            if at_rest(item, owner, lanes.stopped(item.sender)):
                continue
            if self._overtaken(owner):
                self.woken = True
                return lanes
            if self.box.pending.get(item.seq) is not item or self.digests.of(item):
                continue
            if self.digests.reserved(item):
                lanes.wait(item.sender, Wait(Reason.DIGEST, lane=True))
            else:
                await self._step(item, owner, lanes)
        if not self.woken:
            self.lanes, self.asleep = lanes, owner is None
        return lanes

    async def _list(self, owner: Session | None, lanes: Lanes) -> None:
        """Digests come first: the letters in one wait for it."""
        while (freed := self.digests.given_back()) is not None:
            await self._write_all(freed)
            self.digests.lost.popleft()
        for digest, item in self.digests.pending():
            facts = self.facts(item, owner)
            settled = facts.settles is None or facts.settles <= facts.now
            if settled and self.digests.over(digest, item, owner, facts.where):
                await self.write(item, OVER)
                continue
            await self._told(digest, item)
            await self._step(item, owner, lanes)
        if owner is not None and self.digests.with_letters(owner):
            self.means.hands.told(owner, self.name)
        chosen = self.means.settings(self.name)
        over, quiet = chosen.digest, chosen.quiet_until(self.means.clock.wall())
        if owner is None or over is None or quiet is not None or self._overtaken(owner):
            return
        made = await self.digests.make(owner, over, lambda i: self.judge(i, owner))
        if made is not None:
            await self._step(made, owner, lanes)

    def judge(self, item: Item, owner: Session | None) -> Step:
        """What is to be done with the letter, were there no digests."""
        return next_step(item, self.facts(item, owner))

    def _overtaken(self, owner: Session | None) -> bool:
        """Whether the pass works on what is no longer true."""
        now = self.owner()
        return (
            self.means.stopping()
            or bool(self.inbox)
            or bool(self.errands.jobs)
            or (now.ref if now else None) != (owner.ref if owner else None)
        )

    async def _step(self, item: Item, owner: Session | None, lanes: Lanes) -> None:
        """Whatever is to be done with this one now."""
        facts = self.facts(item, owner)
        lives = facts.where in (Where.HERE, Where.ELSEWHERE)
        if in_hands(item) and lives and not listed(item):
            move = self.means.offering.adopt(self.name, item)
            if move is not None:
                await self.write(item, move)
        step = next_step(item, facts)
        match step:
            case Wait():
                lanes.wait(item.sender, step)
                if not in_hands(item) or listed(item):
                    lanes.at(expires_at(item))
            case Expire():
                await self.expire(item)
            case Return():
                await self.write(item, RETURNED)
            case Offer(repeat=repeat):
                lanes.at(expires_at(item))
                if owner is not None and lanes.stopped(item.sender) is None:
                    await self._offer(item, owner, lanes, repeat=repeat)
            case _:
                assert_never(step)

    async def _offer(
        self, item: Item, owner: Session, lanes: Lanes, *, repeat: bool
    ) -> None:
        """Hand it over if the session has room and the pace allows."""
        now = self.owner() or owner  # its status may be newer than the pass
        ready = self.means.offering.prepare(
            self.name, item, now, repeat=repeat, again=item.seq in self.errands.again
        )
        if isinstance(ready, NotReady):
            _hold_up(lanes, item, ready)
            return
        self.errands.again.discard(item.seq)
        if ready.taken is None:
            await self.write(item, ready.intent)
        move = ready.taken or await self.means.offering.hand_over(ready)
        self._owed.append((item, move))
        await self._pay()
        if self.box.pending.get(item.seq) is item:
            lanes.wait(item.sender, Wait(item.reason, item.until, lane=_stops(item)))

    def facts(self, item: Item, owner: Session | None) -> Facts:
        """What the rules must know of item, were owner the one to have it."""
        hands = self.means.hands
        return Facts(
            now=self.means.clock.wall(),
            where=hands.where(item.session, owner),
            owner=owner,
            settles=hands.settles(item.session),
            unchanged=self.means.offering.unchanged(self.name, item.seq, owner),
            awaited=self.means.awaited(item),
        )

    def _about(self, session: SessionRef, evidence: Evidence) -> Item | None:
        """The pending letter the evidence is about; of twins the one given there."""
        found = self.box.find(evidence.id)
        if found is None or _given_to(found, session):
            return found
        twins = (i for i in self.box.pending.values() if i.id == evidence.id)
        return next((item for item in twins if _given_to(item, session)), found)

    def _moment(self, item: Item, session: SessionRef) -> Moment:
        clock, hands = self.means.clock, self.means.hands
        return Moment(
            wall=clock.wall(),
            monotonic=clock.monotonic(),
            tries=self._drops.get(item.seq, 0),
            offered_again=(item.id, process_of(session)) in hands.again,
            stale=hands.stale(session, item.session),
        )

    def _note(self, item: Item, session: SessionRef, evidence: Evidence) -> None:
        """Remember what the next piece of evidence is judged by."""
        if isinstance(evidence, Ignored):
            self.means.hands.again.add((item.id, process_of(session)))
        elif isinstance(evidence, GivenBack | Receipt) and evidence.lost:
            self._drops[item.seq] = self._drops.get(item.seq, 0) + 1
            if evidence.drop_reason == "rate-limited":
                self.means.offering.too_fast(item, session)


RETURNED = Move(
    rung=Rung.HELD, reason=Reason.NO_OWNER, by="its session ended", repeat=True
)


def _hold_up(lanes: Lanes, item: Item, why: NotReady) -> None:
    """Stop as much as the reason stops; unreadable mail blocks nothing."""
    match why.scope:
        case Scope.LETTER:
            lanes.at(why.wait.until)
        case Scope.LANE:
            lanes.wait(item.sender, why.wait)
        case Scope.SESSION:
            lanes.wait_all(why.wait)
        case _:
            assert_never(why.scope)


def _expired(item: Item) -> Move:
    return Move(
        rung=Rung.EXPIRED,
        by=f"ttl {item.ttl_s} s",
        tell=f"it expired: its time of {item.ttl_s} s is over",
    )


def _stops(item: Item) -> bool:
    """Whether the later ones of its lane wait after a try that ended so."""
    return item.rung in (Rung.INTENT, Rung.HELD, Rung.DEFERRED)


def _given_to(item: Item, session: SessionRef) -> bool:
    return item.session is not None and process_of(item.session) == process_of(session)

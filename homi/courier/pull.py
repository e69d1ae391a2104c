"""Mail for a session that comes and asks for it: collected, then settled.

Owns what goes onto a sheet and in which order: whole letters by their lanes while
there is room, the rest in a digest.  homi-legs(7) has the rules.
"""

import asyncio
from collections.abc import Callable

import msgspec

from homi.courier.digests import OVER
from homi.courier.drain import Drain
from homi.courier.offering import NotReady, NotRecorded, Ready
from homi.courier.rules import Expire, Offer, Step, Wait, in_hands
from homi.envelope import Rung
from homi.legs import render
from homi.legs.hook import SHEET_MAX, WHOLE_MAX, HookLeg, Sheet
from homi.store.mailbox import Item

LINES = 8  # of a digest on a sheet: each may take 400 bytes


async def brief(
    drains: list[Drain], sheet: Sheet, ready: Callable[[str], None]
) -> None:
    """Fill sheet from these mailboxes, tell its text, and record what came of it."""
    pulls = [Pull(drain, sheet) for drain in drains]
    try:
        for pull in pulls:
            await pull.collect()
        text = sheet.text
    except NotRecorded:
        text = ""
    if not text:
        sheet.settle(printed=False)
    ready(text)
    for pull in pulls:
        await pull.settle()


class Pull:
    """One mailbox's part of a sheet."""

    def __init__(self, drain: Drain, sheet: Sheet) -> None:
        """Nothing is taken before collect()."""
        self._drain = drain
        self._sheet = sheet
        self._session = sheet.session
        self._ready: list[Ready] = []
        self._taken: set[int] = set()

    async def collect(self) -> None:
        """Put what there is for the session onto the sheet, its intents recorded.

        NotRecorded: the ledger takes nothing, so nothing may be printed.
        """
        drain = self._drain
        async with drain.turn:
            if drain.owner() is not None or not self._wanted():
                return  # who has a socket has the name
            await self._digests()
            if await self._letters():
                made = await drain.digests.make(self._session, 0, self._judge, LINES)
                await self._take(made, repeat=False)

    def _wanted(self) -> bool:
        """Whether the settings of the name let a hook have its mail now."""
        means = self._drain.means
        chosen = means.settings(self._drain.name)
        allowed = not chosen.legs or HookLeg.name in chosen.legs
        return allowed and chosen.quiet_until(means.clock.wall()) is None

    async def settle(self) -> None:
        """Record what became of each letter, once the hook has printed, or has not."""
        offering = self._drain.means.offering
        moves = await asyncio.gather(*(offering.hand_over(one) for one in self._ready))
        async with self._drain.turn:
            for one, move in zip(self._ready, moves, strict=True):
                # It may stand in the conversation all the same: a repeat then.
                again = move.repeat or move.rung is Rung.DEFERRED
                await self._drain.owe(
                    one.item, msgspec.structs.replace(move, repeat=again)
                )
        if self._ready:
            self._drain.means.hands.told(self._session, self._drain.name)

    async def _digests(self) -> None:
        """Digests that were made for the session before, or are to be made now."""
        drain, session = self._drain, self._session
        for digest, item in drain.digests.pending():
            facts = drain.facts(item, session)
            settled = facts.settles is None or facts.settles <= facts.now
            if settled and drain.digests.over(digest, item, session, facts.where):
                await drain.write(item, OVER)
            elif isinstance(step := drain.judge(item, session), Offer):
                await self._take(item, repeat=step.repeat)
        over = drain.means.settings(drain.name).digest
        if over is not None:
            made = await drain.digests.make(session, over, self._judge, LINES)
            await self._take(made, repeat=False)

    async def _letters(self) -> bool:
        """The letters that find room, in order; whether some did not."""
        drain, closed, left = self._drain, set[str](), False
        for item in list(drain.box.pending.values()):
            if item.sender in closed or item.seq in self._taken:
                continue
            if drain.digests.of(item) is not None:
                continue
            if drain.digests.reserved(item) and not in_hands(item):
                closed.add(item.sender)
                continue
            match self._judge(item):
                case Offer(repeat=repeat):
                    if not await self._take(item, repeat=repeat, limit=WHOLE_MAX):
                        closed.add(item.sender)
                        left = True
                case Wait(lane=True):
                    closed.add(item.sender)
                case Expire():
                    await drain.expire(item)
                case _:
                    pass
        return left

    async def _take(
        self, item: Item | None, *, repeat: bool, limit: int = SHEET_MAX
    ) -> bool:
        """Put the letter onto the sheet, its intent recorded; whether that could be."""
        if item is None or item.length > 4 * SHEET_MAX:
            return False
        ready = self._drain.means.offering.prepare(
            self._drain.name, item, self._session, repeat=repeat, again=False
        )
        if isinstance(ready, NotReady):
            return False
        if ready.taken is not None:
            await self._drain.write(item, ready.taken)
            return True
        if not self._sheet.add(render.turn(ready.letter), limit):
            return False
        await self._drain.write(item, ready.intent)
        self._taken.add(item.seq)
        self._ready.append(ready)
        return True

    def _judge(self, item: Item) -> Step:
        """What is to be done with it; what is on the sheet holds up nobody."""
        if item.seq in self._taken:
            return Wait()
        return self._drain.judge(item, self._session)

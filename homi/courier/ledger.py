"""The courier's lines in the ledgers: written, awaited, told, logged.

Owns the form of a line and of its log entry; decides nothing.
homi-mailbox(5) is the format.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from homi.address import Name
from homi.clock import Clock, rfc3339
from homi.courier.moves import Move
from homi.envelope import LedgerLine, Rung
from homi.store.base import Store
from homi.store.mailbox import Item

log = logging.getLogger("homi.courier")

# The committer answers in milliseconds; a disk that takes this long is broken.
RECORD_LIMIT = 30.0  # s

Watcher = Callable[[Name, Item, LedgerLine], None]


class Ledger:
    """One way for every line the courier writes."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Nobody is told before subscribe()."""
        self._store = store
        self._clock = clock
        self._watchers: list[Watcher] = []

    def subscribe(self, watcher: Watcher) -> None:
        """Call watcher with each line, after it is in the ledger and in the item."""
        self._watchers.append(watcher)

    async def record(self, name: Name, item: Item, move: Move) -> bool:
        """Write the move; False: it is not in the ledger, do nothing upon it."""
        (kept,) = await self.record_all(name, [(item, move)])
        return kept

    async def record_all(
        self, name: Name, moves: list[tuple[Item, Move]]
    ) -> list[bool]:
        """Write them, as one batch where there is room; whether each is in the ledger,
        the watchers being told of those that are."""
        lines = [self._line(item, move) for item, move in moves]
        waits = [self._submit(name, *pair) for pair in zip(lines, moves, strict=True)]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(RECORD_LIMIT):
                # Not gathered: its turn more of the loop would let evidence in between
                # the intent and the offer.
                for wait in waits:
                    await wait
        kept = [
            wait.done() and not wait.cancelled() and wait.result() for wait in waits
        ]
        for (item, move), line, written in zip(moves, lines, kept, strict=True):
            if not written:
                log.warning("%s to=%s not recorded: %s", item.id, name, move.rung)
                continue
            self._log(name, item, line)
            for watcher in self._watchers:
                watcher(name, item, line)
        return kept

    def _submit(
        self, name: Name, line: LedgerLine, move: tuple[Item, Move]
    ) -> asyncio.Future[bool]:
        """Give one line to the store; the future is whether it kept it."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def settle(kept: bool) -> None:
            if not done.done():
                done.set_result(kept)

        # A rung that decides is synced by the store itself.
        self._store.record(name, line, settle, durable=move[1].durable)
        return done

    def _line(self, item: Item, move: Move) -> LedgerLine:
        return LedgerLine(
            seq=item.seq,
            id=item.id,
            rung=move.rung,
            at=rfc3339(self._clock.wall()),
            leg=move.leg,
            session=move.session or item.session,
            reason=move.reason,
            until=None if move.until is None else rfc3339(move.until),
            by=move.by,
            proof=move.proof,
            repeat=move.repeat,
        )

    def _log(self, name: Name, item: Item, line: LedgerLine) -> None:
        level = logging.DEBUG if line.rung is Rung.INTENT else logging.INFO
        if not log.isEnabledFor(level):
            return
        via = f" via={line.leg}" if line.leg else ""
        pid = f" pid={line.session.pid}" if line.session else ""
        why = ", ".join(part for part in (line.reason, line.by, line.proof) if part)
        log.log(
            level,
            "%s to=%s%s%s status=%s%s%s",
            item.id,
            name,
            via,
            pid,
            line.rung,
            " repeat" if line.repeat else "",
            f" ({why})" if why else "",
        )

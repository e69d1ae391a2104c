"""A store and the answers it gives, for whatever is asked of any store."""

import asyncio
from collections.abc import Awaitable, Callable

from homi import ids
from homi.address import Name
from homi.envelope import (
    LedgerLine,
    MessageId,
    Msg,
    Rung,
    Via,
    decode_msg,
    encode,
    origin,
)
from homi.store.base import Kept, Mail
from homi.store.memory import MemoryStore
from homi.store.store import DiskStore

AT = "2026-11-29T22:30:00.123Z"
ADA = Name("ada")
BOB = Name("@bob")  # an out queue: the same is promised of it
PATIENCE = 60.0  # s: a bound for a test that hangs, no measure

AnyStore = MemoryStore | DiskStore
Scenario = Callable[["Bench"], Awaitable[None]]


class Bench:
    """A store and the answers it gave."""

    def __init__(self, store: AnyStore) -> None:
        self.store = store
        self.answers: list[Mail] = []
        self.news = asyncio.Event()

    def mail(
        self,
        number: int,
        *,
        place: Name = ADA,
        uid: int = 7,
        text: str = "hello",
        raw: bytes | None = None,
    ) -> Mail:
        """A mail of which every answer is counted."""
        ident = MessageId(ids.derived("contract", str(number)))
        if raw is None:
            raw = encode(Msg(id=ident, from_="eve", to=place, text=text))
        via = Via(door="control", uid=uid)
        tail = b'"at":"%b","to":"%b","via":%b,"msg":%b}\n' % (
            AT.encode(),
            place.encode(),
            encode(via),
            raw,
        )
        return Mail(place, origin(via), decode_msg(raw), via, raw, tail, self._done)

    async def send(self, *mails: Mail) -> list[Mail]:
        """Submit all at once and wait for their answers."""
        for mail in mails:
            self.store.submit(mail)
        await self._until(lambda: all(mail in self.answers for mail in mails))
        return list(mails)

    async def record(
        self, mail: Mail, rung: Rung, *, durable: bool = False, place: Name = ADA
    ) -> bool:
        """Record a line about mail and wait for the answer."""
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        line = LedgerLine(seq=mail.seq, id=mail.id, rung=rung, at=AT)
        self.store.record(place, line, answer.set_result, durable=durable)
        async with asyncio.timeout(PATIENCE):
            return await answer

    def _done(self, mail: Mail) -> None:
        asyncio.get_running_loop()  # raises where it is not the loop's thread
        if mail.kept is Kept.STORED:
            box = self.store.mailbox(mail.place)
            assert mail.seq in box.pending, "the mailbox must know it before"
        self.answers.append(mail)
        self.news.set()

    async def _until(self, met: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not met():
                self.news.clear()
                await self.news.wait()

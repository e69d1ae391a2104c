"""The hooks by which tests of upper layers make the store without a disk fail."""

import asyncio

from homi.address import Name
from homi.envelope import LedgerLine, Msg, Rung, Via, encode
from homi.store.base import Kept, Mail
from homi.store.memory import MemoryStore
from tests.unit.store.lines_kit import AT, message

ADA = Name("ada")


def mail(number: int, answers: list[Kept]) -> Mail:
    msg = Msg(id=message(number), from_="bob", to="ada", text="hello")
    raw, via = encode(msg), Via(door="control", uid=7)
    tail = b'"at":"%b","to":"ada","via":%b,"msg":%b}\n' % (
        AT.encode(),
        encode(via),
        raw,
    )
    return Mail(
        ADA, "uid:7", msg, via, raw, tail, lambda done: answers.append(done.kept)
    )


def test_next_submits_and_records_fail_on_demand() -> None:
    """As many as the test asked for; the same id is stored afterwards."""
    answers: list[Kept] = []
    told: list[bool] = []

    async def main() -> None:
        store = MemoryStore()
        store.fail_next = 2
        store.submit(mail(1, answers))
        line = LedgerLine(seq=1, id=message(1), rung=Rung.HELD, at=AT)
        store.record(ADA, line, told.append)
        store.submit(mail(1, answers))
        await asyncio.sleep(0)
        assert list(store.mailbox(ADA).pending) == [1]

    asyncio.run(main())
    assert answers == [Kept.FAILED, Kept.STORED]
    assert told == [False]


def test_closed_accept_still_takes_evidence() -> None:
    """After a failed sync reading and draining go on; mail and decisions wait."""
    answers: list[Kept] = []
    told: list[tuple[str, bool]] = []

    async def main() -> None:
        store = MemoryStore()
        store.submit(mail(1, answers))
        await asyncio.sleep(0)
        store.closed_text = "cannot sync the ring"
        store.submit(mail(2, answers))
        for rung in (Rung.HELD, Rung.CANCELLED):
            store.record(
                ADA,
                LedgerLine(seq=1, id=message(1), rung=rung, at=AT),
                lambda kept, rung=rung: told.append((rung, kept)),  # type: ignore[misc]
            )
        await asyncio.sleep(0)
        assert store.mailbox(ADA).pending[1].rung is Rung.HELD

    asyncio.run(main())
    assert answers == [Kept.STORED, Kept.FAILED]
    assert told == [(Rung.HELD, True), (Rung.CANCELLED, False)]


def test_free_space_is_what_the_test_says() -> None:
    """The gate's reserve can be tested without filling a disk."""
    store = MemoryStore()
    assert store.free_bytes() > 0
    store.free = 17
    assert store.free_bytes() == 17

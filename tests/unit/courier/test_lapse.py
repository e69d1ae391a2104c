"""The default answer of an ask that expires: what it is, and when it may be later."""

import asyncio
from collections.abc import Callable

import pytest

from homi import ids
from homi.address import POSTMASTER, Name
from homi.courier.lapse import give, lapse
from homi.courier.offering import NotRecorded
from homi.envelope import Kind, MessageId, Msg, Via, encode
from homi.errors import BadMessage, HomiError, NotReached, StorageFailed
from homi.postmaster import Result, Submission
from homi.store.base import Mail
from homi.store.mailbox import Item, Mailbox
from homi.store.memory import MemoryStore
from tests.unit.courier.twins import turn

ADA = Name("ada")


async def box_with(
    kind: Kind = Kind.ASK, device: str | None = None, **fields: object
) -> tuple[Mailbox, Item]:
    """ada's mailbox with one letter of svc."""
    store = MemoryStore()
    head = Msg(
        id=MessageId(ids.new()),
        from_="svc",
        to="ada",
        text="well?",
        kind=kind,
        **fields,  # type: ignore[arg-type]
    )
    via = Via(door="link" if device else "control", device=device)
    tail = b'"at":"2026-01-01T00:00:00.000Z","to":"ada","via":%b,"msg":%b}\n'
    tail %= (encode(via), encode(head))
    done: asyncio.Future[Mail] = asyncio.get_running_loop().create_future()
    store.submit(Mail(ADA, "uid:0", head, via, encode(head), tail, done.set_result))
    await done
    box = store.mailbox(ADA)
    (item,) = box.pending.values()
    return box, item


class Desk:
    """Takes what is submitted, or not."""

    def __init__(self, error: HomiError | None = None) -> None:
        self.error = error
        self.subs: list[Submission] = []

    def accept(self, sub: Submission) -> None:
        self.subs.append(sub)
        kept = self.error is None
        sub.done(Result(sub.head.id, kept=kept, error=self.error))


def outcome(box: Mailbox, item: Item, desk: Desk) -> list[bool]:
    told: list[bool] = []
    give(box, item, desk.accept, told.append)
    return told


@pytest.mark.parametrize(("device", "to"), [(None, "svc"), ("lab", "svc@lab")])
def test_it_is_the_postmasters_reply_to_who_asked(device: str | None, to: str) -> None:
    """The same id whenever it is written: a second copy is known."""

    async def main() -> None:
        box, item = await box_with(device=device, ttl_s=1, default="no")
        desk = Desk()
        assert outcome(box, item, desk) == [True]
        await lapse(box, item, desk.accept)
        first, again = (sub.head for sub in desk.subs)
        assert (first.from_, first.to, first.text) == (POSTMASTER, to, "no")
        assert (first.kind, first.reply_to, first.auto) == (Kind.REPLY, item.id, True)
        assert first == again
        assert desk.subs[0].to == to
        assert desk.subs[0].stamp.via == Via(door="homi", verified=True)

    turn(main())


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (Kind.ASK, {}),
        (Kind.ASK, {"default": ""}),
        (Kind.MAIL, {"default": "no"}),
        (Kind.REPLY, {"default": "no"}),
    ],
)
def test_what_gives_none_ends_as_it_is(kind: Kind, fields: dict[str, object]) -> None:
    async def main() -> None:
        box, item = await box_with(kind, **fields)
        desk = Desk(StorageFailed("full"))
        assert outcome(box, item, desk) == [True]
        await lapse(box, item, desk.accept)
        assert desk.subs == []

    turn(main())


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (StorageFailed("full"), False),
        (NotReached("quota"), False),
        (BadMessage("who asked is gone for good"), True),
    ],
)
def test_the_question_waits_where_its_default_may_be_stored_later(
    error: HomiError, ends: bool
) -> None:
    """And ends where it never will be: else it would never end."""

    async def main() -> None:
        box, item = await box_with(default="no")
        desk = Desk(error)
        assert outcome(box, item, desk) == [ends]
        if ends:
            await lapse(box, item, desk.accept)
        else:
            with pytest.raises(NotRecorded):
                await lapse(box, item, desk.accept)

    turn(main())


def test_a_store_that_does_not_answer_ends_nothing() -> None:
    """It is asked again later."""

    async def main() -> None:
        box, item = await box_with(default="no")
        silent: Callable[[Submission], None] = lambda _sub: None  # noqa: E731
        with pytest.raises(NotRecorded):
            await lapse(box, item, silent)

    turn(main())

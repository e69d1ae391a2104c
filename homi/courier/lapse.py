"""The answer that an ask itself gives for the case that nobody answers in time.

Owns its fields; its id is made of what it is about, so that one that is written again
after a crash is the same.  homi-ask(1) has the rule.
"""

import asyncio
from collections.abc import Callable

import msgspec

from homi import ids
from homi.address import POSTMASTER
from homi.courier.digests import STORE_LIMIT, Accept
from homi.courier.offering import NotRecorded
from homi.envelope import Kind, MessageId, Msg, Via, decode_msg, encode
from homi.errors import NotReached, StorageFailed
from homi.postmaster import Result, Stamp, Submission
from homi.store.mailbox import Item, Mailbox


async def lapse(box: Mailbox, item: Item, accept: Accept) -> None:
    """Store the default of an ask that is about to expire, if it gives one, as its
    answer; NotRecorded where that could not be, and may be later."""
    done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def settle(kept: bool) -> None:
        if not done.done():
            done.set_result(kept)

    give(box, item, accept, settle)
    try:
        async with asyncio.timeout(STORE_LIMIT):
            kept = await done
    except TimeoutError:
        raise NotRecorded from None
    if not kept:
        raise NotRecorded


def give(
    box: Mailbox, item: Item, accept: Accept, done: Callable[[bool], None]
) -> None:
    """The same for who does not wait; done(False): it may be later."""
    text = _default(box, item) if item.kind is Kind.ASK else ""
    if not text:
        done(True)
        return
    head = Msg(
        id=MessageId(ids.derived("default", box.name, item.id)),
        from_=POSTMASTER,
        to=item.address,
        text=text,
        kind=Kind.REPLY,
        reply_to=item.id,
        auto=True,
    )

    def settle(result: Result) -> None:
        done(not isinstance(result.error, NotReached | StorageFailed))

    stamp = Stamp(Via(door="homi", verified=True))
    accept(Submission(head, encode(head), stamp, item.address, settle))


def _default(box: Mailbox, item: Item) -> str:
    """What the ask gives; nothing where it cannot be read."""
    try:
        return decode_msg(box.read(item).msg).default or ""
    except (StorageFailed, msgspec.MsgspecError):
        return ""

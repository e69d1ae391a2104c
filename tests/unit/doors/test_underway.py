"""What a restart waits for, and what it does not."""

import asyncio
from collections.abc import Callable

import pytest

from homi.doors.answers import Reply
from homi.doors.underway import Own, Underway
from homi.errors import Usage
from homi.orders.moves import Move
from homi.orders.seats import SeatSend
from homi.orders.spawn import Respawn, Spawn
from homi.reports import Done
from homi.request import Request
from homi.requests import MoveBlob, Release, Wait

SEND = SeatSend(i=7, seat="ada", text="x")


class Slow:
    """A doer that answers when it is told to."""

    def __init__(self) -> None:
        self.open: list[Callable[[], None]] = []

    def __call__(self, request: Request, reply: Reply) -> None:
        if request.i == 0:
            raise Usage("no")
        self.open.append(lambda: reply(request.i, Done(text="done")))


def test_what_is_answered_soon_counts_until_its_answer() -> None:
    underway, slow, got = Underway(), Slow(), list[int]()
    own = Own(underway)
    doers = own.counted({SeatSend: slow, Wait: slow})
    doers[SeatSend](SEND, lambda i, _: got.append(i))
    doers[Wait](Wait(i=8), lambda i, _: got.append(i))

    async def answered() -> list[int]:
        before = await underway.ended(0)
        asyncio.get_running_loop().call_soon(slow.open[0])
        return [before, await underway.ended(10)]

    assert asyncio.run(answered()) == [1, 0]
    assert got == [7]


def test_what_was_refused_or_given_up_is_waited_for_by_nobody() -> None:
    """And an answer that comes all the same is not counted twice."""
    underway, slow = Underway(), Slow()
    own, other = Own(underway), Own(underway)
    doer = own.counted({SeatSend: slow})[SeatSend]
    with pytest.raises(Usage):
        doer(SeatSend(seat="ada", text="x"), lambda *_: None)
    doer(SEND, lambda *_: None)
    other.counted({SeatSend: slow})[SeatSend](SEND, lambda *_: None)
    own.abandon()
    slow.open[0]()
    assert asyncio.run(underway.ended(0)) == 1


@pytest.mark.parametrize(
    ("request_", "again"),
    [
        (Move(name="ada", device="mini"), True),
        (Move(name="ada", device="mini", fork=True), False),
        (Move(name="ada", abort=True), False),
        (Spawn(name="ada", cwd="/", order="1"), True),
        (Spawn(name="ada", cwd="/", order="1", brief=True), False),
        (Spawn(name="ada", cwd="/"), False),
        (Respawn(name="ada", order="1"), True),
        (MoveBlob(do="put", device="mini", sha256="0"), True),
        (SEND, False),
        (Release(name="ada"), False),
    ],
)
def test_only_what_does_no_harm_is_asked_again(request_: Request, again: bool) -> None:
    assert request_.again is again

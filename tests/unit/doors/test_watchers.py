"""Waits of long verbs: answered once, by the event or by the time."""

import asyncio

from homi.address import Name
from homi.watchers import Watchers

ADA = Name("ada")


def test_a_wait_is_answered_at_once_when_it_is_there_already() -> None:
    """A repeated request after a lost connection must not wait for new mail."""

    async def main() -> None:
        watchers, got = Watchers(), list[object]()
        assert watchers.wait(ADA, lambda: "mail", got.append, None) is None
        assert got == ["mail"]
        assert watchers.count() == 0

    asyncio.run(main())


def test_an_event_answers_whom_it_concerns_and_only_once() -> None:
    """Another mailbox's mail is not ours."""

    async def main() -> None:
        watchers, box, got = Watchers(), list[str](), list[object]()
        watchers.wait(ADA, lambda: box[-1] if box else None, got.append, None)
        watchers.moved(Name("bob"))
        watchers.moved(ADA)
        assert got == []
        box.append("m1")
        watchers.moved(ADA)
        watchers.moved(ADA)
        assert got == ["m1"]
        assert watchers.count() == 0

    asyncio.run(main())


def test_time_running_out_is_an_answer_too() -> None:
    """None says that nothing is wrong, only late."""

    async def main() -> None:
        watchers, got = Watchers(), list[object]()
        ended = asyncio.Event()

        def answer(found: object | None) -> None:
            got.append(found)
            ended.set()

        watchers.wait(ADA, lambda: None, answer, 0.0)
        async with asyncio.timeout(60):
            await ended.wait()
        assert got == [None]
        assert watchers.count() == 0

    asyncio.run(main())


def test_a_cancelled_wait_is_never_answered() -> None:
    """Its connection is gone."""

    async def main() -> None:
        watchers, box, got = Watchers(), list[str](), list[object]()
        waiter = watchers.wait(ADA, lambda: box[-1] if box else None, got.append, 60.0)
        assert waiter is not None
        waiter.cancel()
        box.append("m1")
        watchers.moved(ADA)
        assert got == []
        assert watchers.count() == 0

    asyncio.run(main())

"""Two never move one name at once, and who joins asks for the same."""

import asyncio

import pytest

from homi.address import Device, Name
from homi.errors import NotReached
from homi.moved import MoveDone
from homi.moving.running import Running, Where, result

ADA = Name("ada")
THERE = Where(Device("mini"), ADA)
DONE = MoveDone(name="ada", device="mini", to="ada", done="moved")


def test_the_same_again_joins_and_another_is_refused() -> None:
    """Nobody is told that ada is at the hub because it came to mini."""

    async def main() -> None:
        running, go = Running(), asyncio.Event()

        async def work() -> MoveDone:
            await go.wait()
            return DONE

        task = running.run(ADA, THERE, work())
        assert running.run(ADA, THERE, work()) is task
        others = (Where(Device("hub"), ADA), THERE._replace(fork=True))
        for other in others:
            with pytest.raises(NotReached, match="on its way to ada@mini"):
                running.run(ADA, other, work())
        go.set()
        await task
        assert result(ADA, task) == DONE
        assert not running.moves(ADA)
        assert running.run(ADA, others[0], work()) is not task

    asyncio.run(main())


def test_what_is_halted_is_no_move_that_is_done() -> None:
    async def main() -> None:
        running = Running()

        async def work() -> MoveDone:
            await asyncio.Event().wait()
            return DONE

        task = running.run(ADA, THERE, work())
        assert running.moves(ADA)
        await running.halt(ADA)
        with pytest.raises(NotReached, match="was ended"):
            result(ADA, task)

    asyncio.run(main())

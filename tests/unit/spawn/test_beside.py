"""Work beside the loop."""

import asyncio

from homi.errors import Bug, HomiError, NoInput
from homi.spawn.beside import in_a_thread


def test_who_waits_is_told_whatever_the_work_comes_to() -> None:
    """Also of a bug, which the loop is told too."""
    met: list[dict[str, object]] = []

    def fails(error: Exception) -> None:
        raise error

    async def result(error: Exception) -> HomiError | None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: met.append(context))
        told: asyncio.Future[HomiError | None] = loop.create_future()
        in_a_thread(lambda: fails(error), told.set_result)
        async with asyncio.timeout(60):
            return await told

    assert isinstance(asyncio.run(result(NoInput("no folder"))), NoInput)
    assert met == []
    assert isinstance(asyncio.run(result(ValueError("null byte"))), Bug)
    assert len(met) == 1

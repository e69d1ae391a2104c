"""Fixtures of the tests of what homi starts."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.spawn.kit import Memory, Nursery, Turned

Scene = Callable[[Nursery], Awaitable[None]]
Play = Callable[[Scene], None]


@pytest.fixture
def programs() -> Iterator[Memory]:
    """Programs that all end with the test."""
    made = Memory()
    yield made
    made.close()


@pytest.fixture
def play(tmp_path: Path, programs: Memory) -> Play:
    """Run a scene over a keeper that begins, or goes on from the files."""
    clock = Turned()

    def runner(scene: Scene) -> None:
        async def main() -> None:
            nursery = Nursery(tmp_path, programs, clock)
            try:
                await scene(nursery)
            finally:
                nursery.stop()

        asyncio.run(main())

    return runner

"""Whatever the way does to frames, and whenever a daemon dies, no mail is lost."""

import asyncio
import os
import random
from pathlib import Path

import pytest

from tests.unit.links.adversary import TurnedLoop, World, judge, run


def story(root: Path, seed: int, messages: int, kills: int) -> World:
    """One world from its seed to its end."""
    print(f"HOMI_TEST_SEED={seed}")

    async def main() -> World:
        world = World(root, seed, asyncio.get_running_loop())
        given = await run(world, messages, kills)
        judge(world, given)
        return world

    with asyncio.Runner(loop_factory=TurnedLoop) as runner:
        return runner.run(main())


@pytest.mark.parametrize("seed", range(4))
def test_each_message_is_stored_once_and_in_order_whatever_happens(
    tmp_path: Path, seed: int
) -> None:
    world = story(tmp_path, seed, messages=240, kills=6)
    assert world.kills == 6
    assert world.ends["protocol"]


@pytest.mark.soak
def test_so_it_is_with_many_messages_and_deaths(tmp_path: Path) -> None:
    """20,000 each way and 200 deaths; a new seed each time, unless a person asks."""
    seed = int(os.environ.get("HOMI_TEST_SEED", random.randrange(1 << 32)))
    story(tmp_path, seed, messages=20_000, kills=200)

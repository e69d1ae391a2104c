"""Time that went on without this process."""

import asyncio
import os

from homi.links.suspend import JUMP, Jump, Suspends


class Clocks:
    """Three clocks a test can turn."""

    def __init__(self) -> None:
        self.now, self.awake, self.alive = 1_000_000.0, 500.0, 700.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.awake

    def boot(self) -> float:
        return self.alive

    def run(self, seconds: float) -> None:
        self.now += seconds
        self.awake += seconds
        self.alive += seconds

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.alive += seconds


def test_a_suspend_and_a_set_clock_are_told_once_and_running_time_is_not() -> None:
    clocks, told = Clocks(), list[Jump]()
    watch = Suspends(clocks, told.append)
    clocks.run(8 * 3600)
    watch.check()
    assert told == []
    clocks.sleep(8 * 3600)
    watch.check()
    watch.check()
    assert told == [Jump(8 * 3600, 0)]
    clocks.now -= 7200
    watch.check()
    assert told[1:] == [Jump(0, -7200)]
    clocks.now += JUMP / 2
    watch.check()
    assert len(told) == 2


def test_the_kernel_takes_the_timer_and_gives_it_back() -> None:
    """Where it cannot be had, looking is what is left."""

    async def scene() -> int:
        before = len(os.listdir("/proc/self/fd"))
        watch = Suspends(Clocks(), lambda jump: None)
        watch.attach(asyncio.get_running_loop())
        watch.detach()
        watch.detach()
        return len(os.listdir("/proc/self/fd")) - before

    assert asyncio.run(scene()) == 0

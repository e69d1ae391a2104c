"""Listeners: bounds, want of descriptors, and no spin."""

import asyncio
import os
import resource
import socket
from pathlib import Path

import pytest

from homi.doors.entrance import Entrance, Listener
from tests.unit.doors.ends import LOOPS, Moves, connect, cpu_share, run, verdict

both = pytest.mark.parametrize("loop", LOOPS)


class Hall(Moves):
    """Keeps what was admitted; full at `most`."""

    def __init__(self, most: int = 1000, rest: float = 0.05) -> None:
        super().__init__()
        self.most = most
        self.inside: list[socket.socket] = []
        loop = asyncio.get_running_loop()
        self.entrance = Entrance(loop, self.admit, self.full, rest=rest)

    def admit(self, sock: socket.socket, _listener: Listener) -> None:
        self.inside.append(sock)
        self.moved()

    def full(self) -> bool:
        return len(self.inside) >= self.most

    def leave(self) -> None:
        for sock in self.inside:
            sock.close()
        self.inside.clear()


@both
def test_connections_over_the_bound_wait_in_the_backlog(root: Path, loop: str) -> None:
    """They are neither accepted nor lost, and the loop sleeps meanwhile."""

    async def main() -> None:
        hall = Hall(most=3, rest=0.2)
        listeners = [hall.entrance.open(n, f"{root}/{n}.sock") for n in (1, 2)]
        senders = [connect(f"{root}/{1 + n % 2}.sock") for n in range(8)]
        await hall.until(lambda: len(hall.inside) == 3)
        before = hall.entrance.wakeups
        assert await cpu_share(0.5) < 0.3
        assert len(hall.inside) == 3
        # One wake-up a listener and rest, not one a loop.
        assert hall.entrance.wakeups - before <= 2 * 4
        hall.most = 100
        hall.entrance.room()
        await hall.until(lambda: len(hall.inside) == 8)
        for listener in listeners:
            hall.entrance.close(listener)
        hall.leave()
        for sender in senders:
            sender.close()

    run(main, loop)


@both
def test_want_of_descriptors_is_waited_out(root: Path, loop: str) -> None:
    """accept fails with the connection still in the backlog: a loop that looks at
    once again spins and gets nowhere."""

    async def main() -> None:
        hall = Hall(rest=0.1)
        listener = hall.entrance.open(1, f"{root}/1.sock")
        senders = [socket.socket(socket.AF_UNIX) for _ in range(4)]
        highest = max(int(each) for each in os.listdir("/proc/self/fd"))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        spare = [os.dup(0) for _ in range(highest + 1 - len(os.listdir("/dev/fd")))]
        lowest = os.dup(0)
        os.close(lowest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        try:
            for sender in senders:
                sender.connect(f"{root}/1.sock")
            assert await cpu_share(0.5) < 0.3
            assert hall.inside == []
            assert 1 <= hall.entrance.wakeups <= 7
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for each in spare:
                os.close(each)
        await hall.until(lambda: len(hall.inside) == 4)
        hall.entrance.close(listener)
        hall.leave()
        for sender in senders:
            sender.close()

    run(main, loop)


def test_shut_listener_stays_open_and_its_backlog_learns_the_truth(root: Path) -> None:
    """While commits in flight are finished nobody new comes in; the close resets."""

    async def main() -> None:
        hall = Hall()
        listener = hall.entrance.open(1, f"{root}/1.sock")
        hall.entrance.shut()
        with connect(f"{root}/1.sock") as sender:
            sender.sendall(b"x\n")
            await cpu_share(0.1)
            assert hall.inside == []
            hall.entrance.close(listener)
            assert verdict(sender) == "ConnectionResetError"

    run(main)
    assert list(root.iterdir()) == []


@both
def test_number_of_a_closed_listener_can_be_used_again(root: Path, loop: str) -> None:
    """A descriptor closed while armed would never fire again under its number."""

    async def main() -> None:
        hall = Hall()
        for n in range(20):
            listener = hall.entrance.open(n, f"{root}/{n}.sock")
            sender = connect(f"{root}/{n}.sock")
            await hall.until(lambda: len(hall.inside) == 1)
            hall.leave()
            hall.entrance.close(listener)
            sender.close()

    run(main, loop)

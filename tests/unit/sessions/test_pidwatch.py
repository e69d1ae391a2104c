"""The end of a process is told once, and of the right process."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from homi.peers import process
from homi.pidwatch import PidWatch
from tests.unit.sessions.place import LIMIT, run


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process to watch."""
    made = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)
    yield made
    made.kill()
    made.wait()


def _start(pid: int) -> str:
    found = process.start_time(pid)
    assert found is not None
    return found


@pytest.mark.parametrize("pidfds", [True, False])
def test_a_killed_process_is_told_once(
    child: subprocess.Popen[bytes], *, pidfds: bool
) -> None:
    """Though it stays a zombie until its parent looks."""

    async def main() -> None:
        gone: asyncio.Queue[int] = asyncio.Queue()
        watch = PidWatch(gone.put_nowait, pidfds=pidfds)
        watch.attach(asyncio.get_running_loop())
        assert watch.watch(child.pid, _start(child.pid))
        assert watch.watch(os.getpid(), _start(os.getpid()))
        os.kill(child.pid, signal.SIGKILL)
        async with asyncio.timeout(LIMIT):
            assert await gone.get() == child.pid
        assert not watch.watch(child.pid, "1")
        watch.detach()
        assert gone.empty()

    run(main)


def test_a_process_of_another_start_is_gone_already(
    child: subprocess.Popen[bytes],
) -> None:
    """The pid was reused before we opened its descriptor."""

    async def main() -> None:
        watch = PidWatch(lambda _pid: None)
        watch.attach(asyncio.get_running_loop())
        assert not watch.watch(child.pid, _start(child.pid) + "0")
        assert not watch.watch(2**22 + 7, "1")
        assert watch.watch(child.pid, _start(child.pid))
        watch.detach()

    run(main)


def test_who_is_forgotten_is_not_told(child: subprocess.Popen[bytes]) -> None:
    """Its end is nobody's news any more."""
    other = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)

    async def main() -> None:
        gone: asyncio.Queue[int] = asyncio.Queue()
        watch = PidWatch(gone.put_nowait)
        watch.attach(asyncio.get_running_loop())
        watch.watch(child.pid, _start(child.pid))
        watch.watch(other.pid, _start(other.pid))
        watch.forget(child.pid)
        watch.forget(child.pid)
        child.kill()
        other.kill()
        async with asyncio.timeout(LIMIT):
            assert await gone.get() == other.pid
        assert gone.empty()
        watch.detach()

    run(main)
    other.wait()

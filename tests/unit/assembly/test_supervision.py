"""What systemd is told of a daemon that it started."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.assembly.supervision import Supervision


@pytest.fixture
def told(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket of a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.settimeout(60)
        yield sock


def test_systemd_is_told_that_it_is_ready_alive_reloading_and_ending(
    told: socket.socket,
) -> None:
    """In this order; signs of life come of the loop itself."""
    environment = {"NOTIFY_SOCKET": told.getsockname(), "WATCHDOG_USEC": "20000"}
    loop = asyncio.new_event_loop()
    one = Supervision(environment)
    loop.call_soon(one.ready, loop)
    loop.call_later(0.05, loop.stop)
    loop.run_forever()
    assert [told.recv(99) for _ in range(3)] == [b"READY=1", *[b"WATCHDOG=1"] * 2]
    one.ending(follows=True)
    one.ending(follows=False)
    loop.close()
    rest = [told.recv(99) for _ in range(2)]
    while rest[-1] == b"WATCHDOG=1" or not rest[-1].startswith(b"STOPPING"):
        rest.append(told.recv(99))
    assert any(each.startswith(b"RELOADING=1\nMONOTONIC_USEC=") for each in rest)


@pytest.mark.parametrize("address", ["", "nowhere", "/nobody/reads"])
def test_without_a_manager_that_reads_nothing_goes_wrong(address: str) -> None:
    """Nor is life shown for another process."""
    environment = {"WATCHDOG_USEC": "1", "WATCHDOG_PID": str(os.getpid() + 1)}
    loop = asyncio.new_event_loop()
    Supervision({**environment, "NOTIFY_SOCKET": address}).ready(loop)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()

"""The lock of a state root under contention and death: never two holders."""

import multiprocessing
import os
import signal
import threading
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from homi.errors import CannotCreate
from homi.store.lock import LOCK, Lock

PROCESSES = 4
ROUNDS = 40
LIMIT = 120.0  # s: a hang, not a measure


def take(root: str) -> Lock:
    """The lock, as soon as it is free."""
    pause = threading.Event()
    while True:
        try:
            return Lock(root)
        except CannotCreate:
            pause.wait(0.0002)


def count(root: str) -> None:
    """Read, add one, write: a second holder would lose a round."""
    counter = Path(root) / "counter"
    for _ in range(ROUNDS):
        lock = take(root)
        counter.write_text(str(int(counter.read_text()) + 1))
        lock.release()


def hold(root: str, held: Event) -> None:
    """Take it and keep it until killed."""
    kept = take(root)
    held.set()
    signal.pause()
    kept.release()


@pytest.fixture
def spawn() -> multiprocessing.context.SpawnContext:
    """Processes that inherit no descriptor of another's lock."""
    return multiprocessing.get_context("spawn")


def test_no_two_processes_hold_the_lock_at_once(
    tmp_path: Path, spawn: multiprocessing.context.SpawnContext
) -> None:
    """Every round is counted; whoever finds the file empty or foreign takes nothing."""
    (tmp_path / "counter").write_text("0")
    others = [
        spawn.Process(target=count, args=(str(tmp_path),)) for _ in range(PROCESSES)
    ]
    for one in others:
        one.start()
    for one in others:
        one.join(LIMIT)
    assert [one.exitcode for one in others] == [0] * PROCESSES
    assert (tmp_path / "counter").read_text() == str(PROCESSES * ROUNDS)


@pytest.mark.parametrize("content", [b"", b"1\n", b"\xff\0junk", b"9" * 4096])
def test_what_stands_in_the_lock_file_proves_nothing(
    tmp_path: Path, content: bytes
) -> None:
    """A pid that lives, none, or rubbish: only the kernel's lock counts."""
    (tmp_path / LOCK).write_bytes(content)
    lock = Lock(str(tmp_path))
    assert (tmp_path / LOCK).read_bytes() == b"%d\n" % os.getpid()
    with pytest.raises(CannotCreate, match=str(os.getpid())):
        Lock(str(tmp_path))
    lock.release()
    Lock(str(tmp_path)).release()


def test_the_lock_of_a_killed_holder_is_free_and_of_a_stopped_one_is_not(
    tmp_path: Path, spawn: multiprocessing.context.SpawnContext
) -> None:
    """No age makes a live lock stale."""
    held = spawn.Event()
    holder = spawn.Process(target=hold, args=(str(tmp_path), held))
    holder.start()
    assert holder.pid is not None
    try:
        assert held.wait(LIMIT)
        os.kill(holder.pid, signal.SIGSTOP)
        os.utime(tmp_path / LOCK, (0, 0))
        with pytest.raises(CannotCreate, match=str(holder.pid)):
            Lock(str(tmp_path))
    finally:
        holder.kill()
        holder.join(LIMIT)
    Lock(str(tmp_path)).release()

"""The sender's verdict is true at whatever moment the peer door dies."""

import json
import os
import random
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from homi.doors.bind import answers
from tests.crash.peer_child import STEPS
from tests.unit.doors.ends import connect, say
from tests.unit.doors.peer_kit import message, short_root

ROOT = Path(__file__).parents[2]


class Door:
    """The process, and what it stored."""

    def __init__(self, root: Path, step: str = "never", delay: float = 0.0) -> None:
        self.root = root
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.peer_child", root, step, str(delay)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.path = self.process.stdout.readline().strip()
        assert self.path

    def end(self) -> int:
        """SIGTERM, and its exit status."""
        self.process.terminate()
        return self.process.wait(60)

    def kill(self) -> None:
        """kill -9, if it still lives."""
        self.process.kill()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def stored(self) -> list[str]:
        """The ids of all whole lines it stored, in order."""
        found = []
        for line in (self.root / "stored").read_bytes().split(b"\n")[:-1]:
            with suppress(ValueError):  # nothing, or the stump of a line
                found.append(json.loads(line)["id"])
        return found


@contextmanager
def door(root: Path, step: str = "never", delay: float = 0.0) -> Iterator[Door]:
    """A running door, killed in the end."""
    found = Door(root, step, delay)
    try:
        yield found
    finally:
        found.kill()


@pytest.fixture
def root() -> Iterator[Path]:
    """A state root with room for socket paths."""
    with short_root() as found:
        yield found


def send(path: str, msg_id: str, size: int = 10, *, auth: bool = True) -> str:
    """One send by the client's contract: its verdict."""
    data = message("x" * size, msg_id=msg_id)
    if not auth:
        data = data.partition(b"\n")[2]
    try:
        sock = connect(path)
    except OSError as error:
        return type(error).__name__
    return say(sock, [data])


# What became of the line, and what the sender was told, at each step of the rules.
OUTCOME = {
    "peeked": (False, False),
    "part-read": (False, False),
    "in-work": (False, False),
    "before-store": (False, False),
    "after-sync": (True, False),
    "newline-read": (True, True),
    "end-seen": (True, True),
    "closed": (True, True),
}


@pytest.mark.parametrize("size", [10, 600_000])
@pytest.mark.parametrize("step", STEPS)
def test_death_at_a_step_never_looks_like_success(
    root: Path, step: str, size: int
) -> None:
    """Stored though failed only between the sync and the newline; the line without
    auth, so that each step is met by the message itself."""
    msg_id = str(uuid.uuid4())
    with door(root, step) as dying:
        verdict = send(dying.path, msg_id, size, auth=False)
        assert dying.process.wait(60) == -9
        stored = dying.stored() == [msg_id]
        assert (stored, verdict == "success") == OUTCOME[step]
    # The next one takes the dead socket's place and serves.
    with door(root) as again:
        assert again.path == dying.path
        assert send(again.path, str(uuid.uuid4())) == "success"


def test_death_between_auth_and_message_is_an_error(root: Path) -> None:
    """The newline of the auth line is read, the message's is not."""
    with door(root, "newline-read") as dying:
        assert send(dying.path, str(uuid.uuid4())) != "success"
        assert dying.process.wait(60) == -9
        assert dying.stored() == []


@pytest.mark.parametrize("seed", range(4))
def test_random_deaths_give_no_false_success(root: Path, seed: int) -> None:
    """At any moment of the commit, for short and long lines."""
    chance = random.Random(seed)
    succeeded: set[str] = set()
    for _ in range(5):
        with door(root, delay=0.005) as dying:
            after = chance.uniform(0.0, 0.03)
            killer = threading.Timer(after, dying.process.kill)
            killer.start()
            while dying.process.poll() is None:
                msg_id = str(uuid.uuid4())
                size = chance.choice([10, 1000, 300_000])
                if send(dying.path, msg_id, size) == "success":
                    succeeded.add(msg_id)
            killer.join()
        assert succeeded <= set(dying.stored())


def test_stop_in_a_burst_leaves_no_wrong_verdict(root: Path) -> None:
    """What was acknowledged is what is stored, to the letter."""
    succeeded: set[str] = set()
    with door(root, delay=0.002) as stopping:
        enough = threading.Semaphore(0)
        over = threading.Event()

        def burst() -> None:
            while not over.is_set():
                msg_id = str(uuid.uuid4())
                if send(stopping.path, msg_id) == "success":
                    succeeded.add(msg_id)
                    enough.release()

        threads = [threading.Thread(target=burst) for _ in range(16)]
        for each in threads:
            each.start()
        for _ in range(100):
            assert enough.acquire(timeout=60)
        assert stopping.end() == 0
        over.set()
        for each in threads:
            each.join(60)
        stored = stopping.stored()
        assert set(stored) == succeeded
        assert len(stored) == len(set(stored)) >= 100
        assert not os.path.lexists(stopping.path)


def test_leftovers_of_a_killed_door_are_taken_away(root: Path) -> None:
    """Its sockets answer again at the same paths, its records are listed once."""
    with door(root) as first:
        records = sorted((root / "c" / "sessions").iterdir())
        assert len(records) == 2
    assert os.path.lexists(first.path)
    assert not answers(first.path)
    assert sorted((root / "c" / "sessions").iterdir()) == records
    with door(root) as second:
        assert second.path == first.path
        assert answers(second.path)
        found = sorted((root / "c" / "sessions").iterdir())
        assert [each.name for each in found] == [each.name for each in records]
        assert second.end() == 0
    assert not os.path.lexists(second.path)
    assert list((root / "c" / "sessions").iterdir()) == []


def test_second_door_on_the_same_numbers_takes_nothing(root: Path) -> None:
    """A live listener is never unlinked, whoever it is."""
    with door(root) as first:
        inode = os.lstat(first.path).st_ino
        with door(root) as second:
            assert second.path == first.path
            assert os.lstat(first.path).st_ino == inode
            assert send(first.path, str(uuid.uuid4())) == "success"
            assert second.end() == 0
        assert os.lstat(first.path).st_ino == inode
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(first.path)

"""A peer door in a process that dies where it is told to.

Arguments: state root, step, delay before each commit in seconds.  It prints the
socket of the name bob when it listens.  Each line is stored, synced, in <root>/stored
before it is answered.  SIGTERM ends it in order.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import uvloop

from homi.doors.look import Connection
from homi.doors.peer import PeerDoor
from homi.envelope import Rung
from homi.postmaster import Result, Submission
from tests.unit.doors.peer_kit import House

STEPS = (
    "peeked",
    "part-read",
    "in-work",
    "before-store",
    "after-sync",
    "newline-read",
    "end-seen",
    "closed",
)


def die_at(step: str) -> None:
    """End as by kill -9, if this is the step."""
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)


class Doomed(Connection):
    """A connection that can die at every step of its rules."""

    __slots__ = ()

    def _peek(self) -> int:
        seen = super()._peek()
        if seen > 0:
            die_at("peeked")
        elif seen == 0:
            die_at("end-seen")
        return seen

    def _take(self, size: int) -> bytes:
        taken = super()._take(size)
        die_at("part-read")
        return taken

    def _hand_up(self, at: int) -> None:
        super()._hand_up(at)
        die_at("in-work")

    def _read_newline(self) -> None:
        super()._read_newline()
        die_at("newline-read")

    def close(self) -> None:
        super().close()
        die_at("closed")


class Storing:
    """The smallest postmaster that keeps its promise."""

    def __init__(self, path: Path, delay: float) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(self._fd, b"\n")  # behind the stump of a line that a death cut
        self._delay = delay

    def accept(self, submission: Submission) -> None:
        die_at("before-store")
        asyncio.get_running_loop().call_later(self._delay, self._store, submission)

    def _store(self, submission: Submission) -> None:
        line = submission.msg + b"\n"
        while line:
            line = line[os.write(self._fd, line) :]
        os.fdatasync(self._fd)
        die_at("after-sync")
        submission.done(Result(submission.head.id, kept=True, rung=Rung.STORED))


async def main() -> None:
    """Listen until SIGTERM."""
    root = Path(sys.argv[1])
    storing = Storing(root / "stored", float(sys.argv[3]))
    PeerDoor.connection_type = Doomed
    house = House(root, accept=storing.accept)
    if house.names.get("bob") is None:
        house.names.claim("bob", None, 0.0)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with house.open():
        number = house.names.require("bob").number
        sys.stdout.write(f"{house.sockets}/{number}.sock\n")
        sys.stdout.flush()
        await ended.wait()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())

"""Both ends of a peer connection, for tests: a taker of lines and a sender.

The sender's verdict is the agent client's: a clean close within its patience is
success, anything else is a failure with its name.
"""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import uvloop

from homi.doors.look import Bench, Connection, Terms

Value = TypeVar("Value")

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
PATIENCE = 30.0  # s the client waits for the close


def run(main: Callable[[], Awaitable[None]], loop: str = "uvloop") -> None:
    """Run main on that kind of loop."""

    async def bounded() -> None:
        async with asyncio.timeout(240):
            await main()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(bounded())


class Moves:
    """Something happened; who waits looks again."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    def moved(self) -> None:
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    async def until(self, true: Callable[[], bool], seconds: float = 20.0) -> None:
        """Wait for the event after which true() holds; TimeoutError else."""
        async with asyncio.timeout(seconds):
            while not true():
                waiter = asyncio.get_running_loop().create_future()
                self._waiting.append(waiter)
                await waiter


class Post(Moves):
    """Takes lines; answers at once with `answer`, or never where that is None."""

    def __init__(self, answer: Callable[[Connection], None] | None = None) -> None:
        super().__init__()
        self.lines: list[bytes] = []
        self.ended: list[Connection] = []
        self.answer = answer

    def line(self, connection: Connection, line: bytes) -> None:
        self.lines.append(line)
        if self.answer is not None:
            self.answer(connection)
        self.moved()

    def gone(self, connection: Connection) -> None:
        self.ended.append(connection)
        self.moved()


class Counted(Connection):
    """A connection that counts how often it was looked at."""

    looks = 0

    def look(self) -> None:
        type(self).looks += 1
        super().look()


def joined(
    post: Post, terms: Terms | None = None, kind: type[Connection] = Connection
) -> tuple[Connection, socket.socket]:
    """A connection and the sender's end of it, on the running loop."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(PATIENCE)
    bench = Bench(asyncio.get_running_loop(), post, terms or Terms())
    return kind(bench, ours, 1, 0, 0), theirs


def settle(connection: Connection) -> None:
    """Answer: it is stored."""
    connection.settle()


def refuse(connection: Connection) -> None:
    """Answer: it is not stored."""
    connection.refuse()


def verdict(sock: socket.socket, patience: float = PATIENCE) -> str:
    """What the sender is told when it waits for the close."""
    sock.settimeout(patience)
    try:
        got = sock.recv(1)
    except TimeoutError:
        return "timeout"
    except (ConnectionResetError, BrokenPipeError) as error:
        return type(error).__name__
    return "answered" if got else "success"


def say(
    sock: socket.socket, writes: Iterable[bytes], patience: float = PATIENCE
) -> str:
    """Write, half-close, wait: a whole send; its verdict.  Closes the socket."""
    with sock:
        sock.settimeout(patience)
        try:
            for each in writes:
                sock.sendall(each)
            sock.shutdown(socket.SHUT_WR)
        except TimeoutError:
            return "timeout"
        except (ConnectionResetError, BrokenPipeError) as error:
            return type(error).__name__
        return verdict(sock, patience)


def connect(path: str) -> socket.socket:
    """A sender's end at a listening socket."""
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.connect(path)
    except OSError:
        sock.close()
        raise
    return sock


async def told(
    sock: socket.socket, writes: Iterable[bytes], patience: float = PATIENCE
) -> str:
    """say(), while the loop serves."""
    return await asyncio.to_thread(say, sock, writes, patience)


async def cpu_share(seconds: float) -> float:
    """The share of one core this process used while nothing should happen."""
    before = time.process_time()
    await asyncio.sleep(seconds)
    return (time.process_time() - before) / seconds

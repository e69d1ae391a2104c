"""Framing of the control socket: any chunking, bounded lines, joined answers."""

import asyncio
import socket

import pytest

from homi.config import LINE_MAX
from homi.doors.wire import BigLine, LineProtocol, Outbox


class Transport(asyncio.Transport):
    """Keeps what was written and how often."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True


class Taker:
    """Keeps the lines."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.over = 0
        self.ended = 0

    def line(self, line: bytes) -> None:
        self.lines.append(line)

    def overlong(self, length: int) -> None:
        self.over = length

    def lost(self) -> None:
        self.ended += 1


def made(
    loop: asyncio.AbstractEventLoop, big: BigLine | None = None
) -> tuple[LineProtocol, Taker, Transport, Outbox]:
    taker, transport, outbox = Taker(), Transport(), Outbox(loop)
    wire = LineProtocol(outbox, big or BigLine(), lambda _: taker)
    wire.connection_made(transport)
    return wire, taker, transport, outbox


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_are_whole_however_they_come(size: int) -> None:
    """A socket knows no lines."""

    async def main() -> None:
        wire, taker, _, _ = made(asyncio.get_running_loop())
        data = "one\n\ntwo ü\u2028x\nthree\npart".encode()
        for at in range(0, len(data), size):
            wire.data_received(data[at : at + size])
        assert taker.lines == [b"one", "two ü\u2028x".encode(), b"three"]

    asyncio.run(main())


def test_answers_of_one_turn_leave_in_one_write() -> None:
    """A write per message is a system call per message."""

    async def main() -> None:
        wire, _, transport, _ = made(asyncio.get_running_loop())
        for part in (b"a\n", b"b\n", b"c\n"):
            wire.answer(part)
        assert transport.writes == []
        await asyncio.sleep(0)
        assert transport.writes == [b"a\nb\nc\n"]

    asyncio.run(main())


def test_answers_of_a_batch_leave_with_its_end_and_no_turn_later() -> None:
    """Another turn of the loop for each lone message would cost it a tenth."""

    async def main() -> None:
        joined = True
        outbox = Outbox(asyncio.get_running_loop(), lambda: joined)
        transport = Transport()
        wire = LineProtocol(outbox, BigLine(), lambda _: Taker())
        wire.connection_made(transport)
        wire.answer(b"a\n")
        wire.answer(b"b\n")
        outbox.flush()
        assert transport.writes == [b"a\nb\n"]
        joined = False
        wire.answer(b"c\n")
        await asyncio.sleep(0)
        assert transport.writes[1:] == [b"c\n"]

    asyncio.run(main())


def test_a_line_over_the_bound_needs_the_one_big_place() -> None:
    """Two callers must not make the daemon hold 64 MiB."""

    async def main() -> None:
        loop, big = asyncio.get_running_loop(), BigLine()
        first, one, _, _ = made(loop, big)
        second, two, transport, _ = made(loop, big)
        first.data_received(b"x" * (LINE_MAX + 1))
        second.data_received(b"y" * (LINE_MAX + 1))
        assert (one.over, two.over) == (0, LINE_MAX + 1)
        assert transport.closed
        first.data_received(b"\n")
        assert len(one.lines[0]) == LINE_MAX + 1
        third, three, _, _ = made(loop, big)
        third.data_received(b"z" * (LINE_MAX + 1) + b"\n")
        assert three.over == 0
        assert len(three.lines) == 1

    asyncio.run(main())


def test_a_lost_connection_frees_the_big_place_and_tells_once() -> None:
    """Otherwise the next long line would wait for ever."""

    async def main() -> None:
        loop, big = asyncio.get_running_loop(), BigLine()
        first, one, _, _ = made(loop, big)
        first.data_received(b"x" * (LINE_MAX + 1))
        first.connection_lost(None)
        assert one.ended == 1
        assert big.holder is None
        first.answer(b"late\n")
        await asyncio.sleep(0)

    asyncio.run(main())


def test_nothing_more_is_read_once_a_connection_is_closed() -> None:
    """A refused hello must not be followed by the requests behind it."""

    async def main() -> None:
        wire, taker, transport, _ = made(asyncio.get_running_loop())
        took = taker.line

        def last(line: bytes) -> None:
            took(line)
            wire.answer(b"no\n")
            wire.close()

        taker.line = last  # type: ignore[method-assign]
        wire.data_received(b"one\ntwo\n")
        wire.data_received(b"three\n")
        assert taker.lines == [b"one"]
        assert transport.writes == [b"no\n"]
        assert transport.closed

    asyncio.run(main())


@pytest.mark.parametrize("reads", [True, False])
def test_a_device_that_never_reads_holds_no_connection_behind_its_end(
    reads: bool,
) -> None:
    """What it was sent is let go; one that reads gets all of it."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        taker, (ours, theirs) = Taker(), socket.socketpair()
        gone = asyncio.Event()
        taker.lost = gone.set  # type: ignore[method-assign]
        with theirs:
            theirs.setblocking(False)
            _, wire = await loop.create_unix_connection(
                lambda: LineProtocol(Outbox(loop), BigLine(), lambda _: taker),
                sock=ours,
            )
            wire.hand_over(taker, 60.0 if reads else 0.0)
            wire.answer(b"x" * (4 << 20) + b"\n")
            wire.close()
            got = 0
            async with asyncio.timeout(20):
                while reads and (data := await loop.sock_recv(theirs, 1 << 20)):
                    got += len(data)
                await gone.wait()
        assert got == ((4 << 20) + 1 if reads else 0)

    asyncio.run(main())

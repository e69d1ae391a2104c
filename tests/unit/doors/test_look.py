"""A connection of the peer door: what is read when, and what the sender learns."""

import array
import asyncio
import os
import socket

import pytest

from homi.doors.look import Connection, Terms
from tests.unit.doors.ends import (
    LOOPS,
    Counted,
    Post,
    cpu_share,
    joined,
    refuse,
    run,
    settle,
    told,
    verdict,
)

both = pytest.mark.parametrize("loop", LOOPS)
LINE = b'{"type":"user","text":"gr\xc3\xbc\xc3\x9fe"}'


@both
def test_settled_line_ends_clean_for_its_sender(loop: str) -> None:
    """The positive control of all refusals below."""

    async def main() -> None:
        post = Post(settle)
        connection, theirs = joined(post)
        connection.look()
        assert await told(theirs, [LINE + b"\n"]) == "success"
        assert post.lines == [LINE]
        assert post.ended == [connection]

    run(main, loop)


@both
def test_refused_line_resets_its_sender(loop: str) -> None:
    """A close over the unread newline is the error."""

    async def main() -> None:
        post = Post(refuse)
        connection, theirs = joined(post)
        connection.look()
        assert await told(theirs, [LINE + b"\n"]) == "ConnectionResetError"
        assert post.lines == [LINE]

    run(main, loop)


@both
def test_newline_stays_in_the_kernel_while_its_line_is_in_work(loop: str) -> None:
    """So that a death at this moment is an error, and nothing behind it is read."""

    async def main() -> None:
        post = Post()
        connection, theirs = joined(post, kind=Counted)
        theirs.sendall(LINE + b"\nsecond\n")
        Counted.looks = 0
        connection.look()
        await post.until(lambda: len(post.lines) == 1)
        theirs.sendall(b"third\n")
        theirs.shutdown(socket.SHUT_WR)
        with socket.socket(fileno=os.dup(connection.fd)) as copy:
            assert copy.recv(100, socket.MSG_PEEK) == b"\nsecond\nthird\n"
        assert await cpu_share(0.2) < 0.5
        assert Counted.looks == 1
        assert post.lines == [LINE]
        post.answer = settle
        connection.settle()
        await post.until(lambda: post.ended == [connection])
        assert post.lines == [LINE, b"second", b"third"]
        assert verdict(theirs) == "success"
        theirs.close()

    run(main, loop)


def test_line_behind_a_refused_one_is_never_read() -> None:
    """Refusing one line of a connection refuses what follows it."""

    async def main() -> None:
        post = Post(refuse)
        connection, theirs = joined(post)
        connection.look()
        assert await told(theirs, [LINE + b"\n" + LINE + b"\n"]) != "success"
        assert post.lines == [LINE]

    run(main)


@both
@pytest.mark.parametrize(
    "writes",
    [
        [b"x" * 3_145_728 + b"\n"],
        [bytes([each]) for each in b"y" * 278 + b"\n"],
        [b'"gr\xc3', b'\xbc\xc3\x9fe"\n'],
        [LINE, b"\n"],
    ],
    ids=["3 MiB", "byte by byte", "cut in a character", "newline alone"],
)
def test_line_arrives_whole_however_it_was_written(
    loop: str, writes: list[bytes]
) -> None:
    """The border of a write means nothing."""

    async def main() -> None:
        post = Post(settle)
        connection, theirs = joined(post)
        connection.look()
        assert await told(theirs, writes, 30) == "success"
        assert post.lines == [b"".join(writes)[:-1]]
        assert post.ended == [connection]

    run(main, loop)


def test_lines_of_one_connection_come_in_order_blank_ones_too() -> None:
    """Two messages and what stands between them."""

    async def main() -> None:
        post = Post(settle)
        connection, theirs = joined(post)
        connection.look()
        assert await told(theirs, [b"one\n\n", b"two\nthree\n"]) == "success"
        assert post.lines == [b"one", b"", b"two", b"three"]

    run(main)


@both
def test_line_over_the_limit_is_refused_before_it_is_read(loop: str) -> None:
    """Bytes must stay unread, or the refusal looks like success."""

    async def main() -> None:
        post = Post(settle)
        connection, theirs = joined(post, Terms(line_max=100_000))
        connection.look()
        assert await told(theirs, [b"x" * 100_001 + b"\n"]) in (
            "ConnectionResetError",
            "BrokenPipeError",
        )
        assert post.lines == []
        connection, theirs = joined(post, Terms(line_max=100_000))
        connection.look()
        assert await told(theirs, [b"x" * 100_000 + b"\n"]) == "success"

    run(main, loop)


@both
def test_silent_connection_is_closed_at_the_deadline(loop: str) -> None:
    """One that dribbles without a newline too; bytes must not extend it."""

    async def main() -> None:
        post = Post(settle)
        terms = Terms(deadline=0.3)
        silent, other = joined(post, terms)
        silent.look()
        dribbling, theirs = joined(post, terms)
        dribbling.look()
        began = asyncio.get_running_loop().time()
        while dribbling not in post.ended:
            theirs.send(b"x")
            await asyncio.sleep(0.02)
            assert asyncio.get_running_loop().time() - began < 10
        await post.until(lambda: silent in post.ended)
        assert post.lines == []
        other.close()
        theirs.close()

    run(main, loop)


def test_line_in_work_has_no_deadline() -> None:
    """Only the wait for a line is bounded; its commit is the store's affair."""

    async def main() -> None:
        post = Post()
        connection, theirs = joined(post, Terms(deadline=0.05))
        connection.look()
        theirs.sendall(LINE + b"\n")
        await post.until(lambda: bool(post.lines))
        await cpu_share(0.2)
        assert not connection.closed
        connection.settle()
        await post.until(lambda: connection.closed)
        theirs.close()

    run(main)


@both
def test_unterminated_end_gets_no_clean_close_while_the_sender_waits(loop: str) -> None:
    """All its bytes are read: a close now would look like success."""

    async def main() -> None:
        post = Post(settle)
        connection, theirs = joined(post, Terms(unterminated=0.5))
        connection.look()
        assert await told(theirs, [LINE], patience=0.25) == "timeout"
        assert not connection.closed
        await post.until(lambda: connection.closed)
        assert post.lines == []

    run(main, loop)


def test_probe_is_closed_at_once() -> None:
    """Most connections carry no byte."""

    async def main() -> None:
        post = Post(settle)
        connection, theirs = joined(post)
        theirs.close()
        connection.look()
        assert connection.closed
        assert post.lines == []

    run(main)


def test_refusal_is_silence_where_a_close_would_look_clean() -> None:
    """As on macOS: the sender must give up before the close."""

    async def main() -> None:
        post = Post(refuse)
        connection, theirs = joined(post, Terms(refused=0.5))
        connection.look()
        assert await told(theirs, [LINE + b"\n" + LINE + b"\n"], 0.25) == "timeout"
        assert not connection.closed
        await post.until(lambda: connection.closed)
        assert post.lines == [LINE]

    run(main)


def test_hang_up_is_told_from_a_half_close() -> None:
    """A waiting sender has half-closed; one that gave up has closed."""

    async def main() -> None:
        post = Post()
        connection, theirs = joined(post)
        connection.look()
        theirs.sendall(LINE + b"\n")
        theirs.shutdown(socket.SHUT_WR)
        await post.until(lambda: bool(post.lines))
        assert not connection.hung_up()
        theirs.close()
        assert connection.hung_up()
        connection.close()

    run(main)


@both
def test_flood_of_blank_lines_leaves_the_loop_its_turn(loop: str) -> None:
    """One sender must not hold the others up, nor nest calls without end."""

    async def main() -> None:
        post = Post(settle)
        connection, theirs = joined(post)
        theirs.sendall(b"\n" * 4000)
        seen: list[int] = []
        asyncio.get_running_loop().call_soon(lambda: seen.append(len(post.lines)))
        connection.look()
        await post.until(lambda: len(post.lines) == 4000)
        assert seen
        assert seen[0] < 4000
        connection.close()
        theirs.close()

    run(main, loop)


def test_descriptors_sent_along_change_nothing() -> None:
    """A read ends early at them; the line must be whole all the same."""

    async def main() -> None:
        post = Post(settle)
        connection, theirs = joined(post)
        rights = array.array("i", [theirs.fileno()])
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
        theirs.sendall(b"one ")
        theirs.sendmsg([b"line "], ancillary)
        theirs.sendall(b"whole\n")
        connection.look()
        await post.until(lambda: post.lines == [b"one line whole"])
        connection.close()
        theirs.close()

    run(main)


def test_fault_of_the_taker_refuses_the_line() -> None:
    """A bug of ours must not leave a sender waiting, or the door a descriptor."""

    def fail(_connection: Connection) -> None:
        raise ZeroDivisionError

    async def main() -> None:
        post = Post(fail)
        connection, theirs = joined(post)
        theirs.sendall(LINE + b"\n")
        with pytest.raises(ZeroDivisionError):
            connection.look()
        assert connection.closed
        assert verdict(theirs) == "ConnectionResetError"
        theirs.close()

    run(main)

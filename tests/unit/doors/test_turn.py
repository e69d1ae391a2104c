"""A line's way to the store: the last look before it, and the wait when stuck."""

import asyncio
import socket

from homi.doors.look import Connection
from homi.doors.turn import Turn
from homi.envelope import MessageId, Msg, Rung, Via, encode
from homi.errors import StorageFailed
from homi.postmaster import Result, Stamp, Submission
from tests.unit.doors.ends import Post, joined, run, verdict


class Stuck:
    """A postmaster that answers when it is told to."""

    def __init__(self) -> None:
        self.taken: list[Submission] = []

    def accept(self, submission: Submission) -> None:
        self.taken.append(submission)

    def answer(self, *, kept: bool = True) -> None:
        submission = self.taken.pop(0)
        error = None if kept else StorageFailed("no")
        submission.done(
            Result(submission.head.id, kept=kept, rung=Rung.STORED, error=error)
        )


class Bench:
    """Senders with a line in work each, and the turn they take."""

    def __init__(self, stall: float, patience: float) -> None:
        self.store = Stuck()
        loop = asyncio.get_running_loop()
        self.turn = Turn(loop, self.store.accept, stall=stall, patience=patience)
        self.post = Post()

    def line(self) -> socket.socket:
        """A new sender whose line was just handed up and taken."""
        connection, theirs = joined(self.post)
        theirs.sendall(b"x\n")
        theirs.shutdown(socket.SHUT_WR)
        connection.look()
        self.take(connection)
        return theirs

    def take(self, connection: Connection) -> None:
        head = Msg(id=MessageId("1" * 36), from_="a", to="b", text="x")
        stamp = Stamp(Via(door="peer"))

        def done(result: Result) -> None:
            self.turn.done(connection, result)

        self.turn.take(connection, Submission(head, encode(head), stamp, "b", done))


def test_answer_settles_or_refuses() -> None:
    """The plain case, both ways."""

    async def main() -> None:
        bench = Bench(9.0, 9.0)
        with bench.line() as stored, bench.line() as failed:
            bench.store.answer()
            bench.store.answer(kept=False)
            assert verdict(stored) == "success"
            assert verdict(failed) == "ConnectionResetError"

    run(main)


def test_sender_that_gave_up_is_not_stored() -> None:
    """It told its model that the send failed; the model sends it anew."""

    async def main() -> None:
        bench = Bench(9.0, 9.0)
        connection, theirs = joined(bench.post)
        theirs.sendall(b"x\n")
        connection.look()
        theirs.close()
        bench.take(connection)
        assert bench.store.taken == []
        assert connection.closed
        bench.line().close()
        assert len(bench.store.taken) == 1
        bench.store.answer()

    run(main)


def test_line_behind_a_stuck_store_is_refused_in_time() -> None:
    """Its sender gives up soon after: it must not be stored then."""

    async def main() -> None:
        bench = Bench(-1.0, 0.2)
        first = bench.line()
        await asyncio.sleep(0)
        with bench.line() as second, bench.line() as third:
            assert len(bench.store.taken) == 1
            await bench.post.until(lambda: len(bench.post.ended) == 2)
            assert verdict(second) == "ConnectionResetError"
            assert verdict(third) == "ConnectionResetError"
        bench.store.answer()
        assert verdict(first) == "success"
        assert bench.store.taken == []
        first.close()

    run(main)


def test_line_behind_a_stuck_store_has_its_turn_when_it_moves() -> None:
    """In order, and all who waited."""

    async def main() -> None:
        bench = Bench(-1.0, 9.0)
        first, second, third = bench.line(), bench.line(), bench.line()
        assert len(bench.store.taken) == 1
        bench.store.answer()
        assert len(bench.store.taken) == 2
        bench.store.answer()
        bench.store.answer()
        for each in (first, second, third):
            assert verdict(each) == "success"
            each.close()

    run(main)


def test_waiting_sender_that_gives_up_is_not_stored() -> None:
    """The look is taken when the commit begins, not when the line came."""

    async def main() -> None:
        bench = Bench(-1.0, 9.0)
        first, second = bench.line(), bench.line()
        second.close()
        bench.store.answer()
        assert bench.store.taken == []
        first.close()

    run(main)


def test_finish_answers_what_is_in_flight_and_refuses_the_rest() -> None:
    """A stop leaves nobody with a wrong verdict."""

    async def main() -> None:
        bench = Bench(-1.0, 9.0)
        first, second = bench.line(), bench.line()
        finishing = asyncio.ensure_future(bench.turn.finish(5.0))
        await asyncio.sleep(0)
        third = bench.line()
        assert not finishing.done()
        bench.store.answer()
        await finishing
        assert verdict(first) == "success"
        assert verdict(second) == "ConnectionResetError"
        assert verdict(third) == "ConnectionResetError"
        for each in (first, second, third):
            each.close()

    run(main)


def test_finish_does_not_wait_for_ever() -> None:
    """A disk that hangs must not keep the daemon."""

    async def main() -> None:
        bench = Bench(9.0, 9.0)
        first = bench.line()
        await bench.turn.finish(0.05)
        assert verdict(first, 0.05) == "timeout"
        bench.store.answer()
        assert verdict(first) == "success"
        first.close()

    run(main)

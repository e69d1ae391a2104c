"""Many messages, one a line, pipelined over one connection.

Owns how many lines are under way, that reports come in the order of the lines, and
what is said of a line that failed.  Standard library only.  homi-send(1).
"""

import os
import select
import sys
import time
from collections import deque
from collections.abc import Iterator

from homi import ids
from homi.cli.fast import complain, load
from homi.cli.source import Line, Source
from homi.cli.submission import Plan, mint, report, request, sender, shown
from homi.dial import ANSWER_TIMEOUT, Absent, Dial, Json, Late, Lost, outcome
from homi.errors import HomiError, StorageFailed

WINDOW = 64  # lines under way; more of them come no faster, by measurement
WINDOW_BYTES = 4 << 20  # of them: the longest text goes alone


def deliver(plan: Plan, path: str) -> int:
    """Send each line; the status of the first that failed, else 0.

    Where no daemon listens, or none does any more, lines wait in pickup/.
    """
    source = Source(plan)
    batch = Batch(plan, source)
    try:
        try:
            batch.send(path)
        except Absent:
            load("homi.cli.spool", "rest", batch)
        return batch.end()
    except KeyboardInterrupt:
        batch.interrupted()
        raise
    finally:
        source.close()


class Batch:
    """The lines of one run, the books of what became of them."""

    def __init__(self, plan: Plan, source: Source) -> None:
        """Nothing is read yet."""
        self.plan = plan
        self._source = source
        self._open: deque[Line] = deque()  # not told yet, in order
        self._size = 0  # characters in them
        self._sent: dict[int, Line] = {}  # of them those the daemon owes an answer
        self._told = 0  # how many were settled and told
        self._rungs: dict[str, int] = {}
        self._failed = 0
        self._status = 0
        self._hints: set[str] = set()
        self._mute = sys.stdout is None
        self._unwritten: StorageFailed | None = None

    # ---- with a daemon ----

    def send(self, path: str) -> None:
        """Send until all is told; Absent where nobody listens (any more).

        A lost connection is made again and what was under way is sent again, with
        the same ids; lost twice without a line told, the rest is given up.
        """
        told = -1
        while True:
            try:
                with Dial(path) as dial:
                    self._talk(dial)
                return
            except Lost as error:
                if isinstance(error, Late) or told == self._told:
                    raise self._give_up(error) from error
                told = self._told

    def _talk(self, dial: Dial) -> None:
        """Lines out while there is room, answers in, over this connection."""
        name = sender(self.plan, dial)
        dial.put(b"".join(self._request(line, name) for line in self._sent.values()))
        since = time.monotonic()
        while True:
            if fresh := self._take():
                if not self._sent:
                    since = time.monotonic()
                self._sent |= {line.number: line for line in fresh}
                dial.put(b"".join(self._request(line, name) for line in fresh))
            self._tell()
            if not self._sent and not self._source.empty:
                continue  # all that was taken was no text
            if not self._sent and self._source.ended:
                return
            if self._wait(dial, since):
                since = time.monotonic()

    def _wait(self, dial: Dial, since: float) -> bool:
        """Wait for answers or input and read what there is; whether one was given."""
        hungry = self._source.empty and not self._source.ended and self._room()
        inputs: list[Dial | int] = [dial, self._source.fd] if hungry else [dial]
        left = since + ANSWER_TIMEOUT - time.monotonic() if self._sent else None
        ready, _, _ = select.select(inputs, [], [], left and max(0.0, left))
        if not ready:
            raise Late("the daemon gave no answer in time")
        if self._source.fd in ready:
            self._source.read()
        if dial not in ready:
            return False
        self._answered(dial.answer())
        while dial.answered():
            self._answered(dial.answer())
        return True

    def _answered(self, answer: Json) -> None:
        """An answer belongs to the line whose number it has."""
        number = answer.get("i")
        line = self._sent.pop(number, None) if isinstance(number, int) else None
        try:
            done = outcome(answer)
        except HomiError as error:
            if line is None:  # of no request of ours: the connection ends with it
                raise Lost(error.text, hint=error.hint) from error
            line.error = error
            return
        if line is None:
            raise Lost("the daemon gave an answer nobody asked for")
        self.plan.id = line.id
        line.report = report(self.plan, done)

    def _take(self) -> list[Line]:
        """The lines that may go now; those that are no text go nowhere."""
        fresh = []
        while self._room() and (line := self._next()):
            if not line.settled:
                fresh.append(line)
        return fresh

    def _room(self) -> bool:
        """Whether another line may be under way."""
        return len(self._open) < WINDOW and self._size < WINDOW_BYTES

    def _next(self) -> Line | None:
        """The next line, on the books from now on, with the id it keeps."""
        line = self._source.next()
        if line is not None:
            line.id = self._id(line)
            self._size += len(line.text)
            self._open.append(line)
        return line

    def _id(self, line: Line) -> str:
        """With a key of its line's number, so that the whole may be sent again."""
        if not self.plan.key:
            return mint()
        return ids.derived(*self.plan.parts, f"{self.plan.key}/{line.number}")

    def _request(self, line: Line, name: str) -> bytes:
        """The request that sends line."""
        self.plan.id, self.plan.body = line.id, line.text
        return request(self.plan, line.number, name)

    # ---- without one ----

    def left(self) -> Iterator[Line]:
        """What nobody answered for, then what was not read: to settle one by one."""
        self._tell()
        for line in list(self._open):
            if not line.settled:
                yield line
                self._tell()
        while not (self._source.ended and self._source.empty):
            fresh = self._next()
            if fresh is None:
                self._source.read()
            elif not fresh.settled:
                yield fresh
            self._tell()

    # ---- what is said ----

    def _tell(self) -> None:
        """Report every settled line that has no unsettled one before it."""
        said: list[str] = []
        while self._open and self._open[0].settled:
            line = self._open.popleft()
            self._size -= len(line.text)
            self._told += 1
            if line.error is not None:
                self._say(said)
                said = []
                self._refused(line, line.error)
            elif line.report is not None:
                rung = str(line.report["rung"])
                self._rungs[rung] = self._rungs.get(rung, 0) + 1
                said.append(shown(self.plan, {"line": line.number, **line.report}))
        self._say(said)

    def _refused(self, line: Line, error: HomiError) -> None:
        """Name the line on stderr; a hint once, for a thousand lines have the same."""
        hint = "" if error.hint in self._hints else error.hint
        self._hints.add(error.hint)
        complain(type(error)(f"line {line.number}: {error.text}", hint=hint))
        self._failed += 1
        self._status = self._status or error.exit_status

    def _say(self, said: list[str]) -> None:
        """Reports on stdout; whoever reads no more of them stops no mail."""
        if self._mute or not said:
            return
        try:
            print("\n".join(said), flush=True)
        except BrokenPipeError:
            self._mute = True
        except OSError as error:
            self._mute = True
            self._unwritten = StorageFailed(
                f"cannot write the results: {error.strerror}",
                hint="the lines were sent; do not send them again",
            )
        if self._mute:
            # Python flushes once more at its end and must not meet the fault there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def end(self) -> int:
        """The status of the whole, told in a line where some of it failed."""
        self._tell()
        if self._failed:
            complain(HomiError(f"{self._failed} of {self._told} lines were not sent"))
        if failure := self._source.failure or self._unwritten:
            raise failure
        return self._status

    def interrupted(self) -> None:
        """Say how far it got, and from where it may be sent again."""
        self._tell()
        text = f"interrupted: {self._sum()}"
        if self._open:
            text += f"; not known of {self._span()}"
        complain(HomiError(text))

    def _give_up(self, error: Lost) -> StorageFailed:
        """What is known when the daemon gives no answers: each open line by its id."""
        self._tell()
        for line in self._open:
            complain(
                HomiError(f"line {line.number}: not known to be stored: {line.id}")
            )
        hint = "homi trace ID tells; with --key the whole can be sent again"
        return StorageFailed(f"{error.text}: {self._sum()}", hint=hint)

    def _sum(self) -> str:
        """How many are at which rung."""
        counts = [f"{count} {rung}" for rung, count in self._rungs.items()]
        return ", ".join(counts) or "none stored"

    def _span(self) -> str:
        """The lines that are open, from the first to the last."""
        first, last = self._open[0].number, self._open[-1].number
        return f"line {first}" if first == last else f"lines {first} to {last}"

"""One connection of the peer door: lines are looked at before they are read.

Owns when a byte may leave the kernel: the newline of a line stays unread until
its taker has settled it, so that a death or a refusal reaches the sender as an
error.  Knows nothing of what a line says.  homi-protocol(7) has the rules.
"""

import asyncio
import logging
import select
import socket
import sys
from typing import NamedTuple, Protocol

from homi.config import PEER_DEADLINE, PEER_LINE_MAX
from homi.inheritance import Bequest

log = logging.getLogger("homi.peer")

PEEK = 256 * 1024  # more than a sender's default buffer can queue (219,264)
GO = 1 << 20  # bytes of one connection before the loop has its turn again
LINE_COST = 4096  # what a line counts for in a go, however short it is
HANG_UP = select.POLLHUP | select.POLLERR


class Terms(NamedTuple):
    """What a connection is held to; tests shrink the times."""

    deadline: float = PEER_DEADLINE  # s for a whole line
    line_max: int = PEER_LINE_MAX  # bytes
    unterminated: float = 6.0  # s: longer than the sender waits for its verdict
    idle: float = 2.0  # s without a byte: gives way when places are short
    # macOS closes cleanly over unread bytes: there a refusal is a close that comes
    # after the sender has given up.
    refused: float = 6.0 if sys.platform == "darwin" else 0.0


class Taker(Protocol):
    """Who is handed the lines.  Each is answered by settle() or refuse(), once."""

    def line(self, connection: "Connection", line: bytes) -> None:
        """Take a line without its newline; answer now or later."""
        ...

    def gone(self, connection: "Connection") -> None:
        """The connection is closed."""
        ...


class Bench:
    """What all connections of a door share: loop, buffer, poll object, terms."""

    __slots__ = ("buffer", "loop", "paused", "poll", "taker", "terms")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, taker: Taker, terms: Terms
    ) -> None:
        """One buffer serves all: nothing of a look is kept past it."""
        self.loop = loop
        self.taker = taker
        self.terms = terms
        self.paused = False  # nobody begins a line any more
        self.buffer = bytearray(PEEK)
        self.poll = select.poll()


class Connection:
    """A sender's connection.  At most one of its lines is in work at a time."""

    __slots__ = (
        "_armed",
        "_bench",
        "_doomed",
        "_inside",
        "_line",
        "_sock",
        "_timer",
        "_work",
        "busy",
        "closed",
        "fd",
        "number",
        "pid",
        "stood_for",
        "uid",
    )

    def __init__(
        self, bench: Bench, sock: socket.socket, number: int, pid: int, uid: int
    ) -> None:
        """sock is non-blocking and came in at number; pid, uid: its credentials."""
        self._bench = bench
        self._sock = sock
        self.fd = sock.fileno()
        self.number = number
        self.stood_for = ("", "")  # what its number meant when it came in; see peer
        self.pid = pid
        self.uid = uid
        self.closed = False
        self.busy = False  # a line is with the taker, its newline unread
        self._line = bytearray()
        self._work = b""  # the line that is with the taker
        self._doomed = False  # ended in mid-line, its close is due later
        self._armed = False
        self._inside = False  # look() is on the stack: it goes on by itself
        self._timer: asyncio.TimerHandle | None = None

    def look(self) -> None:
        """Read and hand up line by line; return to wait, to commit, or for others."""
        if self._bench.paused:
            self._disarm()
            return
        room = GO
        while room > 0:
            seen = self._peek()
            if seen <= 0:
                self._arm() if seen < 0 else self._ended()
                return
            at = self._bench.buffer.find(b"\n", 0, seen)
            if len(self._line) + (seen if at < 0 else at) > self._bench.terms.line_max:
                log.warning("peer pid=%d status=refused (line too long)", self.pid)
                self.refuse()
                return
            if at < 0:
                self._line += self._take(seen)
                room -= seen
                continue
            self._hand_up(at)
            if self.busy or self.closed:
                return
            room -= at + LINE_COST
        self._arm()

    def settle(self) -> None:
        """The line in work is stored: read its newline, look at what follows."""
        if self.closed:
            return
        self._read_newline()
        self.busy, self._work = False, b""
        if not self._inside:
            self.look()

    def refuse(self) -> None:
        """Close over what is unread: the sender is told that it failed."""
        if self.closed:
            return
        self._disarm()
        if self._bench.terms.refused:
            self._close_in(self._bench.terms.refused)
        else:
            self.close()

    def leave(self, heir: Bequest) -> None:
        """Let heir have it, with what was read of its line: the sender sees nothing.
        A line in work is left whole: its id tells the store whether it has it."""
        if self.closed:
            return
        self.closed = True
        self._disarm()
        line = self._work if self.busy else bytes(self._line)
        heir.sender(self._sock, self.number, line, doomed=self._doomed)
        self._bench.taker.gone(self)

    def go_on(self, line: bytes, *, doomed: bool) -> None:
        """Go on where another homi left it."""
        self._line += line
        if doomed:
            self._end_later()
        else:
            self.look()

    def hung_up(self) -> bool:
        """Whether the sender closed its socket and so has its verdict already."""
        poll = self._bench.poll
        poll.register(self.fd, 0)
        try:
            return any(seen & HANG_UP for _fd, seen in poll.poll(0))
        finally:
            poll.unregister(self.fd)

    def dawdles(self) -> bool:
        """Whether it has waited for its sender longer than one who means it would let
        it; with part of a line read, so long that a close is no success to anyone."""
        terms = self._bench.terms
        if not self._armed or self._timer is None:
            return False
        waited = self._bench.loop.time() + terms.deadline - self._timer.when()
        return waited >= (terms.unterminated if self._line else terms.idle)

    def close(self) -> None:
        """Disarm, then close; over unread bytes the sender sees an error."""
        if self.closed:
            return
        self.closed = True
        # A descriptor closed while armed is never heard of again under its number.
        self._disarm()
        self._sock.close()
        self._bench.taker.gone(self)

    def _peek(self) -> int:
        """Bytes in view in the shared buffer; 0 at the end, -1 for none yet."""
        try:
            return self._sock.recv_into(self._bench.buffer, 0, socket.MSG_PEEK)
        except BlockingIOError:
            return -1
        except ConnectionError:
            return 0

    def _take(self, size: int) -> bytes:
        """Read exactly size bytes that a look has shown."""
        taken = self._sock.recv(size) if size else b""
        while len(taken) < size:
            # A read ends early where a sender passed descriptors along.
            taken += self._sock.recv(size - len(taken))
        return taken

    def _read_newline(self) -> None:
        """From here on a clean close tells the sender that its line is stored."""
        self._sock.recv(1)

    def _hand_up(self, at: int) -> None:
        """Read up to the newline at `at`, not it, and give the line away."""
        line = self._take(at)
        if self._line:
            line = bytes(self._line + line)
            self._line = bytearray()
        self._disarm()
        self._work = line
        self.busy = self._inside = True
        answered = False
        try:
            self._bench.taker.line(self, line)
            answered = True
        finally:
            self._inside = False
            if not answered:
                self.refuse()  # a fault of ours must not leave a sender waiting

    def _ended(self) -> None:
        """The end of stream: done, or a line that never got its newline."""
        if not self._line:
            self.close()
            return
        log.warning(
            "peer pid=%d status=refused (ended in mid-line after %d bytes)",
            self.pid,
            len(self._line),
        )
        self._line = bytearray()
        self._end_later()

    def _end_later(self) -> None:
        """All its bytes are read, so that a close now would look like success."""
        self._disarm()
        self._doomed = True
        self._close_in(self._bench.terms.unterminated)

    def _arm(self) -> None:
        """Wait for bytes; the deadline runs from the first wait for a line."""
        if not self._armed:
            self._armed = True
            self._bench.loop.add_reader(self.fd, self.look)
        if self._timer is None:
            deadline = self._bench.terms.deadline
            self._timer = self._bench.loop.call_later(deadline, self._late)

    def _disarm(self) -> None:
        """No reader, no timer: nothing happens until someone acts."""
        if self._armed:
            self._armed = False
            self._bench.loop.remove_reader(self.fd)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        """The deadline for a whole line has passed."""
        log.info("peer pid=%d closed (no line in time)", self.pid)
        self.close()

    def _close_in(self, seconds: float) -> None:
        """Close when the sender has surely given up by itself."""
        self._timer = self._bench.loop.call_later(seconds, self.close)

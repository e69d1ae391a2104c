"""Signs of life of one connection, and the bounds on talk that carries no mail.

Owns when silence is judged, what a round trip took and whether the other end reads.
homi-protocol(7).
"""

import secrets
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable

from homi.links.frames import End, Pong

GREETING_TIME = 10.0  # s until the proof must be there
KEEPALIVE = 15.0  # s between two pings
PINGS = 3  # unanswered: the other end is gone
CHATTER = 10_000  # frames but mail, acks and rungs that may come between two looks
UNREAD_ASK = 1 << 20  # bytes said beside mail until the other end must show it reads
UNREAD_MAX = 16 << 20  # and until it is too much: nothing but this bounds our memory

_ALIVE = 0.0  # the t of a ping nobody measures


class Parted(Exception):
    """This exchange must end, and why."""

    def __init__(self, reason: End, text: str) -> None:
        """text is for people."""
        super().__init__(text)
        self.reason = reason
        self.text = text


class Pulse:
    """Whether the other end is there.  start() gives it time for its proof."""

    def __init__(
        self,
        loop: AbstractEventLoop,
        send: Callable[[float], None],
        end: Callable[[End, str], None],
        keepalive: float = KEEPALIVE,
    ) -> None:
        """send sends a ping with that t, end says that nobody is there."""
        self._keepalive = keepalive
        self._loop = loop
        self._send = send
        self._end = end
        self.heard = loop.time()  # when a line came last, by the loop's clock
        self._looked = self.heard
        self._unanswered = 0  # pings, since a line came
        self._chatter = 0
        self._timer: TimerHandle | None = None
        self._probed: float | None = None  # when, while its answer is waited for
        self._unread = 0  # bytes said that nothing proves to be read
        self._asked = 0  # of these, when the other end was asked
        self._pings: dict[float, tuple[float, Callable[[float | None], None]]] = {}

    def start(self) -> None:
        """The proof must be there in time."""
        self._again(GREETING_TIME, self._late)

    def met(self) -> None:
        """It is there: from now on silence counts."""
        self._look_later()

    def stop(self) -> None:
        """It is over; who measures gets None."""
        if self._timer is not None:
            self._timer.cancel()
        pings, self._pings = self._pings, {}
        for _, measured in pings.values():
            measured(None)

    def count(self) -> None:
        """One frame more that carries nothing; Parted where it is too many."""
        self._chatter += 1
        if self._chatter > CHATTER:
            raise Parted(End.BUSY, f"over {CHATTER} frames in {self._keepalive:g} s")

    def ping(self, answered: Callable[[float | None], None]) -> None:
        """Measure a round trip in seconds."""
        t = float(1 + secrets.randbits(52))  # only who has read it can send it back
        self._pings[t] = (self._loop.time(), answered)
        self._send(t)

    def pong(self, pong: Pong) -> None:
        """One came back."""
        if found := self._pings.pop(pong.t, None):
            found[1](self._loop.time() - found[0])

    def said(self, length: int) -> None:
        """So many bytes beside mail left; over the bound the other end is asked, and
        given up, as what is not read is kept here."""
        self._unread += length
        if self._unread > UNREAD_MAX:
            self._end(End.BUSY, f"{self._unread} bytes were sent and none was read")
        elif self._unread > UNREAD_ASK and not self._asked:
            self._asked = self._unread
            self.ping(self._read)

    def probe(self, within: float) -> None:
        """Silent, unless something is heard within so many seconds.  Of several the
        first counts: each of a burst would put the judgement off."""
        self._send(_ALIVE)
        if self._probed is None:
            self._probed = self._loop.time()
            self._again(min(within, PINGS * self._keepalive), self._judge)

    def _judge(self) -> None:
        """Whether anything came since the probe."""
        probed, self._probed = self._probed, None
        if probed is not None and self.heard <= probed:
            self._silent()
        else:
            self._look_later()

    def _read(self, seconds: float | None) -> None:
        """The other end read all that was said before it was asked."""
        if seconds is not None:
            self._unread -= self._asked
            self._asked = 0

    def _look(self) -> None:
        """Ping; end where nothing was heard since the last PINGS of them.

        Pings are counted, not seconds: a process that was stopped asks first.
        """
        if self.heard > self._looked:
            self._unanswered = 0
        if self._unanswered >= PINGS:
            self._silent()
            return
        self._unanswered += 1
        self._look_later()
        self._send(_ALIVE)

    def _look_later(self) -> None:
        """Judge again after the keepalive."""
        self._chatter = 0
        self._looked = self._loop.time()
        self._again(self._keepalive, self._look)

    def _again(self, delay: float, what: Callable[[], None]) -> None:
        """The one timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(delay, what)

    def _late(self) -> None:
        """No proof in time."""
        self._end(End.SILENT, f"no proof within {GREETING_TIME:.0f} s")

    def _silent(self) -> None:
        """Nobody is there."""
        self._end(End.SILENT, "nothing was heard from the other end")

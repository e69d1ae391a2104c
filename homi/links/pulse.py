"""Signs of life of one connection, and the bound on talk that carries no mail.

Owns when silence is judged and what a round trip took.  homi-protocol(7).
"""

from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable

from homi.links.frames import End, Pong

GREETING_TIME = 10.0  # s until the proof must be there
KEEPALIVE = 15.0  # s between two pings
PINGS = 3  # unanswered: the other end is gone
CHATTER = 10_000  # frames but mail, acks and rungs that may come between two looks

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
        self._t = 0
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
        self._t += 1
        self._pings[self._t] = (self._loop.time(), answered)
        self._send(self._t)

    def pong(self, pong: Pong) -> None:
        """One came back."""
        if found := self._pings.pop(pong.t, None):
            found[1](self._loop.time() - found[0])

    def probe(self, within: float) -> None:
        """Silent, unless something is heard within so many seconds."""
        before = self._loop.time()

        def judge() -> None:
            if self.heard <= before:
                self._silent()
            else:
                self._look_later()

        self._send(_ALIVE)
        self._again(within, judge)

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

"""One linked device: its connection, its state, and when it is dialled next.

Owns the life of a link; what crosses it is the exchange's, what a state means is in
links.state.  Nothing here raises for what the other end or the network does.
homi-link(1) lists the states.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

from homi.clock import Clock
from homi.links.book import Peering
from homi.links.crosswise import Standing, keep_newer
from homi.links.exchange import Exchange
from homi.links.frames import End
from homi.links.pipe import Connection, Maker, Pipe
from homi.links.state import STEADY, LinkState, Refusal, Verdict, of_end, pause

log = logging.getLogger("homi.links")

PROBE = 10.0  # s a link may be silent behind a suspend before it is given up
WAITS = "it dials this device"  # of one without a host


class Dial(Protocol):
    """What opens a pipe to a host."""

    def __call__(self, host: str, make: Maker) -> Coroutine[Any, Any, Pipe]:
        """An open pipe; Refusal says why there is none."""
        ...


class Means(NamedTuple):
    """What every link works with."""

    loop: asyncio.AbstractEventLoop
    clock: Clock
    public: str  # key of this device
    dial: Dial
    exchange: Callable[[Pipe, Peering], Exchange]
    draw: Callable[[], float]  # in [0, 1)


class Link:
    """The connection to one device, kept up while it is wanted."""

    def __init__(
        self, peering: Peering, means: Means, changed: Callable[["Link"], None]
    ) -> None:
        """changed is called behind each change of state.  Nothing is dialled yet."""
        self.peering = peering
        self.up: Exchange | None = None
        self.verdict = Verdict(LinkState.UNREACHABLE, "not tried yet")
        self.since = means.clock.wall()
        self.next_try = 0.0  # wall seconds; 0: none is planned
        self.failures = 0
        self.said = ""  # what the far side printed beside the frames
        self._means = means
        self._changed = changed
        self._wanted = False
        self._hurried = False  # a person asked while a try was under way
        self._told = False
        self._up_at = 0.0
        self._pipe: Pipe | None = None
        self._met: Exchange | None = None  # dialled, and not proven yet
        self._task: asyncio.Task[Pipe] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def state(self) -> LinkState:
        """How it is."""
        return self.verdict.state

    @property
    def connection(self) -> Connection | None:
        """What its exchange goes over, where this end dialled; None else."""
        if self.up is None or not self.up.dialled or self._pipe is None:
            return None
        return self._pipe.connection

    @property
    def dials(self) -> bool:
        """Whether a try is under way, or planned."""
        return self.dialling or self._timer is not None

    @property
    def dialling(self) -> bool:
        """Whether a try is under way."""
        return self._task is not None or self._met is not None

    def start(self) -> None:
        """Keep it up from now on, unless a person paused it."""
        if self.peering.paused:
            self._show(Verdict(LinkState.PAUSED, "", f"homi link resume {self._name}"))
            return
        self._wanted = True
        self.failures = 0
        if self.peering.dials:
            self._show(Verdict(LinkState.CONNECTING, ""))
            self._later(0.0)
        else:
            self._show(Verdict(LinkState.UNREACHABLE, WAITS))

    def stop(self, reason: str, text: str = "") -> None:
        """End it, and try no more."""
        self._wanted = False
        self._cancel()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            self._pipe = None  # it may never have been opened
        for exchange in (self._met, self.up):
            if exchange is not None:
                exchange.close(reason, text)
        self._met = self.up = None

    async def gone(self) -> None:
        """Return when the connection it dialled has ended."""
        if self._pipe is not None:
            await self._pipe.gone()

    def wake(self, *, person: bool = False) -> None:
        """Something may have changed: ask who is silent, dial who waits.

        Where a person has to do something first, only a person makes it try.  A try
        that is under way may meet what was before that: behind it comes another.
        """
        if self.up is not None:
            self.up.probe(PROBE)
        elif self.dialling:
            self._hurried = self._hurried or person
        elif self._timer is not None and (person or not self.verdict.slow):
            self._later(0.0)

    def met(self, exchange: Exchange) -> bool:
        """The other end of exchange is proven to be this device; whether it stays."""
        if not self._wanted:
            exchange.close(End.PAUSED, "paused there by a person")
            return False
        if exchange is self._met:
            self._met = None
        before = self.up
        if before is not None:
            if not keep_newer(self._standing(before), self._standing(exchange)):
                exchange.close(End.SUPERSEDED)
                return False
            self.up = exchange
            before.close(End.SUPERSEDED)
        self.up = exchange
        self._up_at = self._means.loop.time()
        self._cancel()
        if exchange.dialled and self._pipe is not None:
            self.said = self._pipe.words()
        self._hurried = False
        self._show(Verdict(LinkState.UP, ""))
        return True

    def ended(self, exchange: Exchange, reason: str, text: str) -> None:
        """An exchange of this device is over."""
        if exchange is self._met:
            self._met = None
            self._failed(self._judge(exchange, reason, text))
        elif exchange is self.up:
            self.up = None
            self._lost(exchange, reason, text)

    # ---- dialling ----

    def _later(self, delay: float) -> None:
        """Dial in so many seconds."""
        self._cancel()
        if not self._wanted or not self.peering.dials:
            return
        self.next_try = self._means.clock.wall() + delay
        self._timer = self._means.loop.call_later(delay, self._dial)

    def _cancel(self) -> None:
        """Plan no try."""
        self.next_try = 0.0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _dial(self) -> None:
        """Try now, unless it is up or a try is under way."""
        self._cancel()
        host = self.peering.host
        if self.up is not None or self.dialling or host is None:
            return
        self._pipe = None
        attempt = self._means.dial(host, self._make)
        self._task = self._means.loop.create_task(attempt)
        self._task.add_done_callback(self._dialled)

    def _make(self, pipe: Pipe) -> Exchange:
        """The exchange over pipe, which has just been opened."""
        self._pipe = pipe
        self._met = self._means.exchange(pipe, self.peering)
        return self._met

    def _dialled(self, task: "asyncio.Task[Pipe]") -> None:
        """A dial ended: with a pipe, over which the two must meet, or without."""
        if task is not self._task:
            return
        self._task = None
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Refusal):
            self._failed(error.verdict)
        elif error is not None:
            # A bug there is no reason to end the daemon, nor to stop trying.
            log.error("%s: the dial failed", self._name, exc_info=error)
            text = f"a bug of homi: {type(error).__name__}: {error}"
            self._failed(Verdict(LinkState.UNREACHABLE, text))
        elif self._met is None and self.up is None and self._timer is None:
            self._later(pause(self.state, self.failures, self._means.draw()))

    # ---- what it means ----

    def _failed(self, verdict: Verdict) -> None:
        """A try did not come to an exchange."""
        if self._pipe is not None:
            self.said = self._pipe.words()
        if self.up is not None:
            return  # the other end dialled meanwhile
        self.failures += 1
        self._plan(verdict)

    def _lost(self, exchange: Exchange, reason: str, text: str) -> None:
        """It was up and is not."""
        steady = self._means.loop.time() - self._up_at >= STEADY
        brief = not steady or reason == End.SUPERSEDED
        self.failures = self.failures + 1 if brief else 0
        verdict = self._judge(exchange, reason, text)
        if not self.peering.dials and not verdict.slow:
            verdict = Verdict(verdict.state, f"{WAITS}; {verdict.text}")
        elif not self.failures:
            verdict = Verdict(LinkState.CONNECTING, verdict.text)
        self._plan(verdict)

    def _plan(self, verdict: Verdict) -> None:
        """Show how it is, and try again in due time."""
        delay = pause(verdict.state, self.failures, self._means.draw())
        self._later(0.0 if self._hurried else delay)
        self._hurried = False
        self._show(verdict)

    def _judge(self, exchange: Exchange, reason: str, text: str) -> Verdict:
        """What the end of an exchange means; how the far command ended says most."""
        host = self.peering.host
        pipe = self._pipe if exchange.dialled else None
        if reason == End.CLOSED and pipe is not None and host is not None:
            found = pipe.verdict(host)
            if found is not None:
                return found
        return of_end(reason, text, host)

    def _show(self, verdict: Verdict) -> None:
        """Keep verdict; since when counts from the first of its state."""
        if verdict.state is not self.verdict.state or not self._told:
            self.since = self._means.clock.wall()
            level = logging.WARNING if verdict.slow else logging.INFO
            text = f" {verdict.text}" if verdict.text else ""
            log.log(level, "link %s %s%s", self._name, verdict.state, text)
        self._told = True
        self.verdict = verdict
        self._changed(self)

    @property
    def _name(self) -> str:
        """The device's name, for people."""
        return self.peering.device

    def _standing(self, exchange: Exchange) -> Standing:
        """What decides between two connections."""
        return Standing(exchange.dialled, self._means.public, self.peering.key)

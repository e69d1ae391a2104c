"""Probes of a link: kept durably on both ends, and answered behind that.

Owns what a probe is, on the end that asks and on the one that answers.
homi-link(1) says what it proves.
"""

import asyncio
import functools
import os
import secrets
from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from homi.clock import Clock
from homi.errors import HomiError, NotReached, StorageFailed
from homi.links.frames import Req, Res
from homi.store.disk import Disk
from homi.store.whole import write_whole

PROBES = 3
WITHIN = 10.0  # s for each: a disk that takes longer has a problem of its own
VERB = "probe"
FILE = "probe"  # in the state root: what was kept last


class Kept(msgspec.Struct, frozen=True):
    """The answer to a probe."""

    kept: bool = True


class Asks(Protocol):
    """What of an exchange is used here."""

    def ask(
        self,
        verb: str,
        fields: dict[str, object],
        answered: Callable[[Res | None], None],
    ) -> None:
        """Ask the other end."""
        ...


class Answers(Protocol):
    """What of an exchange is used here."""

    def reply(self, i: int, answer: msgspec.Struct | HomiError) -> None:
        """Answer the other end."""
        ...


class Found(NamedTuple):
    """What the probes of one check found."""

    ms: list[float]  # of each that was kept and answered
    text: str  # what went wrong with the last that was not


class Probes:
    """Keeps probes here, for our own checks and for those of others."""

    def __init__(self, root: str, disk: Disk, closed: Callable[[], str]) -> None:
        """closed: why the store takes nothing; empty while it does."""
        self._path = os.path.join(root, FILE)
        self._disk = disk
        self._closed = closed
        self._busy = False

    def asked(
        self, exchange: Answers, req: Req, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Keep one for the other end, then answer; one at a time."""

        def kept(error: HomiError | None) -> None:
            exchange.reply(req.i, Kept() if error is None else error)

        self.keep(loop, kept)

    def keep(
        self,
        loop: asyncio.AbstractEventLoop,
        done: Callable[[HomiError | None], None],
    ) -> None:
        """Write and sync one; done comes on the loop, with what kept it from that."""
        if self._busy:
            done(NotReached("another probe is on its way to the disk", reason="busy"))
            return
        if why := self._closed():
            done(StorageFailed(f"the store takes nothing: {why}", reason="disk"))
            return
        self._busy = True
        line = f"{secrets.token_hex(16)}\n".encode()
        task = loop.run_in_executor(
            None, functools.partial(write_whole, self._disk, self._path, line)
        )
        task.add_done_callback(lambda task: self._kept(task, done))

    def _kept(
        self,
        task: "asyncio.Future[None]",
        done: Callable[[HomiError | None], None],
    ) -> None:
        """The disk has it, or says why not."""
        self._busy = False
        error = None if task.cancelled() else task.exception()
        if isinstance(error, OSError):
            done(StorageFailed(f"the disk: {error.strerror}", reason="disk"))
        elif error is not None or task.cancelled():
            done(StorageFailed("the probe was not kept", reason="disk"))
        else:
            done(None)


class Check:
    """Three probes over one exchange, one behind the other."""

    def __init__(
        self,
        probes: Probes,
        exchange: Asks,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        done: Callable[[Found], None],
    ) -> None:
        """Begins at once; done is called once."""
        self._now = clock.monotonic  # the loop's own has milliseconds only
        self._probes = probes
        self._exchange = exchange
        self._loop = loop
        self._done = done
        self._ms: list[float] = []
        self._text = ""
        self._left = PROBES
        self._number = 0  # of the probe under way: a late answer belongs to none
        self._timer: asyncio.TimerHandle | None = None
        self._next()

    def _next(self) -> None:
        """The next probe, or the end."""
        if not self._left:
            self._done(Found(self._ms, self._text))
            return
        self._left -= 1
        self._number += 1
        number, began = self._number, self._now()
        self._timer = self._loop.call_later(WITHIN, self._late, number)
        self._probes.keep(self._loop, lambda error: self._here(number, began, error))

    def _here(self, number: int, began: float, error: HomiError | None) -> None:
        """It is kept on this end: ask the other."""
        if number != self._number:
            return
        if error is not None:
            self._settle(f"here: {error.text}")
            return
        self._exchange.ask(VERB, {}, lambda res: self._there(number, began, res))

    def _there(self, number: int, began: float, res: Res | None) -> None:
        """The other end answered, or never will."""
        if number != self._number:
            return
        if res is None:
            self._settle("the connection ended")
        elif res.error is not None:
            self._settle(f"there: {res.error.text}")
        else:
            self._ms.append(round((self._now() - began) * 1000, 3))
            self._settle("")

    def _late(self, number: int) -> None:
        """No answer in time."""
        if number == self._number:
            self._settle(f"no answer in {WITHIN:.0f} s")

    def _settle(self, text: str) -> None:
        """This one is decided; the next begins in a turn of its own."""
        self._text = text or self._text
        self._number += 1
        if self._timer is not None:
            self._timer.cancel()
        self._loop.call_soon(self._next)

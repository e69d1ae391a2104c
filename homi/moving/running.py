"""The tasks that names move in: one a name, which others join.

Owns that two never move one name at once, and that what runs can be ended; knows
nothing of the steps.  homi-move(1).
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, NamedTuple

from homi.address import Device, Name
from homi.errors import HomiError, NotReached
from homi.moved import MoveDone

log = logging.getLogger("homi.moving")


class Where(NamedTuple):
    """What a task does with a name."""

    device: Device
    to: Name
    fork: bool = False


class Running:
    """The tasks of one daemon."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._moves: dict[Name, tuple[Where, asyncio.Task[MoveDone]]] = {}
        self._others: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        """End each; what was begun stands in names.json."""
        for _, task in self._moves.values():
            task.cancel()
        for other in self._others:
            other.cancel()

    def moves(self, name: Name) -> bool:
        """Whether something is done with the name."""
        return name in self._moves

    def run(
        self, name: Name, where: Where, work: Coroutine[Any, Any, MoveDone]
    ) -> "asyncio.Task[MoveDone]":
        """The one task that does something with a name: work, or what is under way
        already; 75 where that is another thing."""
        if (known := self._moves.get(name)) is not None:
            work.close()
            if known[0] != where:
                device, to, fork = known[0]
                what = "being copied" if fork else "on its way"
                raise NotReached(
                    f"{name} is {what} to {to}@{device}",
                    hint="ask again when that is done",
                    reason="moving",
                )
            return known[1]
        task = asyncio.get_running_loop().create_task(work)
        self._moves[name] = where, task

        def over(task: "asyncio.Task[MoveDone]") -> None:
            self._moves.pop(name, None)
            error = None if task.cancelled() else task.exception()
            if error is not None:
                log.info("%s: the move is not at its end: %s", name, error)

        task.add_done_callback(over)
        return task

    async def halt(self, name: Name) -> None:
        """End what runs of a name, at whatever step."""
        if (known := self._moves.get(name)) is not None:
            known[1].cancel()
            await asyncio.wait([known[1]])

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do work in a task of its own."""
        task = asyncio.get_running_loop().create_task(work)
        self._others.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        """A HomiError was for nobody, anything else is a bug that is told."""
        self._others.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, HomiError):
            log.info("a step of a move waits: %s", error.text)
        elif error is not None:
            log.error("a step of a move failed", exc_info=error)


def result(name: Name, task: "asyncio.Task[MoveDone]") -> MoveDone:
    """What it came to; 75 where a person ended it."""
    if task.cancelled():
        raise NotReached(f"the move of {name} was ended", reason="moving")
    return task.result()

"""Who waits for mail or for a rung, and the moment to answer each.

Owns the waits of long verbs; a lost event costs a waiter time only, since each
check looks at the mailbox itself.  homi-protocol(7) has the verbs.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")
Key = TypeVar("Key")


class Waiter(Generic[Found]):
    """One wait: asked again at each event of its key until it is answered."""

    def __init__(
        self,
        check: Callable[[], Found | None],
        answer: Callable[[Found | None], None],
        ended: Callable[["Waiter[Found]"], None],
    ) -> None:
        """answer(None) means the time ran out; it is called once at the most."""
        self._check = check
        self._answer = answer
        self._ended = ended
        self._timer: asyncio.TimerHandle | None = None

    def start(self, timeout: float | None) -> bool:
        """Answer at once if check already has it; else wait; whether it waits."""
        found = self._check()
        if found is not None:
            self._answer(found)
            return False
        if timeout is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(timeout, 0.0), self._expire)
        return True

    def look(self) -> None:
        """Something moved: answer if this is it."""
        found = self._check()
        if found is not None:
            self.cancel()
            self._answer(found)

    def cancel(self) -> None:
        """Nobody waits any more."""
        if self._timer is not None:
            self._timer.cancel()
        self._ended(self)

    def _expire(self) -> None:
        self.cancel()
        self._answer(None)


class Watchers(Generic[Key]):
    """The waits of all connections, by what they wait for: a mailbox, a question."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._waiting: dict[Key, list[Waiter[Any]]] = {}

    def wait(
        self,
        key: Key,
        check: Callable[[], Found | None],
        answer: Callable[[Found | None], None],
        timeout: float | None,
    ) -> Waiter[Found] | None:
        """Answer when check finds something, asked again at each moved(key), or with
        None after timeout seconds.  None is returned when it was answered at once."""
        waiter = Waiter(check, answer, lambda ended: self._drop(key, ended))
        if not waiter.start(timeout):
            return None
        self._waiting.setdefault(key, []).append(waiter)
        return waiter

    def moved(self, key: Key, *_what: object) -> None:
        """Something came to what key names, or moved in it: whatever it was."""
        if waiting := self._waiting.get(key):  # nobody waits for most mail
            for waiter in list(waiting):
                waiter.look()

    def count(self) -> int:
        """How many wait."""
        return sum(len(waiting) for waiting in self._waiting.values())

    def _drop(self, key: Key, waiter: Waiter[Found]) -> None:
        waiting = self._waiting.get(key, [])
        if waiter in waiting:
            waiting.remove(waiter)
        if not waiting:
            self._waiting.pop(key, None)

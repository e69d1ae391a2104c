"""Work that blocks, done beside the loop.

Owns the way back onto it; what is left when the loop ends is told to nobody.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from homi.errors import Bug, HomiError

Found = TypeVar("Found")


class Beside(Protocol):
    """Has work done, and tells what came of it on the loop's thread."""

    def __call__(
        self, work: Callable[[], Found], told: Callable[[Found | HomiError], None]
    ) -> None:
        """Never raise for what work raises: it is told, or somebody waits for ever."""
        ...


def in_a_thread(
    work: Callable[[], Found], told: Callable[[Found | HomiError], None]
) -> None:
    """Have it done by a thread of the running loop's."""

    def back(future: asyncio.Future[Found]) -> None:
        if future.cancelled():
            return
        error = future.exception()
        if error is None:
            told(future.result())
        elif isinstance(error, HomiError):
            told(error)
        else:
            told(Bug(f"{type(error).__name__}: {error}"))
            raise error

    loop = asyncio.get_running_loop()
    loop.run_in_executor(None, work).add_done_callback(back)

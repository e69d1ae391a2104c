"""How far something long has got: one line on stderr that goes again.

Only a person at a terminal sees it, and only after a second.
"""

import sys
import time

QUIET = 1.0  # s: what takes less needs no word
STEP = 0.1  # s between two figures


class Progress:
    """Told how much of how much is done."""

    def __init__(self, what: str) -> None:
        """what: the thing that is done, as it stands before the figure."""
        self._what = what
        self._shown = 0.0
        self._began: float | None = None

    def __call__(self, done: int, total: int) -> None:
        """Show the share; nothing is left of it once all is done."""
        now = time.monotonic()
        if self._began is None or done >= total:
            self._end()
            self._began = now
        elif now - max(self._began + QUIET - STEP, self._shown) >= STEP:
            self._shown = now
            self._write(f"\rhomi: {self._what} {100 * done // total} %\x1b[K")

    def _end(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write("\r\x1b[K")
        self._shown = 0.0

    def _write(self, text: str) -> None:
        """To a person, if one is there."""
        if sys.stderr is not None and sys.stderr.isatty():
            sys.stderr.write(text)
            sys.stderr.flush()

"""Points at which a test may have the process killed.

Owns their names.  Nothing here runs in ordinary use: without HOMI_FAULT there is
no hook, and the store asks for none.
"""

import os
import signal
from collections.abc import Callable, Mapping

from homi.errors import BadConfig

Hook = Callable[[str], None]

VARIABLE = "HOMI_FAULT"

# In the order in which a history meets them.
COMMIT = (
    "before-ring",
    "after-ring-write",
    "after-ring-sync",
    "mid-lines",
    "after-lines",
    "before-answer",
    "evidence",
)
CHECKPOINT = (
    "checkpoint-swapped",
    "checkpoint-journal",
    "checkpoint-synced",
    "before-header",
    "header-write",
    "after-header",
)
RECOVERY = (
    "recover-scanned",
    "recover-rewrite",
    "recover-quarantined",
    "recover-cut",
    "recover-cut-synced",
    "recover-append",
    "recover-synced",
    "recover-dirs",
    "recover-header",
    "recover-done",
)
CLOSING = ("archive-made", "archive-inbox", "archive-ledger")
MOVING = (
    "move-begun",
    "move-packed",
    "move-copied",
    "move-claimed",
    "move-there",
    "move-forwarded",
    "move-left",
    "move-arrived",
    "move-history",
    "move-settled",
)
INDEXING = ("words-written", "words-indexed")
# Of a restart in place, in the old process and then in what it became.
RESTART = ("restart-checked", "restart-shut", "restart-ended", "restart-taken")
RUNS = ("run-planned", "run-begun", "run-ended", "run-answered")  # of a command
POINTS = frozenset(
    COMMIT + CHECKPOINT + RECOVERY + CLOSING + INDEXING + RESTART + RUNS + MOVING
)


class Kill:
    """Kill the own process with SIGKILL when one point is met for the nth time."""

    def __init__(self, point: str, count: int) -> None:
        """count: 1 is the first time."""
        self._point = point
        self._left = count

    def __call__(self, point: str) -> None:
        """Count it; die when it is the one."""
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def from_environment(environment: Mapping[str, str]) -> Hook | None:
    """The hook of HOMI_FAULT="point:count", None without it; 78 when it is wrong."""
    spec = environment.get(VARIABLE, "")
    if not spec:
        return None
    point, _, count = spec.partition(":")
    if point not in POINTS or not count.isdecimal() or int(count) < 1:
        raise BadConfig(f"{VARIABLE}={spec!r} is not point:count")
    return Kill(point, int(count))

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
    "move-older",
    "move-behind",
    "move-ordered",
)
INDEXING = ("words-written", "words-indexed")
# Of a restart in place, in the old process and then in what it became.
RESTART = ("restart-checked", "restart-shut", "restart-ended", "restart-taken")
RUNS = ("run-planned", "run-begun", "run-ended", "run-answered")  # of a command
POINTS = frozenset(
    COMMIT + CHECKPOINT + RECOVERY + CLOSING + INDEXING + RESTART + RUNS + MOVING
)

ENDS = {"": signal.SIGKILL, "stop": signal.SIGSTOP}


class Kill:
    """Kill the own process, or stop it, when one point is met for the nth time."""

    def __init__(
        self, point: str, count: int, number: signal.Signals = signal.SIGKILL
    ) -> None:
        """count: 1 is the first time."""
        self._point = point
        self._left = count
        self._number = number

    def __call__(self, point: str) -> None:
        """Count it; die, or stand still, when it is the one."""
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.environ.pop(VARIABLE, None)  # what it becomes in a restart goes on
                os.kill(os.getpid(), self._number)


def from_environment(environment: Mapping[str, str]) -> Hook | None:
    """The hook of HOMI_FAULT="point:count", None without it; 78 when it is wrong.
    With ":stop" behind it the process stands still there, until SIGCONT."""
    spec = environment.get(VARIABLE, "")
    if not spec:
        return None
    point, _, how = spec.partition(":")
    count, _, end = how.partition(":")
    known = point in POINTS and end in ENDS
    if not known or not count.isdecimal() or int(count) < 1:
        raise BadConfig(f"{VARIABLE}={spec!r} is not point:count")
    return Kill(point, int(count), ENDS[end])

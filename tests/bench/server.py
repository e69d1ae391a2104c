"""The daemon as the benchmark runs it; nothing else differs from `homi run`.

Quotas are lifted: a mailbox refuses at 10,000 pending envelopes, a fifth of a second
of this load.  HOMI_BENCH_SYNC: seconds by which each sync is longer.
HOMI_BENCH_PROFILE: a file for the profile of the loop between two SIGUSR2, or with
HOMI_BENCH_PROFILE_START=1 of the start, up to the first.
HOMI_BENCH_MODULES: a file for the names of what was imported, at the end.
"""

import cProfile
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

sync = os.fdatasync


def slow_sync(fd: int) -> None:
    """As on a disk that waits for its medium; the lock of Python is free meanwhile."""
    sync(fd)
    time.sleep(LONGER)


LONGER = float(os.environ.get("HOMI_BENCH_SYNC") or 0)
if LONGER:
    os.fdatasync = slow_sync

import homi.config  # noqa: E402 - the disk must be slow before the store knows it

homi.config.QUOTA_PENDING = homi.config.QUEUE_PENDING = 1 << 40
homi.config.QUOTA_BYTES = homi.config.QUEUE_BYTES = 1 << 60

from homi.cli import fast  # noqa: E402 - the quotas must be lifted before


def main() -> None:
    """Run the daemon in the foreground, as `homi run` does."""
    if target := os.environ.get("HOMI_BENCH_PROFILE"):
        window = Window(Path(target))
        signal.signal(signal.SIGUSR2, window.turn)
        if os.environ.get("HOMI_BENCH_PROFILE_START"):
            window.turn()
    _run()


class Window:
    """The profile of the loop between two signals: a start would hide a load."""

    def __init__(self, target: Path) -> None:
        """Nothing is profiled yet."""
        self._target = target
        self._profile: cProfile.Profile | None = None

    def turn(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Begin, or end and write; the file has its name once it is whole."""
        if self._profile is None:
            self._profile = cProfile.Profile()
            self._profile.enable()
            return
        self._profile.disable()
        part = self._target.with_suffix(".part")
        self._profile.dump_stats(part)
        part.replace(self._target)
        self._profile = None


def _run() -> None:
    sys.argv = ["homi", "run"]
    try:
        fast.main()
    except SystemExit as ended:
        print(f"ended with {ended.code}", file=sys.stderr)
    if listed := os.environ.get("HOMI_BENCH_MODULES"):
        found = sorted(set(sys.modules) - {"__main__", "cProfile"})
        Path(listed).write_text("\n".join(found))


if __name__ == "__main__":
    main()

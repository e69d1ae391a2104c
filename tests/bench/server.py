"""The daemon as the benchmark runs it; nothing else differs from `homi run`.

Quotas are lifted: a mailbox refuses at 10,000 pending envelopes, a fifth of a second
of this load.  HOMI_BENCH_SYNC: seconds by which each sync is longer.
HOMI_BENCH_PROFILE: a file for the profile of the loop.  HOMI_BENCH_MODULES: a file for
the names of what was imported, at the end.
"""

import cProfile
import os
import sys
import time
from pathlib import Path

sync = os.fdatasync


def slow_sync(fd: int) -> None:
    """As on a disk that waits for its medium; the lock of Python is free meanwhile."""
    sync(fd)
    time.sleep(LONGER)


LONGER = float(os.environ.get("HOMI_BENCH_SYNC") or 0)
if LONGER:
    os.fdatasync = slow_sync

import homi.config  # noqa: E402 - the disk must be slow before the store knows it

homi.config.QUOTA_PENDING = 1 << 40
homi.config.QUOTA_BYTES = 1 << 60

from homi.cli import fast  # noqa: E402 - the quotas must be lifted before


def main() -> None:
    """Run the daemon in the foreground, as `homi run` does."""
    target = os.environ.get("HOMI_BENCH_PROFILE")
    if not target:
        _run()
        return
    profile = cProfile.Profile()
    try:
        profile.runcall(_run)
    finally:
        profile.dump_stats(target)


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

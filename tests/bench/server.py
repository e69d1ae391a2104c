"""The daemon as the benchmark runs it: mailbox quotas lifted, on request profiled.

A mailbox refuses at 10,000 pending envelopes, a fifth of a second of this load.
Nothing else differs from `homi run`.
"""

import cProfile
import os
import pstats
import sys

import homi.config

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
        with open(target, "w", encoding="utf-8") as out:
            pstats.Stats(profile, stream=out).sort_stats("tottime").print_stats(35)


def _run() -> None:
    sys.argv = ["homi", "run"]
    try:
        fast.main()
    except SystemExit as ended:
        print(f"ended with {ended.code}", file=sys.stderr)


if __name__ == "__main__":
    main()

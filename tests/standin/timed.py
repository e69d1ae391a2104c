"""Run a command and measure it: python -I -S timed.py SECONDS ARG…

Prints a JSON line: status, seconds, peak resident KiB, bytes of its output, and the
last of its stderr.  A small process of its own, because what a child inherits of its
parent's peak counts as the child's.
"""

import json
import os
import signal
import sys
import tempfile
import time

TAIL = 500  # bytes of stderr


def main() -> None:
    """Run it, with its output in files that have no name; killed when it is late."""
    limit, argv = float(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.perf_counter()
        pid = os.posix_spawn(
            argv[0],
            argv,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, out.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, err.fileno(), 2),
            ],
        )
        signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, limit)
        _, status, used = os.wait4(pid, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        seen: dict[str, object] = {
            "status": os.waitstatus_to_exitcode(status),
            "seconds": time.perf_counter() - begun,
            "peak_kib": used.ru_maxrss,
            "out": out.seek(0, os.SEEK_END),
        }
        size = err.seek(0, os.SEEK_END)
        err.seek(max(0, size - TAIL))
        seen["err"] = err.read().decode(errors="replace")
    print(json.dumps(seen))


if __name__ == "__main__":
    main()

"""Become a live session of the agent client, then the program given: same pid.

  as_session.py SESSIONS PROGRAM ARG…

A native sender is a session; its mail costs the daemon one look at what it knows of
that session.  A sender that is none would be measured with a walk through /proc.
"""

import os
import sys
import time
from pathlib import Path

from tests.standin.registry import Record

NOTICE = 0.5  # s: the daemon knows of a new session within 0.3


def main() -> None:
    """Publish the record, give the daemon time to see it, exec."""
    sessions = Path(sys.argv[1])
    record = Record(sessions, sessions / "none.sock", f"sender-{os.getpid()}", "/")
    record.fields["sessionId"] = f"00000000-0000-4000-8000-{os.getpid():012}"
    record.publish()
    time.sleep(NOTICE)
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()

"""Many live sessions: python -m tests.bench.crowd COUNT, one process each.

Each has a record of its own pid and a socket that takes connections, as a session of
the agent client has; none takes turns.  Each writes a dot to stdout when it is there;
all end with the end of stdin.
"""

import contextlib
import os
import signal
import socket
import sys
from pathlib import Path

from tests.standin import registry


def live(number: int) -> None:
    """Be one session until killed."""
    sessions = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "sessions"
    path = registry.socket_folder(dict(os.environ)) / f"{os.getpid()}.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen(512)
        record = registry.Record(sessions, path, f"live{number:03d}", os.getcwd())
        record.fields["sessionId"] = f"00000000-0000-4000-9000-{number:012}"
        record.fields["status"] = "idle"
        record.publish()
        os.write(1, b".")
        while True:
            listener.accept()[0].close()


def main() -> None:
    """Fork them, wait until each has published itself, end them when told."""
    children: list[int] = []
    sessions = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "sessions"
    for folder in (registry.socket_folder(dict(os.environ)), sessions):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        for number in range(int(sys.argv[1])):
            if not (child := os.fork()):
                live(number)
            children.append(child)
        sys.stdin.buffer.read()
    finally:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


if __name__ == "__main__":
    main()

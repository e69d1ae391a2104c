"""homi for a shell: python -I -S shim.py DOOR ARG…

Asks the warm process that listens at DOOR to run the command with the streams, folder
and environment of this one, and ends as it does; where that process will not, because
something here must be there at the start, homi is started as anybody does.  A small
process: a shell starts many.
"""

import array
import json
import os
import signal
import socket
import sys

STREAMS = (0, 1, 2)
PROGRAM = os.path.abspath(__file__).rpartition("/tests/")[0] + "/homi/__main__.py"


def main() -> None:
    """Do as homi would."""
    door, argv = sys.argv[1], sys.argv[2:]
    status = asked(door, argv)
    if status is None:
        os.execv(sys.executable, [sys.executable, "-m", "homi", *argv])
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def asked(door: str, argv: list[str]) -> int | None:
    """The exit status by the warm process; None: not by that one."""
    if argv[:1] == ["run"]:  # who starts a daemon signals the process it started
        return None
    try:
        for stream in STREAMS:
            os.fstat(stream)
        wanted = json.dumps([[PROGRAM, *argv], dict(os.environ), os.getcwd(), False])
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        line.connect(door)
    except OSError:
        return None
    request = os.memfd_create("request")
    os.write(request, wanted.encode())
    os.lseek(request, 0, os.SEEK_SET)
    fds = array.array("i", [*STREAMS, request])
    line.sendmsg([b"run"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
    if not line.recv(16):
        return None
    return int(line.recv(16))


if __name__ == "__main__":
    main()

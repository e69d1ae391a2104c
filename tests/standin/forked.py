"""The process that has loaded all commands of homi, and forks for each: see warm.

Arguments: the descriptor of the door to the test, and that of the bell at which shells
ask (shim).
"""

import contextlib
import fcntl
import gc
import importlib
import io
import json
import os
import selectors
import socket
import sys
import termios
from typing import Any, TextIO

from tests.standin.warm import early

FAST = ("hooked", "question", "spool", "lines", "serve")
Request = tuple[list[str], dict[str, str], str, bool]


def load() -> None:
    """Import whatever a verb imports."""
    main = importlib.import_module("homi.cli.main")
    for name in sorted({*main.MODULES.values(), *FAST}):
        importlib.import_module(f"homi.cli.{name}")


class Server:
    """Forks for each request, until the test's own end of the door is closed."""

    def __init__(self, door: socket.socket, bell: socket.socket) -> None:
        """door: of the process that started us; at bell shells ask."""
        self._door = door
        self._bell = bell
        self._early = early(dict(os.environ))
        self._running: dict[int, tuple[int, socket.socket]] = {}  # pidfd → pid, who
        self._ready = selectors.DefaultSelector()
        for one in (door, bell):
            self._ready.register(one, selectors.EVENT_READ)

    def serve(self) -> list[str] | None:
        """In a child this returns the arguments, everything else being as wanted."""
        while True:
            for key, _ in self._ready.select():
                if key.fileobj is self._door:
                    data, fds, _, _ = socket.recv_fds(self._door, 16, 5)
                    if not data:
                        return None
                    asked = _asked(fds[4])
                elif key.fileobj is self._bell:
                    line, _ = self._bell.accept()
                    _, fds, _, _ = socket.recv_fds(line, 16, 4)
                    fds.insert(0, line.detach())
                    asked = _asked(fds[4])
                    if early(asked[1]) != self._early or _differs(asked[1]):
                        for fd in fds:
                            os.close(fd)
                        continue
                else:
                    self._ended(key.fd)
                    continue
                if self._forked(fds):
                    return _become(fds, asked)

    def _ended(self, watch: int) -> None:
        self._ready.unregister(watch)
        _told(*self._running.pop(watch))
        os.close(watch)

    def _forked(self, fds: list[int]) -> bool:
        """Whether this is the child; the parent tells the pid, and waits for it."""
        pid = os.fork()
        if pid == 0:
            self._ready.close()
            self._door.close()
            self._bell.close()
            for watch, (_, line) in self._running.items():
                os.close(watch)
                line.close()
            return True
        line = socket.socket(fileno=fds[0])
        with contextlib.suppress(OSError):
            line.send(b"%d" % pid)
        for fd in fds[1:]:
            os.close(fd)
        watch = os.pidfd_open(pid)
        self._running[watch] = (pid, line)
        self._ready.register(watch, selectors.EVENT_READ)
        return False


def _asked(fd: int) -> Request:
    """The request in that file."""
    with open(fd, "rb", closefd=False) as file:
        argv, env, cwd, terminal = json.load(file)
    return argv, env, cwd, terminal


def _differs(env: dict[str, str]) -> bool:
    """Whether other modules might be meant."""
    return env.get("PYTHONPATH") != os.environ["PYTHONPATH"]


def _told(pid: int, line: socket.socket) -> None:
    """Reap it and tell who waits; nobody may."""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with line, contextlib.suppress(OSError):
        line.send(b"%d" % status)


def _become(fds: list[int], asked: Request) -> list[str]:
    """Take streams, terminal, folder and environment of the request; its arguments."""
    line, stdin, stdout, stderr, file = fds
    os.close(line)
    os.close(file)
    argv, env, cwd, terminal = asked
    for at, fd in enumerate((stdin, stdout, stderr)):
        os.dup2(fd, at)
        os.close(fd)
    if terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.stdin = sys.__stdin__ = _stream(sys.stdin, "rb")
    sys.stdout = sys.__stdout__ = _stream(sys.stdout, "wb")
    sys.stderr = sys.__stderr__ = _stream(sys.stderr, "wb")
    return [str(word) for word in argv]


def _stream(old: TextIO, mode: str) -> io.TextIOWrapper:
    """A standard stream as the interpreter makes it at its start."""
    fd = old.fileno()
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED")) and mode == "wb"
    size = 0 if unbuffered else -1
    raw: Any = open(fd, mode, buffering=size, closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(
        raw,
        encoding=old.encoding,
        errors=old.errors,
        newline="\n",
        line_buffering=not unbuffered and (os.isatty(fd) or fd == 2),
        write_through=unbuffered,
    )


def main() -> None:
    """Serve; in a child, run the command it was forked for and end with its status.

    The end skips what the interpreter takes apart: that costs more than the command.
    """
    load()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page it looks at
    door, bell = (socket.socket(fileno=int(fd)) for fd in sys.argv[1:])
    door.send(b"ready")
    asked = Server(door, bell).serve()
    if asked is None:
        return
    sys.argv = asked
    try:
        importlib.import_module("homi.cli.fast").main()
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(ended.code or 0))


if __name__ == "__main__":
    main()

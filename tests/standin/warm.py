"""Commands of homi by a process that has loaded all of them already.

A test that runs a command mostly waits for Python to start and to import.  Here one
process a worker does that once and forks for each command: what runs is main() with
arguments, streams, folder, environment and terminal of its own, in a process of its
own.  Where that could differ from a start by exec, a command is not for it: see fits.
"""

import array
import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import io
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[2]
BEFORE = dict(os.environ)  # any test that is the first may have changed it for itself
# Read by homi whenever it wants to know; all others may matter to the interpreter at
# its start, or to whoever looks at a process from outside.
READ_LATE = {
    *("HOME", "PATH", "XDG_RUNTIME_DIR", "HOMI_HOME", "CLAUDE_CONFIG_DIR"),
    *("PYTHONPATH", "TERM", "NO_COLOR"),
}
AGENT = ("CLAUDE", "CODEX", "AI_AGENT", "HOMI_", "XDG_", "PYTEST_")
FAST = ("hooked", "question", "spool", "lines", "serve")
GIVEN_MAX = 32 << 10  # bytes that a pipe takes with nobody reading


def _early(env: dict[str, str]) -> dict[str, str]:
    """Of an environment, what counts at the start of a process."""
    return {key: value for key, value in env.items() if key not in READ_LATE}


class Warm:
    """The process with everything loaded."""

    def __init__(self) -> None:
        """Listening when this returns."""
        kept = {k: v for k, v in BEFORE.items() if not k.startswith(AGENT)}
        self.early = _early(kept)
        self._door = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours, theirs = self._door
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.standin.warm", str(theirs.fileno())],
            env=kept | {"PYTHONPATH": str(ROOT)},
            pass_fds=[theirs.fileno()],
            cwd=ROOT,
        )
        theirs.close()
        assert ours.recv(16) == b"ready"

    def start(
        self,
        argv: Sequence[str],
        streams: Sequence[int],
        env: dict[str, str],
        cwd: Path,
        *,
        terminal: bool = False,
    ) -> "Running":
        """Begin a command with these three streams, 0 being its terminal if so."""
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with theirs:
            wanted = [list(argv), env, str(cwd), terminal]
            fds = array.array("i", [theirs.fileno(), *streams])
            with memory(json.dumps(wanted).encode()) as request:
                fds.append(request.fileno())
                self._door[0].sendmsg(
                    [b"run"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]
                )
        return Running(ours)

    def close(self) -> None:
        """End it."""
        self._door[0].close()
        self._process.wait(15)


class Running:
    """One command: its end, or its death."""

    def __init__(self, line: socket.socket) -> None:
        """What tells of it, first of its pid."""
        self._line = line
        self.pid = int(line.recv(16))

    def wait(self, deadline: float) -> int:
        """Its exit status as Popen has it; TimeoutError behind the deadline."""
        self._line.settimeout(max(0.01, deadline - time.monotonic()))
        return int(self._line.recv(16))

    def close(self) -> None:
        """Forget it."""
        self._line.close()


def run(
    command: Sequence[str],
    given: bytes,
    env: dict[str, str],
    cwd: Path,
    timeout: float = 60,
) -> subprocess.CompletedProcess[bytes]:
    """As subprocess.run with pipes, by a warm process where one fits."""
    warm = fits(env)
    if warm is None or len(given) > GIVEN_MAX or not command[0].endswith("/homi"):
        return subprocess.run(
            command,
            input=given,
            capture_output=True,
            env=env,
            cwd=cwd,
            timeout=timeout,
            check=False,
        )
    stdin, to = os.pipe()
    os.write(to, given)
    os.close(to)
    out, stdout = os.pipe()
    return finish(warm, command, (stdin, stdout), out, env, cwd, timeout)


def finish(
    warm: Warm,
    command: Sequence[str],
    streams: tuple[int, int],
    out: int,
    env: dict[str, str],
    cwd: Path,
    timeout: float = 60,
    *,
    terminal: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end with that stdin and stdout, the latter read from out;
    all three are closed."""
    deadline = time.monotonic() + timeout
    err, stderr = os.pipe()
    running = warm.start(command, [*streams, stderr], env, cwd, terminal=terminal)
    for fd in {*streams, stderr}:
        os.close(fd)
    try:
        told = _read([out, err], deadline)
        status = running.wait(deadline)
    except TimeoutError:
        os.kill(running.pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(command, timeout) from None
    finally:
        running.close()
        os.close(out)
        os.close(err)
    return subprocess.CompletedProcess(command, status, *told)


def _read(pipes: Sequence[int], deadline: float) -> list[bytes]:
    """All that comes out of each of pipes until all are closed."""
    parts: dict[int, list[bytes]] = {fd: [] for fd in pipes}
    with selectors.DefaultSelector() as ready:
        for fd in pipes:
            ready.register(fd, selectors.EVENT_READ)
        while ready.get_map():
            found = ready.select(deadline - time.monotonic())
            if not found:
                raise TimeoutError
            for key, _ in found:
                data = b""
                with contextlib.suppress(OSError):  # a terminal nobody has open
                    data = os.read(key.fd, 1 << 16)
                if data:
                    parts[key.fd].append(data)
                else:
                    ready.unregister(key.fd)
    return [b"".join(parts[fd]) for fd in pipes]


def memory(data: bytes) -> io.FileIO:
    """A file without a name that holds data, to be read from its beginning."""
    made = io.FileIO(os.memfd_create("request"), "r+")
    made.write(data)
    made.seek(0)
    return made


@functools.cache
def _warm() -> Warm:
    made = Warm()
    atexit.register(made.close)
    return made


def fits(env: dict[str, str]) -> Warm | None:
    """Who runs a command with that environment; None: it must be started by exec,
    as must everything outside of a test."""
    if "PYTEST_CURRENT_TEST" not in os.environ or not hasattr(os, "pidfd_open"):
        return None
    warm = _warm()
    return warm if _early(env) == warm.early else None


# ---- the process itself ----


def load() -> None:
    """Import whatever a verb imports."""
    main = importlib.import_module("homi.cli.main")
    for name in sorted({*main.MODULES.values(), *FAST}):
        importlib.import_module(f"homi.cli.{name}")


def serve(door: socket.socket) -> list[str] | None:
    """Fork for each request until the other end is closed.

    In a child this returns the arguments, everything else being as wanted.
    """
    running: dict[int, tuple[int, socket.socket]] = {}  # pidfd → pid, who waits
    with selectors.DefaultSelector() as ready:
        ready.register(door, selectors.EVENT_READ)
        while True:
            for key, _ in ready.select():
                if key.fileobj is not door:
                    ready.unregister(key.fileobj)
                    _told(*running.pop(key.fd))
                    os.close(key.fd)
                    continue
                data, fds, _, _ = socket.recv_fds(door, 16, 5)
                if not data:
                    return None
                pid = os.fork()
                if pid == 0:
                    door.close()
                    for watch, (_, line) in running.items():
                        os.close(watch)
                        line.close()
                    return _become(*fds)
                line = socket.socket(fileno=fds[0])
                line.send(b"%d" % pid)
                for fd in fds[1:]:
                    os.close(fd)
                watch = os.pidfd_open(pid)
                running[watch] = (pid, line)
                ready.register(watch, selectors.EVENT_READ)


def _told(pid: int, line: socket.socket) -> None:
    """Reap it and tell who waits; nobody may."""
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with line, contextlib.suppress(OSError):
        line.send(b"%d" % status)


def _become(line: int, stdin: int, stdout: int, stderr: int, asked: int) -> list[str]:
    """Take streams, terminal, folder and environment of the request; its arguments."""
    os.close(line)
    with open(asked, "rb") as request:
        argv, env, cwd, terminal = json.load(request)
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
    door = socket.socket(fileno=int(sys.argv[1]))
    door.send(b"ready")
    asked = serve(door)
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

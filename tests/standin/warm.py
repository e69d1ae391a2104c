"""Commands of homi by a process that has loaded all of them already.

A test that runs a command mostly waits for Python to start and to import.  Here one
process a worker does that once and forks for each command: what runs is main() with
arguments, streams, folder, environment and terminal of its own, in a process of its
own.  Where that could differ from a start by exec, a command is not for it: see fits.
"""

import array
import atexit
import contextlib
import functools
import io
import json
import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEFORE = dict(os.environ)  # any test that is the first may have changed it for itself
# Read by homi whenever it wants to know; all others may matter to the interpreter at
# its start, or to whoever looks at a process from outside.
READ_LATE = {
    *("HOME", "PATH", "XDG_RUNTIME_DIR", "HOMI_HOME", "CLAUDE_CONFIG_DIR"),
    *("PYTHONPATH", "TERM", "NO_COLOR", "SSH_ORIGINAL_COMMAND"),
    *("_HOMI_COMPLETE", "COMP_WORDS", "COMP_CWORD"),
    *("PWD", "OLDPWD", "SHLVL", "_"),  # a shell's own
}
AGENT = ("CLAUDE", "CODEX", "AI_AGENT", "HOMI_", "XDG_", "PYTEST_")
MAIN = str(ROOT / "homi" / "__main__.py")
GIVEN_MAX = 32 << 10  # bytes that a pipe takes with nobody reading


def early(env: dict[str, str]) -> dict[str, str]:
    """Of an environment, what counts at the start of a process."""
    return {key: value for key, value in env.items() if key not in READ_LATE}


class Warm:
    """The process with everything loaded."""

    def __init__(self) -> None:
        """Listening when this returns."""
        kept = {k: v for k, v in BEFORE.items() if not k.startswith(AGENT)}
        self.early = early(kept)
        self.folder = Path(tempfile.mkdtemp(prefix="hm"))
        bell = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        bell.bind(str(self.folder / "bell"))
        bell.listen()
        self._door = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours, theirs = self._door
        fds = [theirs.fileno(), bell.fileno()]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.standin.forked", *map(str, fds)],
            env=kept | {"PYTHONPATH": str(ROOT)},
            pass_fds=fds,
            cwd=ROOT,
            start_new_session=True,  # whoever runs the tests at a terminal is not here
        )
        theirs.close()
        bell.close()
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
        shutil.rmtree(self.folder, ignore_errors=True)


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
    argv = _argv(command)
    if warm is None or len(given) > GIVEN_MAX or not argv:
        return subprocess.run(
            command,
            input=given,
            capture_output=True,
            env=env,
            cwd=cwd,
            timeout=timeout,
            check=False,
            start_new_session=True,
        )
    stdin, to = os.pipe()
    os.write(to, given)
    os.close(to)
    out, stdout = os.pipe()
    return finish(warm, argv, (stdin, stdout), out, env, cwd, timeout)


def _argv(command: Sequence[str]) -> list[str]:
    """What such a command finds in its sys.argv; empty: it is none of homi."""
    if list(command[1:3]) == ["-m", "homi"]:
        return [MAIN, *command[3:]]
    return list(command) if command[0].endswith("/homi") else []


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
    return warm if early(env) == warm.early else None


def program(env: dict[str, str]) -> str:
    """A script that is homi, for a shell with that environment."""
    words = [sys.executable, "-m", "homi"]
    if (warm := fits(env)) is not None:
        shim = Path(__file__).with_name("shim.py")
        words = [sys.executable, "-I", "-S", str(shim), str(warm.folder / "bell")]
    return f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'

"""Starts the supervisor of a run, and waits for its word that the command began.

Owns what a command inherits: little, so that no agent's marks and no secret come
along.  homi-command(1).
"""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from homi.commands.run import LOCK, Run
from homi.peers import process

SUPERVISOR = Path(__file__).with_name("supervisor.py")
PATIENCE = 15.0  # s until a supervisor has said its first word
STARTED = "started"
BASICS = (
    *("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ"),
    *("TMPDIR", "XDG_*", "SSH_AUTH_SOCK"),
)


class Unclear(Exception):
    """The supervisor said nothing: the command may begin yet."""


def environment(wanted: Iterable[str], path: str, root: str) -> dict[str, str]:
    """What a command inherits of this process: the basics, and what its template
    names."""
    given = dict(entry.partition("=")[::2] for entry in wanted if "=" in entry)
    kept = [*BASICS, *(entry for entry in wanted if "=" not in entry)]
    found = {
        name: value
        for name, value in os.environ.items()
        if any(fnmatchcase(name, pattern) for pattern in kept)
    }
    return {**found, **given, "PATH": path, "HOMI_HOME": root, "TERM": "dumb"}


def begin(run: Run, env: Mapping[str, str]) -> str:
    """Start it: empty once it began, else why it did not.  Blocks for a moment.

    Unclear where nothing was heard of it.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        lock = os.open(os.path.join(run.folder, LOCK), flags, 0o600)
    except OSError as error:
        return f"{run.folder}: {error.strerror}"
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever only looks is soon gone
        argv = [sys.executable, "-I", str(SUPERVISOR), run.folder, str(lock)]
        started = subprocess.Popen(
            argv,
            env=dict(env),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[lock],
            start_new_session=True,
        )
    except OSError as error:
        return f"{sys.executable}: {error.strerror}"
    finally:
        os.close(lock)
    with started:
        said = _word(started)
    if not said:
        raise Unclear
    return "" if said == STARTED else said


def end_orphan(run: Run) -> None:
    """End the group of a command whose supervisor is gone: nobody would read what it
    says, and the next run would come beside it."""
    begun = run.started
    if begun is None or not begun.start:
        return
    with contextlib.suppress(OSError):
        # Opened before the look, so that it is nobody else's.
        fd = process.open_pidfd(begun.pid)
        try:
            if process.alive(begun.pid, begun.start):
                os.killpg(begun.pid, signal.SIGKILL)
                if fd is not None:
                    _ready(fd)
        finally:
            if fd is not None:
                os.close(fd)


def _word(started: "subprocess.Popen[bytes]") -> str:
    """The one line a supervisor says; empty: none in time."""
    assert started.stdout is not None
    fd = started.stdout.fileno()
    return os.read(fd, 4096).decode("utf-8", "replace").strip() if _ready(fd) else ""


def _ready(fd: int) -> bool:
    """Whether it says something in time.  By poll: a daemon may have many files open,
    and select knows no number above 1023."""
    watched = select.poll()
    watched.register(fd, select.POLLIN)
    return bool(watched.poll(PATIENCE * 1000))

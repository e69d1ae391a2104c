"""What the system says about a process: start time, ancestors, terminal.

The only home of psutil.  On Linux /proc is read directly, since these calls stand
on the path of every connection.  A process may vanish between any two reads; that
is an answer, never an error.
"""

import os
import sys
import time
from pathlib import Path

import psutil

_LINUX = sys.platform.startswith("linux")
# Set by the agent clients for what they start (measured on Claude Code 2.1.332 and
# Codex): whoever carries one is not a person at a terminal.
AGENT_VARIABLES = (
    b"CLAUDECODE=",
    b"CLAUDE_PID=",
    b"CLAUDE_CODE_SESSION_ID=",
    b"CLAUDE_CODE_MESSAGING_SOCKET=",
    b"CODEX_THREAD_ID=",
    b"CODEX_SANDBOX=",
)
_DEPTH = 64  # ancestors looked at: a longer chain is a loop made by pid reuse
# Fields of /proc/<pid>/stat counted behind the name, which may hold blanks and
# parentheses (proc_pid_stat(5) counts from 1, the state is 3).
_STATE, _PPID, _TTY, _START = 0, 1, 4, 19
_DEAD = frozenset({b"Z", b"X", b"x"})


def start_time(pid: int) -> str | None:
    """When the process started, in the system's own text; None when none lives.

    A zombie has ended: only its parent has not noticed yet.
    """
    if pid <= 0:
        return None
    if _LINUX:
        fields = _stat(pid)
        if fields is None or fields[_STATE] in _DEAD:
            return None
        return fields[_START].decode("ascii")
    return _lstart(pid)


def alive(pid: int, start: str) -> bool:
    """Whether that very process lives: the pid, and not a later user of it."""
    return start_time(pid) == start


def ancestors(pid: int) -> list[int]:
    """pid and its parents upwards, as far as they can be read; pid always first."""
    chain = [pid]
    while len(chain) < _DEPTH:
        above = _parent(chain[-1])
        if above is None or above <= 0 or above in chain:
            break
        chain.append(above)
    return chain


def agent_variables(pid: int) -> bool | None:
    """Whether an agent client started it, by its environment; None: unreadable."""
    environ = _environ(pid)
    if environ is None:
        return None
    lines = environ.split(b"\0")
    return any(line.startswith(AGENT_VARIABLES) for line in lines)


def has_terminal(pid: int) -> bool:
    """Whether the process has a controlling terminal."""
    if _LINUX:
        fields = _stat(pid)
        return fields is not None and fields[_TTY] != b"0"
    try:
        return psutil.Process(pid).terminal() is not None
    except psutil.Error:
        return False


def pid_domain() -> str:
    """The pidDomain a session of this machine and pid namespace writes."""
    if not _LINUX:
        return "linux"
    try:
        machine = Path("/etc/machine-id").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        machine = ""
    return f"linux:{machine}:{os.readlink('/proc/self/ns/pid')}"


def open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when pid ends; None where there is none.

    ProcessLookupError when no such process exists.  Compare the start time after
    this call, not before: only then is it known whose end will be told.
    """
    if not hasattr(os, "pidfd_open"):
        return None
    return os.pidfd_open(pid)


def _stat(pid: int) -> list[bytes] | None:
    """The fields of /proc/<pid>/stat behind the name."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            data = file.read()
    except OSError:
        return None
    fields = data[data.rfind(b")") + 1 :].split()
    return fields if len(fields) > _START else None


def _parent(pid: int) -> int | None:
    """The parent's pid."""
    if _LINUX:
        fields = _stat(pid)
        return None if fields is None else int(fields[_PPID])
    try:
        return psutil.Process(pid).ppid()
    except psutil.Error:
        return None


def _environ(pid: int) -> bytes | None:
    """The environment the process was started with, NUL between variables."""
    if _LINUX:
        try:
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
                return file.readall()
        except OSError:
            return None
    try:
        found = psutil.Process(pid).environ()
    except psutil.Error:
        return None
    return b"\0".join(os.fsencode(f"{key}={value}") for key, value in found.items())


def _lstart(pid: int) -> str | None:
    """The text of `ps -o lstart=`, made without starting a process."""
    try:
        found = psutil.Process(pid)
        if found.status() == psutil.STATUS_ZOMBIE:
            return None
        return time.ctime(found.create_time())
    except psutil.Error:
        return None

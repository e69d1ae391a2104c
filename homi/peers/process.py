"""What the system says about a process: start time, ancestors, terminal.

Owns the questions; `proc` or `elsewhere` answers.  A process may vanish between any
two reads; that is an answer, never an error.
"""

import os
import sys
from pathlib import Path

if sys.platform.startswith("linux"):
    # These calls stand on the path of every connection, and of every command.
    from homi.peers import proc as system
else:
    from homi.peers import elsewhere as system

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


def start_time(pid: int) -> str | None:
    """When the process started, in the system's own text; None when none lives.

    A zombie has ended: only its parent has not noticed yet.
    """
    return system.start_time(pid) if pid > 0 else None


def alive(pid: int, start: str) -> bool:
    """Whether that very process lives: the pid, and not a later user of it."""
    return start_time(pid) == start


def ancestors(pid: int) -> list[int]:
    """pid and its parents upwards, as far as they can be read; pid always first."""
    chain = [pid]
    while len(chain) < _DEPTH:
        above = system.parent(chain[-1])
        if above is None or above <= 0 or above in chain:
            break
        chain.append(above)
    return chain


def agent_variables(pid: int) -> bool | None:
    """Whether an agent client started it, by its environment; None: unreadable."""
    environ = system.environ(pid)
    if environ is None:
        return None
    return any(line.startswith(AGENT_VARIABLES) for line in environ.split(b"\0"))


def has_terminal(pid: int) -> bool:
    """Whether the process has a controlling terminal."""
    return system.has_terminal(pid)


def arguments(pid: int) -> list[bytes]:
    """What it was started with, the program first; empty when it cannot be read."""
    return system.arguments(pid)


def pid_domain() -> str:
    """The pidDomain a session of this machine and pid namespace writes."""
    if not sys.platform.startswith("linux"):
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
    if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
        return None
    return os.pidfd_open(pid)

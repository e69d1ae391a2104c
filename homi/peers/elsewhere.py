"""What a system without /proc says about a process.

The only home of psutil, which takes too long to import for where /proc will do.
"""

import os
import time

import psutil


def start_time(pid: int) -> str | None:
    """The text of `ps -o lstart=`, made without starting a process; None when no
    such process lives."""
    try:
        found = psutil.Process(pid)
        if found.status() == psutil.STATUS_ZOMBIE:
            return None
        return time.ctime(found.create_time())
    except (psutil.Error, ValueError):
        return None


def parent(pid: int) -> int | None:
    """The parent's pid."""
    try:
        return psutil.Process(pid).ppid()
    except (psutil.Error, ValueError):
        return None


def has_terminal(pid: int) -> bool:
    """Whether the process has a controlling terminal."""
    try:
        return psutil.Process(pid).terminal() is not None
    except (psutil.Error, ValueError):
        return False


def environ(pid: int) -> bytes | None:
    """Its environment, NUL between variables; None when it cannot be read, as in the
    middle of an exec, when it reads as empty."""
    try:
        found = psutil.Process(pid).environ()
    except (psutil.Error, ValueError, OSError):
        return None
    lines = [os.fsencode(f"{key}={value}") for key, value in found.items()]
    return b"\0".join(lines) or None


def arguments(pid: int) -> list[bytes]:
    """What it was started with, the program first; empty when it cannot be read."""
    try:
        return [os.fsencode(word) for word in psutil.Process(pid).cmdline()]
    except (psutil.Error, ValueError, OSError):
        return []

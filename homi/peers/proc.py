"""What /proc says about a process (proc_pid_stat(5)).

The same four questions as `elsewhere`; each read stands alone, for a process may
vanish between two of them.
"""

# Fields of /proc/<pid>/stat counted behind the name, which may hold blanks and
# parentheses (the page counts from 1, the state is 3).
_STATE, _PPID, _TTY, _START = 0, 1, 4, 19
_DEAD = frozenset({b"Z", b"X", b"x"})


def start_time(pid: int) -> str | None:
    """Field 22 as text; None when no such process lives, a zombie included."""
    fields = _stat(pid)
    if fields is None or fields[_STATE] in _DEAD:
        return None
    return fields[_START].decode("ascii")


def parent(pid: int) -> int | None:
    """The parent's pid."""
    fields = _stat(pid)
    return None if fields is None else int(fields[_PPID])


def has_terminal(pid: int) -> bool:
    """Whether the process has a controlling terminal."""
    fields = _stat(pid)
    return fields is not None and fields[_TTY] != b"0"


def environ(pid: int) -> bytes | None:
    """The environment it was started with, NUL between variables; None when it
    cannot be read, as in the middle of an exec, when it reads as empty."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            return file.readall() or None
    except OSError:
        return None


def arguments(pid: int) -> list[bytes]:
    """What it was started with, the program first; empty when it cannot be read."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            return file.readall().split(b"\0")[:-1]
    except OSError:
        return []


def _stat(pid: int) -> list[bytes] | None:
    """The fields of /proc/<pid>/stat behind the name."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            data = file.read()
    except OSError:
        return None
    fields = data[data.rfind(b")") + 1 :].split()
    return fields if len(fields) > _START else None

"""The process that runs one command and writes down how it ended.

Started as a file of its own, so standard library only.  It outlives the daemon, and
nobody waits for it: its lock says that it lives, its files say the rest.
homi-command(1) lists them.
"""

import contextlib
import errno
import json
import os
import re
import selectors
import signal
import sys
import time
from typing import Any

OUT_MAX, ERR_MAX = 16 << 20, 1 << 20  # bytes kept of each
CHUNK = 1 << 16
AGAIN, TRIES = 5.0, 17_280  # s between two tries to keep an end; a day of them
SEARCHED, PATIENCE = 65_536, 1.0  # bytes of its last words that are searched, and s
GRACE = 5.0  # s between asking a group to end and ending it
LAST = 1.0  # s for what is still in the pipes of a command that is gone


class Supervisor:
    """One command under watch."""

    def __init__(self, folder: str) -> None:
        """Read what is to be started; nothing is started yet."""
        self._folder = folder
        with open(os.path.join(folder, "plan.json"), "rb") as found:
            self._plan: dict[str, Any] = json.load(found)
        self._template: dict[str, Any] = self._plan["template"]
        self._kept: dict[int, tuple[int, int]] = {}  # by pipe: file, room left
        self._out = -1  # the pipe of its standard output
        self._selector = selectors.DefaultSelector()
        self._pid = 0
        self._status = 0
        self._stopped = False
        self._timed_out = False
        self._cut = False

    def run(self) -> None:
        """All of it; returns when the end stands in its file."""
        wake = self._signals()
        go, failed = self._fork()
        self._write("started.json", self._started())
        os.write(go, b"g")
        os.close(go)
        error = os.read(failed, CHUNK).decode("utf-8", "replace")
        os.close(failed)
        if error:
            os.waitpid(self._pid, 0)
            self._write("end.json", {"at": time.time(), "failed": error})
        _tell(error or "started")
        if error:
            return
        self._follow(wake)
        self._close(self._end())

    def _started(self) -> dict[str, object]:
        start = start_time(self._pid)
        return {"pid": self._pid, "start": start, "supervisor": os.getpid()}

    def _signals(self) -> int:
        """Have the end of a child, and any wish to end, wake the wait."""
        wake, woken = os.pipe()
        for fd in (wake, woken):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        return wake

    def _stop(self, *_: object) -> None:
        self._stopped = True

    def _fork(self) -> tuple[int, int]:
        """The command, waiting for its go; what to write that to, and where it says
        why it did not begin."""
        gate, go = os.pipe()
        failed, failing = os.pipe()
        pipes = []
        for name, room in (("out", OUT_MAX), ("err", ERR_MAX)):
            reads, writes = os.pipe()
            file = os.open(self._path(name), os.O_WRONLY | os.O_CREAT, 0o600)
            os.set_blocking(reads, False)
            self._kept[reads] = (file, room)
            self._selector.register(reads, selectors.EVENT_READ)
            pipes.append(writes)
        self._out = next(iter(self._kept))
        self._pid = os.fork()
        if self._pid == 0:
            os.close(go)
            os.close(failed)
            self._become(gate, failing, pipes)
        for fd in (gate, failing, *pipes):
            os.close(fd)
        return go, failed

    def _become(self, gate: int, failing: int, pipes: list[int]) -> None:
        """In the child: be the command, once that is written down."""
        try:
            os.setsid()
            given = self._path("letter") if self._given() else os.devnull
            source = os.open(given, os.O_RDONLY)
            for number, fd in enumerate((source, *pipes)):
                os.dup2(fd, number)
            if os.read(gate, 1) != b"g":
                os._exit(127)  # whoever should have written it down is gone
            signal.set_wakeup_fd(-1)
            for each in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM):
                signal.signal(each, signal.SIG_DFL)
            os.chdir(self._plan["cwd"])
            argv = self._plan["argv"]
            os.execve(argv[0], argv, os.environ)
        except OSError as error:
            what = error.filename or self._plan["argv"][0]
            os.write(failing, f"{what}: {error.strerror}".encode())
        finally:
            os._exit(127)

    def _given(self) -> bool:
        return bool(self._template.get("stdin", True))

    def _follow(self, wake: int) -> None:
        """Keep what it says until it ends, or its time does."""
        self._selector.register(wake, selectors.EVENT_READ)
        ends = time.monotonic() + float(self._template.get("timeout_s", 3600.0))
        asked = 0.0  # when the group was asked to end
        while not self._over():
            now = time.monotonic()
            if not asked and (self._stopped or now >= ends):
                self._timed_out = not self._stopped
                self._signal(signal.SIGTERM)
                asked = now
            elif asked and now >= asked + GRACE:
                self._signal(signal.SIGKILL)
                asked = now
            due = asked + GRACE if asked else ends
            for key, _ in self._selector.select(max(due - now, 0.0)):
                if key.fd == wake:
                    with contextlib.suppress(BlockingIOError):
                        os.read(wake, CHUNK)
                else:
                    self._keep(key.fd)
        self._selector.unregister(wake)
        # It is a zombie still, so that its group is nobody else's.
        self._signal(signal.SIGTERM)
        self._drain()
        self._signal(signal.SIGKILL)

    def _over(self) -> bool:
        """Whether the command itself is gone; where the system can, not yet reaped."""
        if hasattr(os, "waitid"):
            what = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._pid, what) is not None
        pid, self._status = os.waitpid(self._pid, os.WNOHANG)
        return pid != 0

    def _signal(self, number: int) -> None:
        """To the whole group of the command."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)

    def _keep(self, pipe: int) -> bool:
        """Write down what came; False at the end of it."""
        try:
            data = os.read(pipe, CHUNK)
        except BlockingIOError:
            return True
        if not data:
            self._selector.unregister(pipe)
            return False
        file, room = self._kept[pipe]
        kept = 0
        with contextlib.suppress(OSError):  # a full disk takes no run's end away
            kept = os.write(file, data[:room])
        # Behind a gap nothing is kept: it would be taken for the whole.
        self._kept[pipe] = (file, room - kept if kept == len(data) else 0)
        if kept < len(data) and pipe == self._out:
            self._cut = True
        return True

    def _drain(self) -> None:
        """The rest of what it said, and of what its children do."""
        ends = time.monotonic() + LAST
        pipes = set(self._kept) & set(self._selector.get_map())
        while pipes and (left := ends - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                if key.fd in pipes and not self._keep(key.fd):
                    pipes.discard(key.fd)
            pipes &= set(self._selector.get_map())

    def _end(self) -> dict[str, object]:
        """How it ended, what it said being safe."""
        status = self._status
        if hasattr(os, "waitid"):
            _, status = os.waitpid(self._pid, 0)
        for file, _ in self._kept.values():
            with contextlib.suppress(OSError):
                os.fsync(file)
        told: dict[str, object] = {"at": time.time()}
        if os.WIFSIGNALED(status):
            told["signal"] = os.WTERMSIG(status)
        else:
            told["status"] = os.WEXITSTATUS(status)
            if status and self._busy():
                told["busy"] = True
        for key in ("timed_out", "stopped", "cut"):
            if getattr(self, f"_{key}"):
                told[key] = True
        return told

    def _busy(self) -> bool:
        """Whether it said that it did nothing.  Whoever wrote the pattern may have
        written one that takes for ever: it has a second, and it is nobody else's."""
        pattern = self._template.get("busy_match")
        if not pattern:
            return False
        with open(self._path("err"), "rb") as file:
            file.seek(-min(SEARCHED, os.fstat(file.fileno()).st_size), os.SEEK_END)
            said = file.read().decode("utf-8", "replace")
        signal.signal(signal.SIGALRM, _late)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        try:
            return re.search(pattern, said) is not None
        except TimeoutError:
            return False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _close(self, end: dict[str, object]) -> None:
        """Write its end down, also where the disk takes nothing for a while."""
        for _ in range(TRIES):
            try:
                self._write("end.json", end)
            except FileNotFoundError:
                return  # nobody has that run any more
            except OSError:
                if self._stopped:
                    return
                time.sleep(AGAIN)
            else:
                return

    def _write(self, name: str, value: dict[str, object]) -> None:
        """One file, durable when this returns."""
        hidden = self._path(f".{name}.tmp")
        fd = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            data = json.dumps(value).encode()
            if os.write(fd, data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(hidden, self._path(name))
        folder = os.open(self._folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)


def _late(*_: object) -> None:
    """A signal of the timer, also amid a search."""
    raise TimeoutError


def start_time(pid: int) -> str:
    """When a process began, as the kernel counts it; empty where nobody says."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as found:
            return found.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def _tell(text: str) -> None:
    """Say it to whoever started this, if that still lives."""
    with contextlib.suppress(OSError):
        os.write(1, text.encode() + b"\n")
    os.dup2(2, 1)


def main() -> None:
    """Be the supervisor of the run in that folder, as nobody's child.

    The lock is held from before the start on, and by no command.
    """
    folder, lock = sys.argv[1:]
    os.set_inheritable(int(lock), False)
    if os.fork():
        os._exit(0)
    Supervisor(folder).run()


if __name__ == "__main__":
    main()

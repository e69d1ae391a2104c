"""A thread that no app server of ours has: who writes it, and the client's own queue.

Owns what `codex queue` can do: it keeps a text for whoever has the thread, says no more
than that, and takes no id.  homi-codex(1).
"""

import asyncio
import contextlib
import os
import signal

from homi.codex.thread import Lost, Unreachable, plain
from homi.peers import process

LOCKS = "thread-writer-locks"
LIMIT = 20.0  # s for the command
SAID_MAX = 4096  # bytes of what it says


def writer(home: str, thread: str) -> int:
    """The pid that has the thread loaded; 0 where none has, or nobody can say."""
    try:
        found = os.stat(os.path.join(home, LOCKS, f"{thread}.lock"))
        with open("/proc/locks", encoding="ascii", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return 0
    device = found.st_dev
    place = f"{os.major(device):02x}:{os.minor(device):02x}:{found.st_ino}"
    for line in lines:
        words = line.split()
        if len(words) > 5 and words[1] == "FLOCK" and words[5] == place:
            return int(words[4]) if words[4].isdecimal() else 0
    return 0


def takes_mail(pid: int) -> bool:
    """Whether who has the thread is at it for longer than one turn: what is queued for
    a `codex exec` is thrown away as that ends."""
    return pid > 0 and b"exec" not in process.arguments(pid)


async def queue(program: str, home: str, thread: str, text: str) -> None:
    """Have the client keep text for the thread.

    Unreachable where it did not, Lost where it did not end: nobody knows then.
    """
    argv = [program or "codex", "queue", "--thread", thread, f"--message={text}"]
    try:
        child = await asyncio.create_subprocess_exec(
            *argv,
            env=os.environ | {"CODEX_HOME": home},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise Unreachable(argv[0], error.strerror or str(error)) from None
    try:
        async with asyncio.timeout(LIMIT):
            said, _ = await child.communicate()
    except TimeoutError:
        raise Lost("queue", f"no end in {LIMIT:g} s") from None
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.wait()
    if child.returncode:
        told = plain(said[-SAID_MAX:].decode("utf-8", "replace"))
        raise Unreachable(argv[0], told or f"exit status {child.returncode}")

"""Whether somebody answers at a socket, as the agent clients ask it themselves.

A probe connects and closes; no byte is sent, so that no session takes a turn for
it.  homi-ls(1) says what is measured.
"""

import os
import socket
import stat
import time
from collections.abc import Callable, Iterable

import msgspec

LIMIT = 0.25  # s for one and for all of them: what the clients allow one
AGAIN = 0.005  # s until a socket whose queue was full is tried once more


class Probe(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was measured at one socket; answers is None where nothing was."""

    answers: bool | None
    ms: float = 0.0  # from the try to the answer
    why: str = ""  # what stood in the way


def probe(
    paths: Iterable[str], *, now: Callable[[], float] = time.monotonic
) -> dict[str, Probe]:
    """Each path with its answer, all within LIMIT or so.

    A unix socket takes a connection at once or not at all, so that a thousand can be
    asked one after the other: each is closed before the next is opened, and none
    holds a place that a sender needs.  A full queue is tried until the time is over.
    """
    found: dict[str, Probe] = {}
    left = list(dict.fromkeys(path for path in paths if path))
    begun = now()
    while left:
        full: list[str] = []
        for path in left:
            if now() - begun > LIMIT:
                found.setdefault(path, Probe(None, why="there was no time to ask"))
            elif (answer := _try(path, now)).answers is None:
                full.append(path)
                found[path] = Probe(False, LIMIT * 1000, "its queue is full")
            else:
                found[path] = answer
        left = full if now() - begun < LIMIT else []
        if left:
            time.sleep(AGAIN)
    return found


def _try(path: str, now: Callable[[], float]) -> Probe:
    """One try; answers None: ask again."""
    if why := _unfit(path):
        return Probe(False, why=why)
    begun = now()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.setblocking(False)
            sock.connect(path)
    except BlockingIOError:
        return Probe(None)
    except OSError as error:
        return Probe(False, why=(error.strerror or str(error)).lower())
    return Probe(True, round((now() - begun) * 1000, 3))


def _unfit(path: str) -> str:
    """Why path is nothing to connect to; empty where it is a socket of this user."""
    try:
        found = os.lstat(path)
    except OSError as error:
        return (error.strerror or str(error)).lower()
    except ValueError:
        return "no path that a file can have"
    if not stat.S_ISSOCK(found.st_mode):
        return "no socket"
    return "" if found.st_uid == os.getuid() else "not this user's"

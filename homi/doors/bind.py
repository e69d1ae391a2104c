"""Binding a private unix socket: no window, no stranger's file touched.

Owns the checks of the folder, the probe of what stands at the path and the mode
of the new file.  Knows nothing of who connects.  homi-protocol(7) has the rules.
"""

import contextlib
import errno
import os
import socket
import stat
import sys
from pathlib import Path

from homi.errors import CannotCreate
from homi.peers.credentials import peer_credentials
from homi.shell import quoted
from homi.store.whole import aside_by_hand

BACKLOG = 512  # keeps names listed while the loop is busy: the kernel takes probes

Identity = tuple[int, int]  # device and inode of a socket file


def bind_private(path: str) -> socket.socket:
    """A listening socket at path, 0600 from its first moment, close-on-exec.

    A dead socket of ours at that place is removed; whatever else stands there
    is left alone and is a CannotCreate (73).
    """
    clear(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)
    try:
        _bind(sock, path)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise CannotCreate(f"cannot bind {path}: {error.strerror}") from error
    return sock


def identity(path: str) -> Identity | None:
    """Which file stands at path, not followed; None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def unlink_own(path: str, own: Identity | None) -> None:
    """Remove the socket file, unless another one has taken its place."""
    if own is not None and identity(path) == own:
        with contextlib.suppress(OSError):
            os.unlink(path)


def answers(path: str) -> bool:
    """Whether someone listens at path; one connect, which the kernel answers."""
    return listener(path) is not None


def listener(path: str) -> int | None:
    """The pid of who listens at path, 0 where it cannot be told; None: nobody."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            outcome = probe.connect_ex(path)
        except OSError:
            return None  # too long a path to bind
        if outcome == 0:
            return peer_credentials(probe)[0]
        # A full backlog belongs to a listener too.
        return 0 if outcome == errno.EAGAIN else None


def _bind(sock: socket.socket, path: str) -> None:
    """Bind so that the file is 0600 when it appears."""
    if sys.platform.startswith("linux"):
        # The file gets the mode of the socket itself.  The umask is the process's:
        # a folder that another thread makes under it would lack its x for good.
        os.fchmod(sock.fileno(), 0o600)
        sock.bind(path)
        return
    before = os.umask(0o177)
    try:
        sock.bind(path)
    finally:
        os.umask(before)


def clear(path: str) -> None:
    """Make room at path by removing a dead socket of ours; 73 for anything else."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise CannotCreate(f"cannot look at {path}: {error.strerror}") from error
    if not stat.S_ISSOCK(found.st_mode) or found.st_uid != os.getuid():
        raise CannotCreate(
            f"{path} is in the way and is no socket of ours",
            hint=aside_by_hand(path),
        )
    if answers(path):
        raise CannotCreate(
            f"another process listens on {path}",
            hint=f"ss -xlp | grep -F {quoted(path)}",
        )
    try:
        os.unlink(path)
    except OSError as error:
        raise CannotCreate(f"cannot remove {path}: {error.strerror}") from error


def refuse_another(path: Path) -> None:
    """Refuse (73) where a daemon answers, before the store is touched: its lock file
    may have been removed, and then the lock stops nobody."""
    pid = listener(os.fspath(path))
    if pid is not None and pid != os.getpid():  # our own, inherited, waits for us
        raise CannotCreate(
            f"a daemon with pid {pid or 'unknown'} listens at {path}",
            hint="homi status shows it, homi stop ends it",
        )

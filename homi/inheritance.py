"""What a daemon leaves to the homi that takes its place in the same process.

Owns how listening sockets, waiting senders and the lock pass over an execve, and
what is checked before any of it is believed.  Knows nothing of who connects.
homid(8) has the steps.
"""

import contextlib
import fcntl
import logging
import os
import socket
import stat
import tempfile
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import BinaryIO, NoReturn

import msgspec

log = logging.getLogger("homi.restart")

VARIABLE = "HOMI_INHERITS"  # the descriptor of the estate; never for a child
# Set by whoever starts a daemon and leaves it; never for a child.
UNATTENDED = "HOMI_UNATTENDED"
VERSION = 1
Identity = tuple[int, int]  # device and inode of a socket file


class Bound(msgspec.Struct, frozen=True):
    """A listening socket."""

    fd: int
    path: str
    file: Identity
    line: bool = False  # it stands for nobody: receipts alone come there


class Sender(msgspec.Struct, frozen=True):
    """A connection that was accepted, and is not done."""

    fd: int
    number: int  # of the socket where it came in
    line: bytes = b""  # what was read of a line whose end is still in the kernel
    doomed: bool = False  # it ended in mid-line: a close now would look like success


class Estate(msgspec.Struct):
    """All of it, as it is written down for the successor."""

    pid: int
    v: int = VERSION
    lock: int = -1
    sockets: list[Bound] = []
    senders: list[Sender] = []
    ready: int = -1  # whoever stands by is told there that every door is open
    unattended: bool = False  # nobody would start it anew


class Bequest:
    """The estate of a daemon that is about to be replaced, while it is collected."""

    def __init__(self) -> None:
        """Nothing is left yet."""
        self._estate = Estate(os.getpid())

    def listener(self, sock: socket.socket, path: str, *, line: bool) -> None:
        """Leave a listening socket: whoever connects meanwhile waits in its backlog."""
        found = _identity(path)
        fd = sock.detach()
        if found is None:
            os.close(fd)  # nobody finds it any more
            return
        self._estate.sockets.append(Bound(fd, path, found, line))

    def sender(
        self, sock: socket.socket, number: int, line: bytes, *, doomed: bool
    ) -> None:
        """Leave a connection with what was read of its line."""
        self._estate.senders.append(Sender(sock.detach(), number, line, doomed))

    def lock(self, fd: int) -> None:
        """Leave the lock of the state root: nobody gets in between."""
        self._estate.lock = fd

    def watched(self, fd: int) -> None:
        """Nobody would start it anew; who stands by is told by fd how the start went,
        and with -1 nobody does."""
        self._estate.ready, self._estate.unattended = fd, True

    def kept(self, amiss: str) -> "Inherited":
        """All of it for this process: another had it meanwhile and ended, amiss says
        how.  What it read of a line is lost with it, so no sender goes on."""
        estate = self._estate
        estate.unattended = True
        for bound in estate.sockets:
            listening = socket.socket(fileno=bound.fd)
            # Until then it would show a process that is dead.
            listening.listen()
            listening.detach()
        estate.senders = [
            Sender(each.fd, each.number, doomed=True) for each in estate.senders
        ]
        return Inherited(estate, amiss)

    def hand_over(
        self, argv: Sequence[str], environment: Mapping[str, str]
    ) -> NoReturn:
        """Become argv; OSError where that cannot be, and all is still here."""
        with _anonymous() as will:
            will.write(msgspec.msgpack.encode(self._estate))
            will.flush()
            fds = [will.fileno(), *self._fds()]
            for fd in fds:
                os.set_inheritable(fd, True)
            try:
                more = {VARIABLE: str(will.fileno())}
                os.execve(argv[0], list(argv), {**environment, **more})
            finally:
                for fd in fds:
                    os.set_inheritable(fd, False)

    def discard(self) -> None:
        """Nobody takes it: close all, remove the socket files."""
        for bound in self._estate.sockets:
            if _identity(bound.path) == bound.file:
                with contextlib.suppress(OSError):
                    os.unlink(bound.path)
        for fd in self._fds():
            os.close(fd)
        self._estate = Estate(os.getpid())

    def _fds(self) -> list[int]:
        """Every descriptor of it."""
        estate = self._estate
        own = [fd for fd in (estate.lock, estate.ready) if fd >= 0]
        return [*own, *_descriptors(estate)]


class Inherited:
    """What this process has from the homi it was before; nothing, at a first start."""

    def __init__(self, estate: Estate | None = None, amiss: str = "") -> None:
        """Nothing of it is believed before it is asked for.  amiss: why there is
        nothing, where there should be."""
        self.any = estate is not None
        self.unattended = estate is not None and estate.unattended
        self._amiss = amiss
        self._lock = estate.lock if estate else -1
        self._sockets = {each.path: each for each in estate.sockets} if estate else {}
        self._senders = estate.senders if estate else []
        self._ready = estate.ready if estate else -1

    def tell(self) -> None:
        """Log what was amiss: it was found before there was a log."""
        if self._amiss:
            log.warning("%s", self._amiss)

    def lock(self, path: str) -> int | None:
        """The descriptor of the lock file at path, locked; None: take it anew."""
        fd, self._lock = self._lock, -1
        if fd < 0:
            return None
        try:
            there, here = os.stat(path, follow_symlinks=False), os.fstat(fd)
            if not os.path.samestat(there, here):
                raise OSError("it is another file")
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            log.warning("the lock did not pass over: %s", error)
            _close(fd)
            return None
        return fd

    def listener(self, path: str, backlog: int) -> socket.socket | None:
        """The socket that listens at path, listening again as this process's own;
        None: bind it anew."""
        bound = self._sockets.pop(path, None)
        if bound is None:
            return None
        try:
            sock = socket.socket(fileno=bound.fd)
        except OSError as error:
            log.warning("socket %s did not pass over: %s", path, error)
            return None
        try:
            if sock.getsockname() != path or _identity(path) != bound.file:
                raise OSError("it is not the one that stands there")
            sock.setblocking(False)
            # Until then it would show the process that made it listen.
            sock.listen(backlog)
        except OSError as error:
            log.warning("socket %s did not pass over: %s", path, error)
            sock.close()
            return None
        return sock

    def lines(self) -> list[str]:
        """The paths of the sockets where receipts alone come."""
        return [path for path, each in self._sockets.items() if each.line]

    def senders(self, take: Callable[[socket.socket, Sender], None]) -> None:
        """Give each connection that is still one to take."""
        senders, self._senders = self._senders, []
        for sender in senders:
            try:
                sock = socket.socket(fileno=sender.fd)
            except OSError as error:
                log.warning("a sender did not pass over: %s", error)
                continue
            sock.setblocking(False)
            take(sock, sender)

    def close(self) -> None:
        """Every door is open: give up what nobody asked for."""
        for bound in self._sockets.values():
            log.info("socket %s is not needed any more", bound.path)
            _close(bound.fd)
            if _identity(bound.path) == bound.file:
                with contextlib.suppress(OSError):
                    os.unlink(bound.path)
        for fd in [each.fd for each in self._senders] + [self._lock]:
            _close(fd)
        self._sockets, self._senders, self._lock = {}, [], -1
        if self._ready >= 0:
            with contextlib.suppress(OSError):
                os.write(self._ready, b"\n")
        _close(self._ready)
        self._ready = -1


def inherited(environment: MutableMapping[str, str]) -> Inherited:
    """What the environment says that this process has; nothing where it says nothing.
    What cannot be read is given up whole, and the start is then a first one: this
    comes before anything is opened here, for every descriptor is closed then."""
    unattended = bool(environment.pop(UNATTENDED, ""))
    text = environment.pop(VARIABLE, "")
    if not text:
        first = Inherited()
        first.unattended = unattended
        return first
    try:
        if (fd := int(text)) <= 2:
            raise ValueError(f"descriptor {fd}")
        with open(fd, "rb") as will:
            will.seek(0)
            estate = msgspec.msgpack.decode(will.read(), type=Estate)
        if estate.v != VERSION or estate.pid != os.getpid():
            raise ValueError(f"version {estate.v} of process {estate.pid}")
    except (OSError, ValueError, OverflowError) as error:
        _close_all()
        amiss = f"nothing passed over, all is begun anew: {error}"
        return Inherited(amiss=amiss)
    for fd in [estate.lock, estate.ready, *_descriptors(estate)]:
        with contextlib.suppress(OSError, ValueError):
            os.set_inheritable(fd, False)
    return Inherited(estate)


def _descriptors(estate: Estate) -> list[int]:
    """Those of its sockets."""
    listening = [each.fd for each in estate.sockets]
    return listening + [each.fd for each in estate.senders]


def _identity(path: str) -> Identity | None:
    """Which socket stands at path; None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISSOCK(found.st_mode) else None


def _anonymous() -> BinaryIO:
    """A file without a name: it takes no disk where the system has such."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("homi"), "w+b")
    return tempfile.TemporaryFile()


def _close(fd: int) -> None:
    """Close it, if it is open."""
    if fd >= 0:
        with contextlib.suppress(OSError):
            os.close(fd)


def _close_all() -> None:
    """Close whatever was passed on, whichever it is: a socket that listens unknown to
    us would keep its path from being bound."""
    for name in os.listdir("/dev/fd"):
        if int(name) > 2:
            _close(int(name))

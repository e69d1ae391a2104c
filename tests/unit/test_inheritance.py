"""What passes over a restart, and what is not believed of it."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from homi.doors.entrance import Listener
from homi.inheritance import VARIABLE, Bound, Estate, Inherited, Sender, inherited
from homi.store.lock import LOCK, Lock


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[tuple[socket.socket, Bound]]:
    """A listening socket, and how it is left."""
    path = str(tmp_path / "1.sock")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
        sock.listen()
        found = os.lstat(path)
        fd = os.dup(sock.fileno())
        yield sock, Bound(fd, path, (found.st_dev, found.st_ino))


def test_a_socket_passes_over_with_those_that_wait_at_it(
    listening: tuple[socket.socket, Bound],
) -> None:
    """Who connected in between is served by the new one."""
    _, bound = listening
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(bound.path)
        taken = Inherited(Estate(os.getpid(), sockets=[bound])).listener(bound.path, 8)
        assert taken is not None
        with taken:
            taken.accept()[0].close()


def test_a_socket_tells_that_callers_wait_until_the_next_one_has_it(
    listening: tuple[socket.socket, Bound], tmp_path: Path
) -> None:
    """By the mode of its own file, and of no other's that took its place."""
    _, bound = listening
    listener = Listener(0, str(tmp_path / "2.sock"), Inherited())
    modes = [os.lstat(listener.path).st_mode & 0o777]
    listener.mark()
    modes.append(os.lstat(listener.path).st_mode & 0o777)
    os.unlink(listener.path)
    Path(listener.path).touch()
    os.chmod(listener.path, 0o640)
    listener.mark()
    modes.append(os.lstat(listener.path).st_mode & 0o777)
    listener.sock.close()
    assert modes == [0o600, 0o700, 0o640]
    os.chmod(bound.path, 0o700)
    heritage = Inherited(Estate(os.getpid(), sockets=[bound]))
    Listener(0, bound.path, heritage).sock.close()
    assert os.lstat(bound.path).st_mode & 0o777 == 0o600


def test_a_socket_whose_file_is_another_is_bound_anew(
    listening: tuple[socket.socket, Bound],
) -> None:
    """Nobody would find the old one."""
    _, bound = listening
    os.unlink(bound.path)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(bound.path)
        heritage = Inherited(Estate(os.getpid(), sockets=[bound]))
        assert heritage.listener(bound.path, 8) is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(bound.fd)


def test_a_descriptor_that_is_no_socket_is_not_believed(tmp_path: Path) -> None:
    """The rest of the estate is."""
    fd = os.open(tmp_path, os.O_RDONLY)
    estate = Estate(os.getpid(), sockets=[Bound(fd, "/nowhere", (0, 0))])
    assert Inherited(estate).listener("/nowhere", 8) is None
    os.close(fd)


def test_what_nobody_asks_for_is_given_up_with_its_file(
    listening: tuple[socket.socket, Bound],
) -> None:
    """A name that was released meanwhile leaves no socket that never answers."""
    _, bound = listening
    ends = socket.socketpair()
    sender = Sender(ends[0].detach(), 1, b"half")
    heritage = Inherited(Estate(os.getpid(), sockets=[bound], senders=[sender]))
    heritage.close()
    assert not os.path.exists(bound.path)
    assert ends[1].recv(1) == b""
    ends[1].close()


def test_a_lock_passes_over_without_a_gap(tmp_path: Path) -> None:
    """And its file is proof: another one there is locked anew."""
    fd = Lock(str(tmp_path)).leave()
    passed = Lock(str(tmp_path), Inherited(Estate(os.getpid(), lock=fd)))
    assert passed.leave() == fd
    (tmp_path / LOCK).unlink()
    fresh = Lock(str(tmp_path), Inherited(Estate(os.getpid(), lock=fd)))
    assert os.fstat(fresh.leave()).st_ino == (tmp_path / LOCK).stat().st_ino
    fresh.release()


def test_a_process_without_an_estate_begins_anew() -> None:
    """The positive control is test_restart."""
    assert not inherited({}).any


@pytest.mark.parametrize("fault", ["version", "process", "damage"])
def test_an_estate_that_cannot_be_read_is_given_up_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """A socket that listens unknown to us would keep its path from being bound."""
    closed: list[None] = []
    monkeypatch.setattr("homi.inheritance._close_all", lambda: closed.append(None))
    estate = Estate(os.getpid() + (fault == "process"), 1 + (fault == "version"))
    data = msgspec.msgpack.encode(estate)
    (tmp_path / "will").write_bytes(data[:3] if fault == "damage" else data)
    environment = {VARIABLE: str(os.open(tmp_path / "will", os.O_RDONLY))}
    assert not inherited(environment).any
    assert closed
    assert not environment, "no child is told"

"""Probes: what answers, what does not and why, and that all ends in time."""

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.peers.probe import LIMIT, probe


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="hp") as made:
        yield Path(made)


def listening(path: Path, backlog: int = 8) -> socket.socket:
    """A socket that nobody accepts from."""
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen(backlog)
    return sock


def test_a_listening_socket_answers_and_sees_no_byte(folder: Path) -> None:
    """The kernel's word is enough, and no session takes a turn for it."""
    with listening(folder / "s") as sock:
        found = probe([str(folder / "s")])[str(folder / "s")]
        assert (found.answers, found.why) == (True, "")
        assert 0 <= found.ms < LIMIT * 1000
        taken, _ = sock.accept()
        with taken:
            assert taken.recv(10) == b""


def test_what_is_no_listening_socket_is_said_to_be_silent_with_its_reason(
    folder: Path,
) -> None:
    """A person must see what to look at."""
    dead = listening(folder / "dead")
    dead.close()
    (folder / "file").write_text("x")
    alive = listening(folder / "alive")
    (folder / "link").symlink_to(folder / "alive")
    names = ["dead", "file", "link", "gone", "n" * 300, "nul\0"]
    found = probe(str(folder / name) for name in names)
    alive.close()
    assert {Path(path).name[:5]: one.why for path, one in found.items()} == {
        "dead": "connection refused",
        "file": "no socket",
        "link": "no socket",
        "gone": "no such file or directory",
        "nnnnn": "file name too long",
        "nul\0": "no path that a file can have",
    }
    assert not any(one.answers for one in found.values())


def test_a_full_queue_is_waited_for_and_then_told(folder: Path) -> None:
    """It is alive and behind: neither an answer nor a dead socket."""
    path = str(folder / "full")
    with listening(folder / "full", backlog=0), socket.socket(socket.AF_UNIX) as first:
        first.connect(path)
        found = probe([path])[path]
    assert (found.answers, found.why) == (False, "its queue is full")


def test_what_there_was_no_time_for_is_not_called_silent(folder: Path) -> None:
    """Only what was measured is said."""
    times = iter([0.0, LIMIT / 2, 0.0, 0.0, *[LIMIT * 2] * 10])
    with listening(folder / "a"), listening(folder / "b"):
        found = probe([str(folder / "a"), str(folder / "b")], now=lambda: next(times))
    assert [one.answers for one in found.values()] == [True, None]


def test_an_empty_path_is_asked_for_nothing() -> None:
    """A session without a socket is not a socket that fails."""
    assert probe(["", ""]) == {}

"""What is asked again where a daemon restarts, and what never is."""

import json
import socket
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from homi.dial import PROTOCOL, Absent, Dial, Lost, NotDone
from homi.errors import Unavailable

HELLO = b'{"i":0,"ok":{"v":%d}}\n' % PROTOCOL
DONE = b'{"i":1,"ok":{"text":"done"}}\n'
LEFT = b'{"i":1,"error":{"code":"not-reached","text":"-","reason":"restart"}}\n'
ASK = b'{"verb":"x","i":1}\n'
UNREAD = b"unread"  # the connection is closed over what the caller wrote


class Daemon:
    """Says its lines, one for each that it reads, connection by connection."""

    def __init__(self, path: Path, *connections: Sequence[bytes]) -> None:
        self.asked: list[str] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, args=(connections,))
        self._thread.start()

    def _serve(self, connections: Sequence[Sequence[bytes]]) -> None:
        for answers in connections:
            sock, _ = self._listener.accept()
            with sock, sock.makefile("rb", buffering=0) as lines:
                for answer in answers:
                    if answer == UNREAD:
                        sock.recv(1, socket.MSG_PEEK)
                        break
                    asked = lines.readline()
                    self.asked.append(json.loads(asked)["verb"] if asked else "")
                    sock.sendall(answer)

    def end(self) -> None:
        self._thread.join(60)
        self._listener.close()
        assert not self._thread.is_alive()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the daemon listens."""
    return tmp_path / "s"


def test_a_hello_that_a_restart_cut_off_is_said_again(path: Path) -> None:
    """Nothing was asked yet, so nothing can be done twice."""
    daemon = Daemon(path, [b""], [HELLO, DONE])
    with Dial(str(path), 5) as dial:
        assert dial.ask(ASK) == {"text": "done"}
    daemon.end()
    assert daemon.asked == ["hello", "hello", "x"]


@pytest.mark.parametrize("cut", [LEFT, UNREAD])
def test_a_request_that_was_left_alone_is_asked_again(path: Path, cut: bytes) -> None:
    """Whatever it would change: the daemon said so, or did not even read it."""
    daemon = Daemon(path, [HELLO, cut], [HELLO, DONE])
    with Dial(str(path), 5) as dial:
        assert dial.ask(ASK) == {"text": "done"}
    daemon.end()


def test_a_request_that_may_be_done_is_asked_again_only_if_it_looks(path: Path) -> None:
    """A name would be released twice, and the second time be no name."""
    daemon = Daemon(path, [HELLO, b""], [HELLO, b""], [HELLO, DONE])
    with Dial(str(path), 5) as dial, pytest.raises(Lost):
        dial.ask(ASK)
    with Dial(str(path), 5) as dial:
        assert dial.ask(ASK, looks=True) == {"text": "done"}
    daemon.end()
    assert daemon.asked.count("x") == 3


def test_a_daemon_that_never_does_it_is_not_asked_for_ever(path: Path) -> None:
    """Two restarts behind each other are waited out, and no more."""
    daemon = Daemon(path, *[[HELLO, LEFT]] * 3)
    with Dial(str(path), 5) as dial, pytest.raises(Lost):
        dial.ask(ASK)
    daemon.end()
    assert daemon.asked.count("x") == 3


@pytest.mark.parametrize(
    ("looks", "cut", "told"), [(True, b"", Absent), (False, LEFT, NotDone)]
)
def test_where_no_daemon_follows_only_a_look_is_told_that_none_is_there(
    path: Path, cut: bytes, told: type[Unavailable], *, looks: bool
) -> None:
    """A look can go to the files; who asked for a change waits for the daemon."""
    daemon = Daemon(path, [HELLO, cut])
    with Dial(str(path), 5) as dial:
        path.unlink()
        with pytest.raises(told):
            dial.ask(ASK, looks=looks)
    daemon.end()

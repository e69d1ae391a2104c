"""Binding private sockets: modes, folders, what stands in the way."""

import os
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.doors.bind import answers, bind_private, identity, listener, unlink_own
from homi.errors import BadConfig, CannotCreate
from homi.peers.sockets import make_socket_folder


@pytest.fixture
def loose_umask() -> Iterator[None]:
    """The umask of a careless caller."""
    before = os.umask(0)
    yield
    assert os.umask(before) == 0


@pytest.mark.usefixtures("loose_umask")
def test_socket_is_private_whatever_the_umask(root: Path) -> None:
    """From its first moment: nobody may get in between bind and chmod."""
    folder = make_socket_folder(os.fspath(root / "deep" / "cc-socks"))
    with bind_private(f"{folder}/1.sock") as sock:
        mode = os.lstat(f"{folder}/1.sock").st_mode
        assert stat.S_IMODE(mode) == 0o600
        assert stat.S_IMODE(os.lstat(folder).st_mode) == 0o700
        assert not sock.get_inheritable()
        assert not sock.getblocking()


def test_mode_is_never_wider_even_for_a_moment(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looked at in the very call that makes the file."""
    modes = []

    class Watched(socket.socket):
        def bind(self, address: object) -> None:
            super().bind(address)
            modes.append(stat.S_IMODE(os.lstat(str(address)).st_mode))

    monkeypatch.setattr(socket, "socket", Watched)
    bind_private(f"{root}/1.sock").close()
    assert modes == [0o600]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the mode of a socket")
def test_the_umask_of_the_process_is_left_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread may make a mailbox's folder in that very moment."""
    asked: list[int] = []
    monkeypatch.setattr(os, "umask", asked.append)
    bind_private(f"{root}/1.sock").close()
    assert asked == []


@pytest.mark.parametrize("fault", ["link", "mode", "owner", "file"])
def test_folder_others_could_reach_is_refused(root: Path, fault: str) -> None:
    """Before anything is bound in it; the sound folder is the control."""
    folder = root / "cc-socks"
    make_socket_folder(os.fspath(folder))
    if fault == "link":
        folder.rename(root / "real")
        folder.symlink_to(root / "real")
    elif fault == "mode":
        folder.chmod(0o777)
    elif fault == "file":
        folder.rmdir()
        folder.touch()
    elif os.getuid() == 0:
        os.chown(folder, 4242, 4242)
    else:
        pytest.skip("only root can give a folder away")
    with pytest.raises(BadConfig) as caught:
        make_socket_folder(os.fspath(folder))
    assert caught.value.exit_status == os.EX_CONFIG
    assert str(folder) in caught.value.text


def test_dead_socket_of_ours_is_replaced(root: Path) -> None:
    """What a killed daemon left must not keep the next one out."""
    path = f"{root}/1.sock"
    bind_private(path).close()
    assert not answers(path)
    with bind_private(path):
        assert answers(path)


def test_live_listener_of_another_is_left_alone(root: Path) -> None:
    """Whoever answers there keeps its socket, also with a full backlog."""
    path = f"{root}/1.sock"
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(path)
        foreign.listen(0)
        before = identity(path)
        for _ in range(2):
            with pytest.raises(CannotCreate, match="another process"):
                bind_private(path)
        with socket.socket(socket.AF_UNIX) as waiting:
            waiting.setblocking(False)
            waiting.connect_ex(path)
            with pytest.raises(CannotCreate, match="another process"):
                bind_private(path)
        assert identity(path) == before


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_other_file_in_the_way_is_left_alone(root: Path, kind: str) -> None:
    """Only a socket may be taken for a leftover of ours."""
    path = root / "1.sock"
    target = root / "precious"
    target.write_text("kept")
    if kind == "file":
        path.write_text("kept")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(target)
    with pytest.raises(CannotCreate) as caught:
        bind_private(os.fspath(path))
    assert caught.value.exit_status == os.EX_CANTCREAT
    assert path.is_symlink() if kind == "link" else path.exists()
    assert target.read_text() == "kept"


def test_only_the_own_file_is_unlinked(root: Path) -> None:
    """Another one may have taken its place."""
    path = f"{root}/1.sock"
    with bind_private(path):
        own = identity(path)
        os.rename(path, f"{root}/2.sock")
        with bind_private(path):
            unlink_own(path, own)
            assert answers(path)
            unlink_own(path, identity(path))
            assert not os.path.lexists(path)


def test_a_listener_is_named_by_its_pid(tmp_path: Path) -> None:
    """Whoever is asked to go away must be findable."""
    path = str(tmp_path / "s")
    assert listener(path) is None
    with bind_private(path):
        assert listener(path) == os.getpid()
    assert listener(path) is None
    assert listener(f"{tmp_path}/{'x' * 200}") is None

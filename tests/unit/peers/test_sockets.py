"""Where peer sockets go."""

import os
from pathlib import Path

import pytest

from homi.errors import BadConfig, CannotCreate
from homi.peers import sockets


def test_the_folder_of_the_live_sessions_wins_over_the_environment() -> None:
    """The daemon's environment may differ from the sessions'."""
    live = [
        "/run/a/cc-socks/1.sock",
        "/run/b/cc-socks/2.sock",
        "/run/b/cc-socks/3.sock",
    ]
    env = {"XDG_RUNTIME_DIR": "/run/c"}
    assert sockets.socket_folder(live, env) == "/run/b/cc-socks"
    assert sockets.socket_folder([], env) == "/run/c/cc-socks"


def test_a_socket_of_ones_own_choosing_is_no_hint() -> None:
    """--messaging-socket-path may be anywhere; receipts do not go there for us."""
    live = ["/elsewhere/1.sock", "/run/b/cc-socks/mine.sock"]
    assert sockets.socket_folder(live, {}) == "/tmp/cc-socks"


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_RUNTIME_DIR": "/r", "TMPDIR": "/t"}, "/r/cc-socks"),
        ({"CLAUDE_CODE_TMPDIR": "/c", "TMPDIR": "/t"}, "/c/cc-socks"),
        ({"TMPDIR": "/t/"}, "/t/cc-socks"),
        ({"XDG_RUNTIME_DIR": ""}, "/tmp/cc-socks"),
    ],
)
def test_the_environment_is_read_in_the_clients_order(
    environ: dict[str, str], folder: str
) -> None:
    """Another folder than the sessions' loses receipts."""
    assert sockets.socket_folder((), environ) == folder


@pytest.mark.parametrize("letter", ["d", "é"])
def test_a_deep_folder_falls_back_by_bytes_not_characters(letter: str) -> None:
    """bind would cut or refuse the path; é is two bytes."""
    width = len(letter.encode())
    room = sockets.PATH_MAX - len("/" + "/cc-socks/" + "9" * 12 + ".sock")
    fits = "/" + letter * (room // width)
    over = fits + letter * (1 + room % width)
    assert sockets.socket_folder((), {"TMPDIR": fits}) == f"{fits}/cc-socks"
    fallback = f"/tmp/cc-socks-{os.getuid()}"
    assert sockets.socket_folder((), {"TMPDIR": over}) == fallback
    longest = 9 * 10**11 - 1
    assert len(os.fsencode(sockets.socket_path(fits + "/cc-socks", longest))) <= 103
    with pytest.raises(CannotCreate, match="bytes, the limit is 103"):
        sockets.socket_path(over + "/cc-socks", longest)


def test_folders_are_made_private_under_any_umask(tmp_path: Path) -> None:
    """umask 000 must not open them, umask 777 not lock us out."""
    for umask in (0o000, 0o777):
        folder = tmp_path / f"{umask:o}" / "run" / "cc-socks"
        old = os.umask(umask)
        try:
            if umask == 0o000:
                sockets.make_socket_folder(str(folder))
            else:
                folder = tmp_path / "plain"
                sockets.private_folder(str(folder))
        finally:
            os.umask(old)
        for each in (folder, *folder.parents):
            if each == tmp_path:
                break
            assert each.stat().st_mode & 0o7777 == 0o700


def test_a_link_a_file_and_an_open_folder_are_refused(tmp_path: Path) -> None:
    """Another user could put a socket or a key there."""
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    assert sockets.private_folder(str(real)) == str(real)
    link = tmp_path / "link"
    link.symlink_to(real)
    with pytest.raises(BadConfig, match="symbolic link"):
        sockets.private_folder(str(link))
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(BadConfig, match="not a directory"):
        sockets.private_folder(str(file))
    real.chmod(0o777)
    with pytest.raises(BadConfig, match="mode 0777") as caught:
        sockets.private_folder(str(real))
    assert caught.value.exit_status == 78
    assert caught.value.hint == f"chmod 700 {real}"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    """Whoever owns it can replace what is in it."""
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, -1)
    with pytest.raises(BadConfig, match="belongs to uid 12345"):
        sockets.private_folder(str(folder))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_where_another_user_has_the_folder_ours_is_where_the_clients_go(
    tmp_path: Path,
) -> None:
    """Two users of one machine without XDG_RUNTIME_DIR meet in /tmp."""
    folder = tmp_path / "cc-socks"
    folder.mkdir(mode=0o700)
    environ = {"TMPDIR": str(tmp_path)}
    assert sockets.socket_folder((), environ) == str(folder)
    os.chown(folder, 12345, -1)
    assert sockets.socket_folder((), environ) == f"/tmp/cc-socks-{os.getuid()}"

"""Submissions left while the daemon was down."""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from homi.envelope import Msg, encode
from homi.errors import BadConfig, BadMessage, StorageFailed
from homi.store import pickup
from homi.store.lines import Unreadable
from homi.store.pickup import Spooled
from tests.unit.store.lines_kit import AT, message


def spooled(number: int, text: str = "hello") -> Spooled:
    msg = Msg(id=message(number), from_="bob", to="ada", text=text)
    return Spooled(at=AT, caller="person", uid=7, pid=9, msg=msgspec.Raw(encode(msg)))


def texts(root: Path) -> list[str]:
    """The texts waiting, in order; unreadable ones as '?'."""
    return [
        "?"
        if isinstance(what, Unreadable)
        else msgspec.json.decode(what.msg, type=Msg).text
        for _, what in pickup.scan(root)
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def test_what_was_left_is_found_and_goes_after_it_was_taken(root: Path) -> None:
    """The file is the promise until the commit; then it is done with."""
    path = pickup.write(root, spooled(1))
    assert path == root / "pickup" / f"{message(1)}.json"
    ((found, what),) = pickup.scan(root)
    assert (found, what) == (path, spooled(1))
    pickup.done(path)
    pickup.done(path)
    assert pickup.scan(root) == []


def test_nothing_was_left(root: Path) -> None:
    """No daemon yet, no folder yet."""
    assert pickup.scan(root) == []


def test_order_is_the_order_of_leaving(root: Path) -> None:
    """A lane keeps its order through pickup; ids made of keys do not sort."""
    for place, number in enumerate((5, 3, 9, 1)):
        path = pickup.write(root, spooled(number, f"text {place}"))
        os.utime(path, ns=(place, place))
    assert texts(root) == ["text 0", "text 1", "text 2", "text 3"]


def test_bytes_of_msg_come_back_as_they_were(root: Path) -> None:
    """Unknown fields and odd separators are the sender's own."""
    msg = b'{"id":"%b","from":"b","to":"a","text":"\xe2\x80\xa8\xc2\x85","z":[1.50]}'
    raw = msg % message(1).encode()
    pickup.write(root, Spooled(at=AT, caller="x", uid=1, pid=1, msg=msgspec.Raw(raw)))
    ((_, what),) = pickup.scan(root)
    assert isinstance(what, Spooled)
    assert bytes(what.msg) == raw


def test_same_message_again_is_the_same_file(root: Path) -> None:
    """A client that lost its answer tries again with the same id."""
    assert pickup.write(root, spooled(1)) == pickup.write(root, spooled(1))
    assert texts(root) == ["hello"]


def test_another_message_under_the_id_replaces_nothing(root: Path) -> None:
    """The first was promised; the second is told no (65)."""
    pickup.write(root, spooled(1))
    with pytest.raises(BadMessage, match="another message"):
        pickup.write(root, spooled(1, "other"))
    assert texts(root) == ["hello"]
    assert len(os.listdir(root / "pickup")) == 1


@pytest.mark.parametrize(
    "msg", [b"{}", b'{"id":7}', b'{"id":"../../x"}', b'{"id":"a\\u0000b"}', b"["]
)
def test_id_that_is_no_id_names_no_file(root: Path, msg: bytes) -> None:
    """The name of the file comes from outside."""
    with pytest.raises(BadMessage):
        pickup.write(
            root, Spooled(at=AT, caller="x", uid=1, pid=1, msg=msgspec.Raw(msg))
        )
    assert not root.exists()


def test_files_are_private_whatever_the_umask(root: Path) -> None:
    """umask 000 opens nothing to others."""
    before = os.umask(0)
    try:
        path = pickup.write(root, spooled(1))
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert root.stat().st_mode & 0o777 == 0o700


def test_folder_behind_a_symbolic_link_is_refused(root: Path, tmp_path: Path) -> None:
    """Neither written to nor read from (78)."""
    (tmp_path / "other").mkdir(mode=0o700)
    root.mkdir(mode=0o700)
    (root / "pickup").symlink_to(tmp_path / "other")
    with pytest.raises(BadConfig, match="symbolic link"):
        pickup.write(root, spooled(1))
    with pytest.raises(BadConfig, match="symbolic link"):
        pickup.scan(root)
    assert list((tmp_path / "other").iterdir()) == []


def test_folder_others_can_reach_is_refused(root: Path) -> None:
    """Whoever could put files there could speak for us (78)."""
    pickup.write(root, spooled(1))
    (root / "pickup").chmod(0o777)
    with pytest.raises(BadConfig, match="0777"):
        pickup.scan(root)


def test_hidden_and_foreign_names_are_no_mail(root: Path) -> None:
    """A hidden file is being written or was left by a crash."""
    pickup.write(root, spooled(1))
    folder = root / "pickup"
    (folder / ".x.json.1234").write_bytes(b"{")
    (folder / ".hidden.json").write_bytes(b"{")
    (folder / "notes.txt").write_bytes(b"{")
    assert texts(root) == ["hello"]


def test_partial_file_is_reported_until_it_is_whole(root: Path) -> None:
    """A power cut or a hand-made file: never mail by halves, never deleted."""
    path = pickup.write(root, spooled(1))
    data = path.read_bytes()
    for size in range(0, len(data), 7):
        path.write_bytes(data[:size])
        assert texts(root) == ["?"]
    path.write_bytes(data)
    assert texts(root) == ["hello"]


def test_partial_file_gives_way_to_the_retry(root: Path) -> None:
    """The sender was never told yes for it, and tries again."""
    path = pickup.write(root, spooled(1))
    path.write_bytes(path.read_bytes()[:20])
    pickup.write(root, spooled(1))
    assert texts(root) == ["hello"]


def test_one_bad_file_affects_no_other(root: Path, tmp_path: Path) -> None:
    """Links, pipes, folders and rubbish among them block nothing."""
    path = pickup.write(root, spooled(1))
    folder = path.parent
    (folder / "link.json").symlink_to(path)
    os.mkfifo(folder / "pipe.json")
    (folder / "folder.json").mkdir()
    (folder / "rubbish.json").write_bytes(b"\xff\n")
    (folder / "deep.json").write_bytes(b"[" * 100_000 + b"\n")
    (folder / "later.json").write_bytes(path.read_bytes().replace(b'"v":1', b'"v":2'))
    assert sorted(texts(root)) == ["?", "?", "?", "?", "?", "?", "hello"]


def test_later_version_is_not_replaced(root: Path) -> None:
    """What a newer client left is somebody's mail, too."""
    path = pickup.write(root, spooled(1))
    later = path.read_bytes().replace(b'{"v":1', b'{"v":2')
    path.write_bytes(later)
    with pytest.raises(BadMessage):
        pickup.write(root, spooled(1))
    assert path.read_bytes() == later


@pytest.mark.parametrize("call", ["write", "fsync", "link"])
def test_crash_at_any_step_leaves_the_whole_or_nothing(
    root: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Each step fails once, then the retry with the same id succeeds."""
    real = getattr(os, call)

    def fail(*args: object, **more: object) -> None:
        monkeypatch.setattr(os, call, real)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(StorageFailed, match="No space"):
        pickup.write(root, spooled(1))
    assert texts(root) in ([], ["hello"])
    pickup.write(root, spooled(1))
    assert texts(root) == ["hello"]


@pytest.mark.parametrize("step", range(1, 12))
def test_death_between_steps_loses_nothing_promised(root: Path, step: int) -> None:
    """A process that dies before the end promised nothing; after it, all."""
    pickup.write(root, spooled(1))
    child = os.fork()
    if child == 0:
        _die_after(step, root)
    _, status = os.waitpid(child, 0)
    promised = os.waitstatus_to_exitcode(status) == 0
    found = texts(root)
    assert "?" not in found
    assert "hello" in found
    if promised:
        assert "second" in found
    pickup.write(root, spooled(2, "second"))
    assert sorted(texts(root)) == ["hello", "second"]


def _die_after(step: int, root: Path) -> None:
    """In a child: leave the second message, die in the middle of system calls."""
    left = [step]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **more: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                os._exit(1)
            return real(*args, **more)

        return call

    for name in ("open", "write", "fsync", "link", "unlink", "close"):
        setattr(os, name, counted(getattr(os, name)))
    pickup.write(root, spooled(2, "second"))
    os._exit(0)


def test_steps_are_in_the_order_that_makes_them_durable(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes, then name, then the folder's own content."""
    done: list[str] = []
    for name in ("write", "fsync", "link"):
        real = getattr(os, name)

        def note(*args: object, _n: str = name, _r: object = real, **m: object) -> int:
            done.append(_n)
            return _r(*args, **m)  # type: ignore[operator, no-any-return]

        monkeypatch.setattr(os, name, note)
    pickup.write(root, spooled(1))
    assert done == ["write", "fsync", "link", "fsync", "fsync"]


def test_file_system_without_links_takes_a_rename(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems have no hard links."""

    def refuse(*_args: object, **_more: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    pickup.write(root, spooled(1))
    assert texts(root) == ["hello"]

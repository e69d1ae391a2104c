"""The file of keys: replaced whole, with its mode, through its link, or not at all."""

import os
import stat
from pathlib import Path

import pytest

from homi.errors import BadConfig, NotReached, StorageFailed
from homi.pairing import keyfile
from homi.pairing.authorized import Change


def add(data: bytes) -> Change:
    """One line more."""
    return Change(data + b"x\n", changed=True, foreign=[])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a file in a folder of ours; it is not there."""
    folder = tmp_path / ".ssh"
    folder.mkdir(mode=0o700)
    return folder / "authorized_keys"


def test_a_missing_file_is_made_private(tmp_path: Path) -> None:
    """Its folder as well."""
    file = tmp_path / ".ssh" / "authorized_keys"
    keyfile.rewrite(file, add)
    assert file.read_bytes() == b"x\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert [one.name for one in file.parent.iterdir()] == ["authorized_keys"]


def test_mode_and_owner_stay(file: Path) -> None:
    """As a person set them."""
    file.write_bytes(b"a\n")
    file.chmod(0o644)
    if os.geteuid() == 0:
        os.chown(file, 0, 1)
    keyfile.rewrite(file, add)
    found = file.stat()
    assert file.read_bytes() == b"a\nx\n"
    assert stat.S_IMODE(found.st_mode) == 0o644
    assert os.geteuid() != 0 or found.st_gid == 1


def test_no_change_writes_nothing(file: Path) -> None:
    """The same file stays, by its inode."""
    file.write_bytes(b"a\n")
    before = file.stat()
    keyfile.rewrite(file, lambda data: Change(data, changed=False, foreign=[]))
    assert file.stat().st_ino == before.st_ino


def test_a_link_stays_and_its_target_is_written(file: Path, tmp_path: Path) -> None:
    """A person who keeps dotfiles elsewhere keeps doing so."""
    real = tmp_path / "dotfiles"
    real.mkdir(mode=0o700)
    (real / "keys").write_bytes(b"a\n")
    file.symlink_to(real / "keys")
    keyfile.rewrite(file, add)
    assert file.is_symlink()
    assert (real / "keys").read_bytes() == b"a\nx\n"


def test_a_link_to_a_place_of_others_is_refused(file: Path, tmp_path: Path) -> None:
    """Who may write that folder chooses the keys; the same folder closed is fine."""
    public = tmp_path / "public"
    public.mkdir()
    public.chmod(0o777)
    (public / "keys").write_bytes(b"a\n")
    file.symlink_to(public / "keys")
    with pytest.raises(BadConfig, match="others can write"):
        keyfile.rewrite(file, add)
    assert (public / "keys").read_bytes() == b"a\n"
    public.chmod(0o755)
    keyfile.rewrite(file, add)


def test_what_is_no_file_is_refused(file: Path) -> None:
    """A pipe is not waited for."""
    os.mkfifo(file)
    with pytest.raises(BadConfig, match="is no file"):
        keyfile.rewrite(file, add)


def test_a_link_planted_for_the_new_file_is_not_followed(
    file: Path, tmp_path: Path
) -> None:
    """It is taken away, and what it named stays."""
    file.write_bytes(b"a\n")
    victim = tmp_path / "victim"
    victim.write_bytes(b"v")
    file.with_name(".authorized_keys.homi").symlink_to(victim)
    keyfile.rewrite(file, add)
    assert victim.read_bytes() == b"v"
    assert file.read_bytes() == b"a\nx\n"
    assert not file.is_symlink()


def test_a_change_of_somebody_else_is_not_lost(file: Path) -> None:
    """Nor overwritten: the person tries again."""
    file.write_bytes(b"a\n")

    def meanwhile(data: bytes) -> Change:
        file.write_bytes(b"a\nb\n")
        return add(data)

    with pytest.raises(NotReached, match="changed meanwhile"):
        keyfile.rewrite(file, meanwhile)
    assert file.read_bytes() == b"a\nb\n"
    assert [one.name for one in file.parent.iterdir()] == ["authorized_keys"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """And no other file beside it."""
    file.write_bytes(b"a\n")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail)
        with pytest.raises(StorageFailed, match="No space"):
            keyfile.rewrite(file, add)
    assert file.read_bytes() == b"a\n"
    assert [one.name for one in file.parent.iterdir()] == ["authorized_keys"]

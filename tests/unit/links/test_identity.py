"""The key of a device: made once, private, never replaced; and its text."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from homi.errors import BadConfig, StorageFailed
from homi.links import keys
from homi.links.identity import Identity, fingerprint, verify
from homi.store.disk import RealDisk
from tests.unit.links.kit import IDENTITIES, KEYS


def test_the_key_is_made_once_and_is_nobody_elses_to_read(tmp_path: Path) -> None:
    first = Identity.load(tmp_path)
    again = Identity.load(tmp_path)
    assert first.public == again.public
    modes = {each.name: each.stat().st_mode & 0o777 for each in tmp_path.rglob("*")}
    assert modes == {"keys": 0o700, "device": 0o600, "device.pub": 0o600}
    assert (tmp_path / "keys/device.pub").read_text() == first.public + "\n"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")
def test_openssh_reads_the_file_and_names_the_key_alike(tmp_path: Path) -> None:
    identity = Identity.load(tmp_path)
    for file in (identity.path, identity.path + ".pub"):
        said = subprocess.run(
            ["ssh-keygen", "-lf", file], capture_output=True, text=True, check=True
        )
        assert identity.fingerprint in said.stdout


def test_what_one_key_signed_no_other_did() -> None:
    laptop, mini = IDENTITIES["laptop"], IDENTITIES["mini"]
    sig = laptop.sign(b"data")
    assert verify(laptop.public, sig, b"data")
    assert not verify(laptop.public, sig, b"Data")
    assert not verify(mini.public, sig, b"data")


@pytest.mark.parametrize("sig", [b"", b"x" * 63, b"x" * 64, b"x" * 65])
def test_what_is_no_signature_proves_nothing(sig: bytes) -> None:
    assert not verify(KEYS["laptop"], sig, b"data")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        "ssh-ed25519 \u00e4",
        "ssh-rsa " + KEYS["laptop"].split()[1],
        KEYS["laptop"][:-4],
        KEYS["laptop"] + "AAAA",
        "ssh-ed25519 " + "A" * 68,
    ],
    ids=range(8),
)
def test_what_is_no_key_is_none_of_ours(text: str) -> None:
    assert keys.blob(text) is None
    assert not keys.same(text, text)
    assert not verify(text, b"x" * 64, b"data")
    with pytest.raises(ValueError, match="not an ed25519"):
        fingerprint(text)


def test_a_comment_makes_no_other_key() -> None:
    assert keys.same(KEYS["mini"], KEYS["mini"] + " homi:mini\n")
    assert not keys.same(KEYS["mini"], KEYS["max"])


def test_a_key_open_to_others_is_not_used(tmp_path: Path) -> None:
    path = Identity.load(tmp_path).path
    os.chmod(path, 0o644)
    with pytest.raises(BadConfig, match="open to others") as told:
        Identity.load(tmp_path)
    assert told.value.hint == f"chmod 600 {path}"


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"-----BEGIN OPENSSH"])
def test_an_unreadable_key_is_told_and_never_replaced(
    tmp_path: Path, data: bytes
) -> None:
    """Every paired device would take the new one for an impostor."""
    path = Path(Identity.load(tmp_path).path)
    path.write_bytes(data)
    with pytest.raises(BadConfig, match="no usable private key"):
        Identity.load(tmp_path)
    assert path.read_bytes() == data


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")
def test_a_key_with_a_passphrase_is_told_with_what_takes_it_off(
    tmp_path: Path,
) -> None:
    """Nobody could type it for a daemon; without it the key is the one it was."""
    made = Identity.load(tmp_path)
    change = ["ssh-keygen", "-q", "-p", "-f", made.path]
    subprocess.run([*change, "-P", "", "-N", "secret"], check=True, timeout=15)
    with pytest.raises(BadConfig, match="has a passphrase") as told:
        Identity.load(tmp_path)
    assert told.value.hint == f"ssh-keygen -p -N '' -f {made.path} takes it off"
    subprocess.run([*change, "-P", "secret", "-N", ""], check=True, timeout=15)
    assert Identity.load(tmp_path).public == made.public


def test_a_key_behind_a_link_is_not_followed(tmp_path: Path) -> None:
    path = Path(Identity.load(tmp_path).path)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed):
        Identity.load(tmp_path)


def test_a_lost_public_half_is_written_again(tmp_path: Path) -> None:
    identity = Identity.load(tmp_path)
    Path(identity.path + ".pub").write_text("nonsense")
    Identity.load(tmp_path)
    assert Path(identity.path + ".pub").read_text() == identity.public + "\n"


class Failing(RealDisk):
    """A disk whose syncs fail."""

    def sync(self, _fd: int) -> None:  # type: ignore[override]
        raise OSError(5, "Input/output error")


def test_a_key_that_cannot_be_kept_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="Input/output error"):
        Identity.load(tmp_path, Failing())
    assert not (tmp_path / "keys/device").exists()

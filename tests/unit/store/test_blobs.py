"""A blob is whole and what its name says, or it is not there."""

import errno
import fcntl
import hashlib
import os
from pathlib import Path

import pytest

from homi.errors import BadMessage, NoInput, NotReached, StorageFailed, Usage
from homi.store.blobs import Blobs, digest, failed
from homi.store.disk import RealDisk

DATA = b"0123456789" * 100_000
NAME = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    """A state root without any."""
    return Blobs(str(tmp_path), RealDisk())


def test_a_part_is_gone_on_with_and_becomes_the_blob(
    blobs: Blobs, tmp_path: Path
) -> None:
    """By another process, too; only then is there anything under its name."""
    with blobs.part(NAME) as part:
        part.write(DATA[:400_001])
    assert blobs.size(NAME) is None
    with blobs.part(NAME) as part:
        assert part.at == 400_001
        part.write(DATA[part.at :])
        part.finish()
    assert blobs.size(NAME) == len(DATA)
    assert os.listdir(tmp_path / "blobs") == [NAME]
    assert (tmp_path / "blobs").stat().st_mode & 0o777 == 0o700


def test_what_is_another_is_not_kept(blobs: Blobs, tmp_path: Path) -> None:
    """Not its part, either: gone on with it would never be right."""
    with blobs.part(NAME) as part:
        part.write(b"something else")
        with pytest.raises(BadMessage, match="not the blob"):
            part.finish()
    assert os.listdir(tmp_path / "blobs") == []


def test_one_process_at_a_time_has_a_part(blobs: Blobs) -> None:
    """Two writers would mix two streams."""
    with blobs.part(NAME), pytest.raises(NotReached, match="on its way already"):
        blobs.part(NAME)
    with blobs.part(NAME) as part:
        assert part.at == 0


@pytest.mark.parametrize(
    "name", ["", "../../etc/passwd", NAME[:-1], NAME.upper(), f"{NAME}\n", "g" * 64]
)
def test_a_name_that_is_no_digest_leads_nowhere(blobs: Blobs, name: str) -> None:
    for use in (digest, blobs.open, blobs.part, blobs.size):
        with pytest.raises(Usage, match="64 hex"):
            use(name)  # type: ignore[operator]
    assert digest(NAME) == NAME


def test_what_is_no_file_of_its_own_is_no_blob(blobs: Blobs, tmp_path: Path) -> None:
    """A link leads out of the folder; a pipe would hold its reader."""
    (tmp_path / "secret").write_bytes(DATA)
    folder = tmp_path / "blobs"
    folder.mkdir(mode=0o700)
    os.symlink(tmp_path / "secret", folder / NAME)
    with pytest.raises(NoInput):
        blobs.open(NAME)
    os.unlink(folder / NAME)
    os.mkfifo(folder / NAME)
    assert blobs.size(NAME) is None
    os.symlink(tmp_path / "secret", folder / f".{NAME}.part")
    with pytest.raises(StorageFailed):
        blobs.part(NAME)
    assert (tmp_path / "secret").read_bytes() == DATA


def test_a_full_disk_may_have_room_later() -> None:
    """A broken one is told as such."""
    assert isinstance(failed(OSError(errno.ENOSPC, "full")), NotReached)
    assert isinstance(failed(OSError(errno.EIO, "broken")), StorageFailed)


def test_one_that_another_just_finished_is_no_part_any_more(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was opened as a part and is the blob once it is locked: it begins anew."""
    first = blobs.part(NAME)
    first.write(DATA)
    lock = fcntl.flock

    def late(fd: int, how: int) -> None:
        monkeypatch.undo()
        first.finish()
        first.__exit__()
        lock(fd, how)

    monkeypatch.setattr("fcntl.flock", late)
    with blobs.part(NAME) as part:
        assert part.at == 0
        part.write(b"something else")
        with pytest.raises(BadMessage):
            part.finish()
    assert blobs.size(NAME) == len(DATA)

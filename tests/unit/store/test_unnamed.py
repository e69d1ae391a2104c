"""Which blobs no kept message names: whatever may name one is looked at."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.store.disk import RealDisk
from homi.store.unnamed import unnamed

OLD = 100.0  # seconds since the epoch
BEFORE = 1_000.0
NAME = "ab" * 32
OTHER = "cd" * 32


def blob(root: Path, name: str, at: float = OLD) -> Path:
    """A file in blobs/ of that time."""
    path = root / "blobs" / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(b"data")
    os.utime(path, (at, at))
    return path


def found(root: Path) -> list[str]:
    """What may go."""
    return [one.name for one in unnamed(RealDisk(), str(root), BEFORE)]


def write(path: Path, data: bytes) -> None:
    """A file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def line(blobs: str = f'["{NAME}"]', key: str = "blobs") -> bytes:
    """A line of a journal."""
    text = f'{{"v":1,"seq":1,"msg":{{"id":"m","from":"b","{key}":{blobs}}}}}\n'
    return text.encode()


def test_the_oldest_goes_first_and_what_is_young_stays(tmp_path: Path) -> None:
    """No folder at all is no failure."""
    assert found(tmp_path) == []
    blob(tmp_path, NAME, OLD + 1)
    blob(tmp_path, OTHER)
    blob(tmp_path, "ef" * 32, BEFORE)
    assert found(tmp_path) == [OTHER, NAME]


KEEPS = {
    "in an inbox": ("mail/ada/inbox.jsonl", line()),
    "in an out queue": ("out/mini/queue.jsonl", line()),
    "in the archive": (f"mail/ada/archive/inbox.{7:016}.jsonl", line()),
    "beside another": ("mail/ada/inbox.jsonl", line(f'["{OTHER[::-1]}","{NAME}"]')),
    "the field escaped": ("mail/ada/inbox.jsonl", line(key=r"\u0062lobs")),
    "the name escaped": (
        "mail/ada/inbox.jsonl",
        line(f'["{NAME[:-1]}\\u0062"]'),
    ),
    "in a line that is none": ("mail/ada/inbox.jsonl", b"x" + line()),
    "in a list that is none": ("mail/ada/inbox.jsonl", line(f'["{NAME}",7]')),
    "behind a line of bad bytes": ("mail/ada/inbox.jsonl", b"\xff\n" + line()),
    "in pickup": ("pickup/1.json", line()),
    "refused": ("quarantine/refused.jsonl", b"y" * ((1 << 20) - 80) + line()),
}


@pytest.mark.parametrize(("place", "data"), KEEPS.values(), ids=KEEPS)
def test_a_blob_that_is_named_anywhere_stays(
    tmp_path: Path, place: str, data: bytes
) -> None:
    """And the one beside it goes."""
    blob(tmp_path, NAME)
    blob(tmp_path, OTHER)
    assert found(tmp_path) == [NAME, OTHER]
    write(tmp_path / place, data)
    assert found(tmp_path) == [OTHER]


def test_a_text_with_such_digits_names_nothing(tmp_path: Path) -> None:
    """Else whoever writes to somebody could have any blob kept."""
    blob(tmp_path, NAME)
    write(tmp_path / "mail/ada/inbox.jsonl", line(f'["{OTHER}"],"text":"{NAME}"'))
    assert found(tmp_path) == [NAME]


def test_what_was_cut_short_goes_too_and_nothing_of_others(tmp_path: Path) -> None:
    """What was on its way out goes whatever its time: it has no name any more."""
    for name in (f".{NAME}.part", f".{'0' * 16}.new"):
        blob(tmp_path, name)
    blob(tmp_path, f".{OTHER}.gone", time.time())
    for name in (f".{'1' * 64}.part", "README", f"{NAME}.txt", NAME.upper()):
        blob(tmp_path, name, BEFORE if name.endswith(".part") else OLD)
    (tmp_path / "blobs" / NAME).symlink_to("/etc/passwd")
    (tmp_path / "blobs" / OTHER).mkdir()
    gone = {f".{NAME}.part", f".{'0' * 16}.new", f".{OTHER}.gone"}
    assert set(found(tmp_path)) == gone


def _elsewhere(root: Path) -> None:
    blob(root / "far", NAME)
    (root / "blobs").symlink_to(root / "far" / "blobs")


def _a_file(root: Path) -> None:
    write(root / "blobs", b"")


@pytest.mark.parametrize("make", [_elsewhere, _a_file])
def test_a_folder_that_is_none_is_not_looked_into(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    """A link could lead to files of somebody else."""
    make(tmp_path)
    with pytest.raises(OSError, match=r"symbolic link|Not a directory"):
        found(tmp_path)

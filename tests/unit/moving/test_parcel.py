"""What goes along is whole when it is opened, or it is not taken."""

import os
import zlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from homi.envelope import encode
from homi.errors import BadMessage, NoInput
from homi.moving.parcel import Parcels
from homi.moving.said import Manifest, Part
from homi.store.blobs import Blobs
from homi.store.disk import RealDisk

BASE = Manifest(name="ada", device="here", to="ada", generation=2)


def parcels(root: Path) -> tuple[Parcels, Blobs]:
    """Those of a state root."""
    blobs = Blobs(str(root), RealDisk())
    return Parcels(blobs), blobs


def test_what_was_packed_is_read_again(tmp_path: Path) -> None:
    made, blobs = parcels(tmp_path)
    lines = [b'{"n":%d}\n' % n for n in range(3_000)]
    packed = made.pack(BASE, lines, None)
    manifest = made.open(packed.sha256)
    assert manifest.history is not None
    assert manifest.history.count == 3_000
    assert list(made.lines(manifest.history)) == lines
    made.drop(packed.sha256)
    assert list((tmp_path / "blobs").iterdir()) == []
    assert blobs.size(packed.sha256) is None


def test_a_part_with_one_long_line_is_read_as_it_was(tmp_path: Path) -> None:
    """Lines longer than what is read at once, and one that is not ended."""
    made, blobs = parcels(tmp_path)
    lines = [
        b"a" * (1 << 20) + b"\n",
        b"\n",
        os.urandom(1 << 20).hex().encode() + b"\n",
    ]
    packed = made.pack(BASE, lines, None)
    assert packed.manifest.history is not None
    assert list(made.lines(packed.manifest.history)) == lines
    for data in (zlib.compress(b"x\ny"), zlib.compress(b"x\n" * 99)[:-9], b"junk"):
        sha256, size = blobs.keep([data])
        with pytest.raises(BadMessage):
            list(made.lines(Part(sha256=sha256, size=size)))


def test_a_manifest_that_would_fill_the_memory_is_none(tmp_path: Path) -> None:
    """It names parts, and holds none."""
    made, blobs = parcels(tmp_path)
    huge, _ = blobs.keep([zlib.compress(b" " * (8 << 20))])
    deep, _ = blobs.keep([zlib.compress(b'{"settings":' + b"[" * 100_000)])
    for each in (huge, deep):
        with pytest.raises(BadMessage, match="is none"):
            made.open(each)


def test_a_parcel_that_lacks_a_part_is_not_opened(tmp_path: Path) -> None:
    """Nor one that is no parcel."""
    made, blobs = parcels(tmp_path)
    packed = made.pack(BASE, [b"x\n"], None)
    assert packed.manifest.history is not None
    blobs.remove(packed.manifest.history.sha256)
    with pytest.raises(BadMessage, match="not here"):
        made.open(packed.sha256)
    other, _ = blobs.keep([b"no parcel"])
    with pytest.raises(BadMessage, match="is none"):
        made.open(other)
    with pytest.raises(NoInput):
        made.open("0" * 64)


def test_a_parcel_that_goes_takes_nothing_of_another_with_it(tmp_path: Path) -> None:
    """Two names without finished mail, say, that move at once."""
    made, _ = parcels(tmp_path)
    for lines in (list[bytes](), [b"x\n"]):
        mine = made.pack(BASE, lines, None)
        other = made.pack(replace(BASE, name="bob", to="bob"), lines, None)
        made.drop(mine.sha256)
        assert made.open(other.sha256) == other.manifest
        with pytest.raises(NoInput):
            made.open(mine.sha256)


def test_a_manifest_that_names_what_is_not_its_own_does_not_remove_it(
    tmp_path: Path,
) -> None:
    """Another device may write into it what it likes."""
    made, blobs = parcels(tmp_path)
    mail, size = blobs.keep([b"what a letter brought"])
    part = Part(sha256=mail, size=size)
    told = encode(replace(BASE, history=part))
    sha256, _ = blobs.keep([zlib.compress(told)])
    made.drop_of(sha256, BASE.device, BASE.name, BASE.to, BASE.generation)
    assert blobs.size(sha256) is None
    assert blobs.size(mail) == size


@pytest.mark.parametrize("behind", [1, 1 << 20])
def test_a_part_with_more_behind_its_end_is_read_to_that_end(
    tmp_path: Path, behind: int
) -> None:
    """Of a line long enough that it comes in pieces; nobody reads it for ever."""
    made, blobs = parcels(tmp_path)
    line = os.urandom(1 << 20).hex().encode() + b"\n"
    sha256, size = blobs.keep([zlib.compress(line), b"x" * behind])
    assert list(made.lines(Part(sha256=sha256, size=size))) == [line]


def test_a_parcel_is_not_removed_for_another_move(tmp_path: Path) -> None:
    """Whose device, name or generation is another: that one may still be taken."""
    made, _ = parcels(tmp_path)
    packed = made.pack(BASE, [b"x\n"], None)
    for told in (
        ("elsewhere", "ada", "ada", 2),
        ("here", "bob", "ada", 2),
        ("here", "ada", "bob", 2),
        ("here", "ada", "ada", 3),
    ):
        made.drop_of(packed.sha256, *told)
        assert made.open(packed.sha256) == packed.manifest
    made.drop_of(packed.sha256, "here", "ada", "ada", 2)
    assert list((tmp_path / "blobs").iterdir()) == []

"""Splitting journals: on byte 0x0A, whole lines only."""

import os
from pathlib import Path

import pytest

from homi.store.disk import RealDisk
from homi.store.lines import chunks, read_line, split


def test_only_a_line_feed_ends_a_line() -> None:
    """U+2028, U+0085, VT and FS stand inside texts; they must not cut a record."""
    odd = "a\u2028b\x85c\x0bd\x1ce\rf".encode()
    assert list(split([odd + b"\nnext\n"])) == [(0, odd), (len(odd) + 1, b"next")]


def test_unterminated_tail_is_no_line() -> None:
    """A reader beside the writer must never see half a record."""
    assert list(split([b"whole\nhal"])) == [(0, b"whole")]


def test_blank_lines_mean_nothing_and_keep_offsets() -> None:
    """The line feed a start brings of its own leaves blank lines behind."""
    assert list(split([b"\n\na\n\nb\n"])) == [(2, b"a"), (5, b"b")]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_offsets_do_not_depend_on_how_the_file_is_read(size: int) -> None:
    """A chunk may end anywhere, inside a line or a character."""
    data = "eins\nzwölf\n\nlong enough to span\nend".encode()
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    assert list(split(parts)) == list(split([data]))


def test_missing_file_has_no_lines(tmp_path: Path) -> None:
    """A mailbox without mail has no inbox yet."""
    assert list(chunks(str(tmp_path / "none"), RealDisk())) == []


def test_journal_behind_a_symbolic_link_is_not_read(tmp_path: Path) -> None:
    """Somebody else's file must not become mail."""
    (tmp_path / "real").write_bytes(b"x\n")
    os.symlink(tmp_path / "real", tmp_path / "link")
    assert list(split(chunks(str(tmp_path / "real"), RealDisk()))) == [(0, b"x")]
    with pytest.raises(OSError, match="symbolic"):
        list(chunks(str(tmp_path / "link"), RealDisk()))


def test_read_line_gives_its_bytes(tmp_path: Path) -> None:
    """Offsets and lengths from loading find the same line again."""
    (tmp_path / "f").write_bytes(b"one\ntwo\n")
    assert read_line(RealDisk(), str(tmp_path / "f"), 4, 4) == b"two\n"

"""How many lines `send --lines` has under way."""

from pathlib import Path

from homi.cli.lines import WINDOW, WINDOW_BYTES, Batch
from homi.cli.source import Line, Source
from homi.cli.submission import MAX_TEXT_CHARS, Plan


def under_way(data: bytes, path: Path) -> list[Line]:
    """What goes before the first answer, of a file that holds data."""
    path.write_bytes(data)
    plan = Plan("", "ada", None)
    plan.file = str(path)
    source = Source(plan)
    while not source.ended:
        source.read()
    source.close()
    return Batch(plan, source)._take()


def test_no_more_than_a_window_is_under_way(tmp_path: Path) -> None:
    """More would be sent again for nothing when a connection is lost."""
    assert len(under_way(b"x\n" * (3 * WINDOW), tmp_path / "lines")) == WINDOW
    assert len(under_way(b"x\n" * 3, tmp_path / "lines")) == 3


def test_long_lines_fill_the_window_by_their_size(tmp_path: Path) -> None:
    """They are kept until they are answered for."""
    data = (b"x" * MAX_TEXT_CHARS + b"\n") * 10
    taken = under_way(data, tmp_path / "lines")
    assert sum(len(line.text) for line in taken) <= WINDOW_BYTES + MAX_TEXT_CHARS
    assert len(taken) < 10

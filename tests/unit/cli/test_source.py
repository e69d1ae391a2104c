"""What `send --lines` reads: lines in order, each judged by itself."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homi.cli import source
from homi.cli.source import Line, Source
from homi.cli.submission import MAX_TEXT_BYTES, MAX_TEXT_CHARS, Plan
from homi.errors import NoInput


def read(data: bytes, path: Path) -> list[Line]:
    """Every line of a file that holds data."""
    path.write_bytes(data)
    plan = Plan("", "ada", None)
    plan.file = str(path)
    opened, found = Source(plan), []
    while not opened.ended or not opened.empty:
        if line := opened.next():
            found.append(line)
        else:
            opened.read()
    opened.close()
    return found


@given(
    st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"))),
    st.booleans(),
    st.integers(1, 9),
)
def test_each_line_is_a_text_with_its_number(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], ended: bool, chunk: int
) -> None:
    """However the reads cut it, and whether or not the last line has its line feed."""
    data = "\n".join(texts) + ("\n" if ended else "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "CHUNK", chunk)
        found = read(data.encode(), tmp_path_factory.getbasetemp() / "lines")
    wanted = [(n, text) for n, text in enumerate(data.split("\n"), 1) if text]
    assert [(line.number, line.text) for line in found] == wanted


def test_a_line_that_is_no_text_spoils_no_other(tmp_path: Path) -> None:
    """Not UTF-8, or over either limit; those beside them are whole."""
    long, wide = b"x" * (MAX_TEXT_CHARS + 1), b"x" * (MAX_TEXT_BYTES + 1)
    data = b"\n".join([b"one", b"t\xffo", b"three", long, wide, b"six"])
    found = read(data, tmp_path / "lines")
    errors = {line.number: line.error.text for line in found if line.error}
    assert errors == {
        2: "the text is not UTF-8: byte 0xff at offset 1",
        4: f"the text has {len(long)} characters, the limit is {MAX_TEXT_CHARS}",
        5: f"the text has {len(wide)} bytes, the limit is {MAX_TEXT_BYTES}",
    }
    texts = [line.text for line in found if not line.error]
    assert texts == ["one", "three", "six"]


def test_a_line_that_has_no_end_takes_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is refused anyway only the size is kept."""
    kept: list[int] = []
    gather = Source._gather

    def watch(self: Source, part: bytes) -> None:
        gather(self, part)
        kept.append(sum(map(len, self._parts)))

    monkeypatch.setattr(Source, "_gather", watch)
    (line,) = read(b"x" * (4 * MAX_TEXT_BYTES), tmp_path / "lines")
    assert line.error is not None
    assert max(kept) <= MAX_TEXT_BYTES


def test_what_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """66; the control: a file that is there is read."""
    plan = Plan("", "ada", None)
    plan.file = str(tmp_path / "none")
    with pytest.raises(NoInput, match=r"cannot read .*none"):
        Source(plan)
    assert len(read(b"one", tmp_path / "none")) == 1


def test_what_cannot_be_read_on_ends_with_its_failure(tmp_path: Path) -> None:
    """What came before it is sent, and the failure told at the end."""
    plan = Plan("", "ada", None)
    plan.file = os.fspath(tmp_path)
    opened = Source(plan)
    opened.read()
    opened.close()
    assert opened.ended
    assert "Is a directory" in str(opened.failure)

"""A log that is followed, and put aside meanwhile."""

from pathlib import Path

import pytest

from homi.cli.log import Tail


def test_what_is_written_just_before_a_log_is_put_aside_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for more and the look for another file."""
    path = tmp_path / "homi.log"
    path.write_text("first\n")
    tail = Tail(path)
    tail.open(end=False)
    assert tail.more() == ["first\n"]
    is_another = Tail._is_another

    def late(self: Tail, file: object) -> bool:
        if path.read_text() == "first\n":
            with path.open("a") as log:
                log.write("last of it\n")
            path.rename(tmp_path / "homi.log.1")
            path.write_text("new\n")
        return is_another(self, file)  # type: ignore[arg-type]

    monkeypatch.setattr(Tail, "_is_another", late)
    assert tail.more() == ["last of it\n"]
    assert tail.more() == ["new\n"]
    tail.close()

"""The name of a conversation that nobody has open."""

import json
import os
from pathlib import Path

import pytest

from homi.address import Name
from homi.errors import BadMessage, CannotCreate, NoInput, StorageFailed, Usage
from homi.spawn.titles import find, retitle

ID = "0b6f1d5e-2b8e-4c5e-9a53-6d2f6f0c9a11"
NEW = Name("new")


def transcript(folder: Path, text: str, project: str = "a") -> Path:
    """A transcript of ID with that text."""
    made = folder / "projects" / project / f"{ID}.jsonl"
    made.parent.mkdir(parents=True)
    made.write_text(text)
    return made


def test_a_conversation_gets_its_name_as_its_client_writes_it(tmp_path: Path) -> None:
    """Behind all that stands there; a stump in front spoils nothing."""
    before = '{"type":"agent-name","agentName":"old"}\n{"type":"user"}\n{"torn'
    made = transcript(tmp_path, before)
    assert retitle(find([tmp_path], ID), ID, NEW) == "old"
    text = made.read_text()
    assert text.startswith(before + "\n")
    lines = [json.loads(line) for line in text.splitlines()[-2:]]
    assert lines == [
        {"type": "custom-title", "customTitle": "new", "sessionId": ID},
        {"type": "agent-name", "agentName": "new", "sessionId": ID},
    ]
    assert retitle(made, ID, Name("newer")) == "new"


def test_what_is_no_conversation_or_more_than_one_is_not_touched(
    tmp_path: Path,
) -> None:
    with pytest.raises(Usage):
        find([tmp_path], "../../etc/passwd")
    with pytest.raises(NoInput):
        find([tmp_path], ID)
    one = transcript(tmp_path, "x\n")
    assert find([tmp_path], ID) == one
    transcript(tmp_path, "x\n", "b")
    with pytest.raises(BadMessage):
        find([tmp_path], ID)


def test_a_link_in_the_place_of_a_transcript_is_not_followed(tmp_path: Path) -> None:
    real = tmp_path / "precious"
    real.write_text("x\n")
    link = tmp_path / "link"
    link.symlink_to(real)
    with pytest.raises(CannotCreate):
        retitle(link, ID, NEW)
    assert real.read_text() == "x\n"


def test_a_disk_that_takes_a_part_of_the_name_gets_none_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next line of the client's would stand behind the stump."""
    made = transcript(tmp_path, "x\n")
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:20]))
    with pytest.raises(StorageFailed):
        retitle(made, ID, NEW)
    assert made.read_text() == "x\n"

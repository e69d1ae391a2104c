"""A transcript goes to where its client looks, with the paths of the other device."""

import json
import os
from pathlib import Path

import pytest

from homi.errors import NoInput, StorageFailed
from homi.moving import conversation
from homi.store.disk import RealDisk


def of(data: bytes) -> conversation.Lines:
    """Its lines, again and again."""
    return lambda: iter([data])


ID = "0199f3a2-61b4-7c7e-9d0e-52b07c10a9e2"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("/a/b", "/x"),
        ("/a/b/c.py", "/x/c.py"),
        ("see /a/b, or /a/b/c", "see /x, or /x/c"),
        ("/a/b2/c", "/a/b2/c"),
        ("/a/b-old", "/a/b-old"),
        ("/a/bc", "/a/bc"),
    ],
)
def test_paths_in_the_folder_are_translated_and_no_others(
    before: str, after: str
) -> None:
    """A folder beside it whose name begins the same is another."""
    line = json.dumps({"text": before}).encode()
    found = conversation.translate(line, "/a/b", "/x")
    assert json.loads(found) == {"text": after}


def test_a_path_with_signs_of_json_stays_json() -> None:
    """As it is written in a string, so it is found and replaced."""
    line = json.dumps({"cwd": '/a/"q"/x'}).encode()
    found = conversation.translate(line, '/a/"q"', '/n\\ew"')
    assert json.loads(found) == {"cwd": '/n\\ew"/x'}


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/a/My Proj_ects.v2", "-a-My-Proj-ects-v2"),
        ("/日本", "---"),
    ],
)
def test_the_folder_is_the_one_its_client_makes(cwd: str, name: str) -> None:
    assert conversation.slug(cwd) == name


def test_a_long_folder_has_a_short_name_of_its_own() -> None:
    """Two that begin the same are not taken for one."""
    one, other = (conversation.slug("/" + "a" * 250 + end) for end in "xy")
    assert len(one) < 210
    assert one != other
    assert one[:200] == other[:200]


def test_what_is_there_already_stays_beside_it(tmp_path: Path) -> None:
    """The same again changes nothing."""
    cwd = str(tmp_path)
    keep = conversation.keep
    with pytest.raises(NoInput, match="no client"):
        keep(RealDisk(), str(tmp_path / "c"), ID, cwd, of(b""))
    (tmp_path / "c").mkdir()
    path = keep(RealDisk(), str(tmp_path / "c"), ID, cwd, of(b"old\n"))
    assert keep(RealDisk(), str(tmp_path / "c"), ID, cwd, of(b"old\n")) == path
    assert keep(RealDisk(), str(tmp_path / "c"), ID, cwd, of(b"new\n")) == path
    files = {each.read_bytes() for each in Path(path).parent.iterdir()}
    assert files == {b"old\n", b"new\n"}
    assert Path(path).read_bytes() == b"new\n"


def test_what_its_client_wrote_after_it_came_stays(tmp_path: Path) -> None:
    """Put in place once more, after a crash, it is not cut back to what came."""
    keep, cwd = conversation.keep, str(tmp_path)
    path = Path(keep(RealDisk(), str(tmp_path), ID, cwd, of(b"came\n")))
    path.write_bytes(b"came\nlater\n")
    assert keep(RealDisk(), str(tmp_path), ID, cwd, of(b"came\n")) == str(path)
    assert path.read_bytes() == b"came\nlater\n"
    assert len(list(path.parent.iterdir())) == 1


def test_an_id_that_is_a_path_is_none(tmp_path: Path) -> None:
    """It comes from another device and makes a path here."""
    with pytest.raises(StorageFailed):
        conversation.keep(RealDisk(), str(tmp_path), "../x", "/", of(b""))
    assert os.listdir(tmp_path) == []


def test_the_last_conversation_with_a_transcript_is_found(tmp_path: Path) -> None:
    """A line that is cut off is no part of it."""
    folder = tmp_path / "projects" / "x"
    folder.mkdir(parents=True)
    whole = json.dumps({"cwd": "/w"}) + "\n"
    (folder / f"{ID}.jsonl").write_text('{"type":"x"}\n' + whole + '{"cut')
    other = ID[:-1] + "3"
    found = conversation.last([str(tmp_path / "projects")], [other, ID])
    assert found is not None
    assert (found.id, found.cwd) == (ID, "/w")
    assert b"".join(conversation.lines(found.path)).endswith(whole.encode())
    assert conversation.last([str(tmp_path / "projects")], [other]) is None

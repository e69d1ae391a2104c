"""Following one conversation's file wherever it goes."""

import os
import uuid
from pathlib import Path

import pytest

from homi.legs import tail
from homi.legs.tail import Tail, facts_between, find, lines_with
from homi.legs.transcript import What
from tests.unit.legs.lines import Book, Talk, new_id, raw

ID = "0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"


def taken(*messages: str) -> bytes:
    """The lines that take these letters in."""
    talk = Talk()
    for message in messages:
        talk.taken(message)
    return talk.bytes()


def read(followed: Tail) -> list[str]:
    """The ids of what was taken since the last read."""
    ids, more = [], True
    while more:
        facts, more = followed.read()
        ids += [fact.id for fact in facts if fact.what is What.TAKEN]
    return ids


def test_the_file_is_found_by_its_id_in_any_folder(tmp_path: Path) -> None:
    """Of two the one written last: a copy elsewhere is not followed."""
    projects = str(tmp_path / "projects")
    assert find(projects, ID) is None
    first, second = Book(tmp_path, ID, "-a"), Book(tmp_path, ID, "-b")
    second.write(b"{}\n")
    first.write(b"{}\n")
    os.utime(second.path, (1, 1))
    assert find(projects, ID) == str(first.path)
    os.utime(first.path, (0, 0))
    assert find(projects, ID) == str(second.path)


@pytest.mark.parametrize(
    "conversation", ["", "../../etc/passwd", "x/y", "a\0b", "\ud800", "*"]
)
def test_an_id_that_is_none_makes_no_path(tmp_path: Path, conversation: str) -> None:
    """It comes out of a record that any process of the user can write."""
    (tmp_path / "projects" / "x").mkdir(parents=True)
    assert find(str(tmp_path / "projects"), conversation) is None


def test_only_a_regular_file_is_a_transcript(tmp_path: Path) -> None:
    """A link may point anywhere, a pipe would wait for a writer."""
    projects = tmp_path / "projects"
    (projects / "-l").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(taken(ID))
    (projects / "-l" / f"{ID}.jsonl").symlink_to(tmp_path / "secret")
    (projects / "-p").mkdir()
    os.mkfifo(projects / "-p" / f"{ID}.jsonl")
    (projects / "-d" / f"{ID}.jsonl").mkdir(parents=True)
    assert find(str(projects), ID) is None
    Book(tmp_path, ID).write(b"{}\n")
    assert find(str(projects), ID) is not None


def test_reading_starts_at_the_end_of_what_is_there(tmp_path: Path) -> None:
    """Earlier lines are searched by id; they are not read again."""
    book, old, new = Book(tmp_path, ID), new_id(), new_id()
    book.write(taken(old))
    followed = Tail(str(tmp_path / "projects"), ID)
    assert read(followed) == []
    book.write(taken(new))
    assert read(followed) == [new]
    assert read(followed) == []


def test_a_file_that_comes_later_is_read_from_its_start(tmp_path: Path) -> None:
    """It is created with the first line of a conversation, perhaps our own."""
    followed = Tail(str(tmp_path / "projects"), ID)
    assert followed.path is None
    assert read(followed) == []
    message = new_id()
    book = Book(tmp_path, ID)
    book.write(taken(message))
    assert read(followed) == [message]
    assert followed.path == str(book.path)


def test_a_line_is_read_when_its_line_feed_comes(tmp_path: Path) -> None:
    """A batch may be two writes: a reader can meet half a line."""
    book, message = Book(tmp_path, ID), new_id()
    data = taken(message)
    book.write(b"{}\n" + data[:50])
    followed = Tail(str(tmp_path / "projects"), ID)
    book.write(data[50:-1])
    assert read(followed) == []
    book.write(b"\n" + data)
    # The first was begun before we looked, so its start is not ours to read.
    assert read(followed) == [message]
    assert followed.read_to == book.path.stat().st_size


def test_a_renamed_file_is_followed_from_the_same_offset(tmp_path: Path) -> None:
    """/cd moves it into another folder: the same inode, the same bytes."""
    book, first, second = Book(tmp_path, ID, "-a"), new_id(), new_id()
    followed = Tail(str(tmp_path / "projects"), ID)
    book.write(taken(first))
    assert read(followed) == [first]
    moved = Book(tmp_path, ID, "-b")
    book.path.rename(moved.path)
    moved.write(raw({"type": "relocated"}), taken(second))
    assert read(followed) == [second]
    assert followed.path == str(moved.path)


def test_another_file_in_its_place_is_read_from_its_start(tmp_path: Path) -> None:
    """Reading by id makes a second reading harmless; a missed line is not."""
    book, first, second = Book(tmp_path, ID), new_id(), new_id()
    followed = Tail(str(tmp_path / "projects"), ID)
    book.write(taken(first))
    assert read(followed) == [first]
    other = book.path.with_suffix(".new")
    other.write_bytes(taken(first, second))
    other.rename(book.path)
    assert read(followed) == [first, second]
    with book.path.open("wb") as file:
        file.write(taken(second))
    assert read(followed) == [second]


def test_a_long_stretch_is_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop gets its turn between two of them."""
    monkeypatch.setattr(tail, "CHUNK", 100)
    book, messages = Book(tmp_path, ID), [new_id() for _ in range(5)]
    followed = Tail(str(tmp_path / "projects"), ID)
    book.write(taken(*messages))
    facts, more = followed.read()
    assert (facts, more) == ([], True)
    assert read(followed) == messages


def test_a_file_that_goes_away_is_waited_for(tmp_path: Path) -> None:
    """Nothing is raised; what comes under the same id is read."""
    book, message = Book(tmp_path, ID), new_id()
    book.write(b"{}\n")
    followed = Tail(str(tmp_path / "projects"), ID)
    book.path.unlink()
    assert read(followed) == []
    book.write(taken(message))
    assert read(followed) == [message]


def test_whole_lines_with_an_id_are_found_with_their_offsets(tmp_path: Path) -> None:
    """However often it stands in one line; a line without its end is not whole."""
    book, message = Book(tmp_path, str(uuid.uuid4())), new_id()
    line = taken(message)
    assert line.count(message.encode()) > 1
    book.write(b"{}\n", line, b"{}\n", line, line[:-1])
    path, needle = str(book.path), message.encode()
    found = list(lines_with(path, needle))
    assert [start for start, _ in found] == [3, 6 + len(line)]
    assert {data for _, data in found} == {line[:-1]}
    assert list(lines_with(path, new_id().encode())) == []
    assert list(lines_with(str(tmp_path / "none"), needle)) == []
    (tmp_path / "empty").touch()
    assert list(lines_with(str(tmp_path / "empty"), needle)) == []


def test_facts_between_two_offsets_are_those_of_whole_lines(tmp_path: Path) -> None:
    """The last piece may be a line that still grows."""
    book, first, second = Book(tmp_path, ID), new_id(), new_id()
    book.write(taken(first), taken(second))
    size = book.path.stat().st_size
    path = str(book.path)
    assert [f.id for f in facts_between(path, 0, size)] == [first, second]
    assert [f.id for f in facts_between(path, 0, size - 5)] == [first]

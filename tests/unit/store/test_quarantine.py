"""What is kept of refused and unreadable bytes."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.errors import NoInput, Usage
from homi.store.disk import RealDisk
from homi.store.quarantine import Quarantine
from homi.store.refusals import entries, find


class Turned:
    """A clock that stands."""

    def wall(self) -> float:
        return 1796000000.0

    monotonic = boot = wall


class Full(RealDisk):
    """A disk with no room left."""

    def free(self, path: str) -> int:
        return 0


def quarantine(tmp_path: Path, disk: RealDisk | None = None) -> Quarantine:
    return Quarantine(str(tmp_path), disk or RealDisk(), Turned())


def lines(tmp_path: Path) -> list[dict[str, object]]:
    data = (tmp_path / "quarantine" / "refused.jsonl").read_bytes()
    return [json.loads(one) for one in data.split(b"\n") if one]


def test_refusal_is_one_line_with_its_reason(tmp_path: Path) -> None:
    """Whoever looks finds what came, why it was refused and from where."""
    keeper = quarantine(tmp_path)
    assert keeper.refuse("policy", b'{"a":"\xc3\xa9\n"}', {"to": "ada", "uid": 7})
    assert lines(tmp_path) == [
        {
            "to": "ada",
            "uid": 7,
            "v": 1,
            "at": "2026-11-30T00:53:20.000Z",
            "reason": "policy",
            "size": 11,
            "data": '{"a":"é\n"}',
        }
    ]


def test_bytes_that_are_no_text_are_kept_exactly(tmp_path: Path) -> None:
    """Nothing of the evidence is lost to an encoding."""
    quarantine(tmp_path).refuse("bad-message", b"\xff\0\xfe", {})
    assert base64.b64decode(str(lines(tmp_path)[0]["base64"])) == b"\xff\0\xfe"


def test_about_can_break_nothing(tmp_path: Path) -> None:
    """Half characters and keys of ours in about are harmless."""
    about = {"to": "a\ud800", "reason": "forged", "size": 0}
    assert quarantine(tmp_path).refuse("policy", b"x", about)
    (line,) = lines(tmp_path)
    assert (line["reason"], line["size"], line["to"]) == ("policy", 1, "a\\ud800")


def test_stump_spoils_no_later_line(tmp_path: Path) -> None:
    """A crash in the middle of a refusal costs that one."""
    keeper = quarantine(tmp_path)
    keeper.refuse("one", b"", {})
    path = tmp_path / "quarantine" / "refused.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"v":1,"rea')
    quarantine(tmp_path).refuse("two", b"", {})
    last = path.read_bytes().split(b"\n")[-2]
    assert json.loads(last)["reason"] == "two"
    assert path.read_bytes().startswith(whole)


def test_full_disk_keeps_the_fact_alone(tmp_path: Path) -> None:
    """Rubbish must not take the room accepted mail still needs."""
    quarantine(tmp_path, Full()).refuse("policy", b"x" * 9999, {"to": "ada"})
    (line,) = lines(tmp_path)
    assert (line["size"], len(str(line["sha256"])), "data" in line) == (9999, 64, False)


def test_refusal_stands_when_it_cannot_be_kept(tmp_path: Path) -> None:
    """A broken disk must not turn a refusal into a crash."""
    (tmp_path / "quarantine").write_text("a file where the folder should be")
    assert quarantine(tmp_path).refuse("policy", b"x", {}) is False


def test_piece_is_kept_in_a_file_of_its_own(tmp_path: Path) -> None:
    """The same piece twice is one file: a start may be repeated."""
    keeper = quarantine(tmp_path)
    path = keeper.keep("mail/ada/inbox.jsonl", b"stump\0")
    assert Path(path).read_bytes() == b"stump\0"
    assert Path(path).parent == tmp_path / "quarantine"
    assert keeper.keep("mail/ada/inbox.jsonl", b"stump\0") == path
    assert keeper.keep("mail/ada/inbox.jsonl", b"other") != path
    assert len(list((tmp_path / "quarantine").iterdir())) == 2


def test_piece_is_durable_before_keep_returns(tmp_path: Path) -> None:
    """Its bytes, its name and its folder's name; else recovery may not cut."""
    done: list[str] = []

    class Noting(RealDisk):
        @staticmethod
        def sync(fd: int) -> None:
            done.append("sync")

        @staticmethod
        def rename(a: str, b: str) -> None:
            done.append("rename")
            RealDisk.rename(a, b)

        def sync_dir(self, path: str) -> None:
            done.append(f"sync {Path(path).name}")

    quarantine(tmp_path, Noting()).keep("x", b"y")
    assert done == [f"sync {tmp_path.name}", "sync", "rename", "sync quarantine"]


def test_keep_tells_when_it_cannot(tmp_path: Path) -> None:
    """Recovery must not cut what was not kept."""

    class Failing(RealDisk):
        @staticmethod
        def sync(fd: int) -> None:
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        quarantine(tmp_path, Failing()).keep("x", b"y")


def test_labels_cannot_leave_the_folder(tmp_path: Path) -> None:
    """A label is text from outside."""
    for label in ("../../x", "/etc/passwd", "..", "", "a\0b", "x" * 500):
        path = Path(quarantine(tmp_path).keep(label, b"y"))
        assert path.parent == tmp_path / "quarantine"
        assert not path.name.startswith(".")


def entry_ids(tmp_path: Path) -> list[str]:
    return [kept.entry.id for kept in entries(str(tmp_path))]


def test_only_the_entries_named_are_taken_away(tmp_path: Path) -> None:
    """A line, a file; the others stay byte for byte, a stump at the end with them."""
    keeper = quarantine(tmp_path)
    for text in ("one", "two", "three"):
        keeper.refuse("policy", text.encode(), {"id": text})
    keeper.keep("inbox.jsonl", b"a piece")
    keeper.keep("names.json", b"another")
    path = tmp_path / "quarantine" / "refused.jsonl"
    path.write_bytes(path.read_bytes() + b"\n\n{torn")
    before = path.read_bytes().split(b"\n")
    one, two, three, inbox, names = entry_ids(tmp_path)
    keeper.remove(frozenset({two, names, "000000000000"}))
    assert entry_ids(tmp_path) == [one, three, inbox]
    assert path.read_bytes() == before[0] + b"\n" + before[2] + b"\n\n\n{torn"
    # What is refused from now on is not spoiled by the stump.
    keeper.refuse("policy", b"four", {"id": "four"})
    assert len(entry_ids(tmp_path)) == 5


class Interrupted(RealDisk):
    """A disk that fails at the rename."""

    def rename(self, a: str, b: str) -> None:
        raise OSError(5, "Input/output error")


def test_a_removal_that_fails_takes_nothing_from_the_refusals(tmp_path: Path) -> None:
    """The new file takes the place of the old one whole, or not at all."""
    quarantine(tmp_path).refuse("policy", b"one", {})
    (one,) = entry_ids(tmp_path)
    with pytest.raises(OSError, match="Input/output"):
        quarantine(tmp_path, Interrupted()).remove(frozenset({one}))
    assert entry_ids(tmp_path) == [one]
    quarantine(tmp_path).remove(frozenset({one}))
    assert entry_ids(tmp_path) == []


class Meanwhile(RealDisk):
    """A disk on which something happens between the copy and the lock."""

    then: Callable[[], object] | None = None

    def pread(self, fd: int, n: int, offset: int, /) -> bytes:
        data = super().pread(fd, n, offset)
        if not data and (then := self.then) is not None:
            self.then = None
            then()
        return data


def test_what_is_refused_during_a_removal_stays(tmp_path: Path) -> None:
    """Whoever refuses does not wait for the whole copy, and loses nothing by it."""
    disk = Meanwhile()
    keeper = quarantine(tmp_path, disk)
    keeper.refuse("policy", b"one", {})
    (one,) = entry_ids(tmp_path)
    disk.then = lambda: quarantine(tmp_path).refuse("policy", b"two", {})
    keeper.remove(frozenset({one}))
    assert disk.then is None
    assert [kept.data for kept in entries(str(tmp_path))] == [b"two"]


def test_an_entry_is_found_by_the_start_of_its_id(tmp_path: Path) -> None:
    """Several are named, none is said."""
    keeper = quarantine(tmp_path)
    for number in range(40):
        keeper.refuse("policy", b"%d" % number, {})
    ids = entry_ids(tmp_path)
    assert find(str(tmp_path), ids[3]).data == b"3"
    twice = next(one[0] for one in ids if sum(i[0] == one[0] for i in ids) > 1)
    with pytest.raises(Usage, match="is the start of"):
        find(str(tmp_path), twice)
    with pytest.raises(NoInput):
        find(str(tmp_path), "0" * 12)
    with pytest.raises(NoInput):
        find(str(tmp_path), "zz")

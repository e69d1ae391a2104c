"""Which messages of an out queue can be sent once more, as its files tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from homi.address import Device
from homi.clock import parse_rfc3339
from homi.store.index import Index
from homi.store.places import queue_of
from homi.store.relayed import CHUNK, letters, sent

MINI = queue_of(Device("mini"))
BY = frozenset({"link mini"})
NOW = parse_rfc3339("2026-11-30T00:00:00.000Z")


def id_of(seq: int) -> str:
    """The id of the message at that seq."""
    return f"0199f3a2-61b4-7c7e-9d0e-aaaa{seq:08}"


class Out:
    """out/mini, written as a daemon would have left it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "out" / "mini"
        self.folder.mkdir(parents=True, mode=0o700)
        self._n = 0

    def put(self, *seqs: int, **msg: object) -> None:
        """Messages that wait."""
        for seq in seqs:
            head = {"id": id_of(seq), "from": "ada", "to": "bob@mini", "text": "hi"}
            via = {"door": "control", "uid": 1}
            line = {"at": "2026-11-01T00:00:00.000Z", "to": "bob@mini", "via": via}
            whole = {"v": 1, "seq": seq, **line, "msg": head | msg}
            self._append("queue", whole)

    def end(self, seq: int, rung: str, by: str = "link mini", day: int = 2) -> None:
        """What became of one."""
        self._n += 1
        line = {"n": self._n, "seq": seq, "id": id_of(seq), "rung": rung, "by": by}
        self._append("ledger", line | {"at": f"2026-11-{day:02}T00:00:00.000Z"})

    def close(self, last: int) -> None:
        """Both journals become a segment of the archive."""
        archive = self.folder / "archive"
        archive.mkdir(exist_ok=True)
        for name in ("queue", "ledger"):
            path = self.folder / f"{name}.jsonl"
            path.rename(archive / f"{name}.{last:016}.jsonl")

    def index(self) -> Index:
        """It, indexed."""
        index = Index.open(self.root)
        index.catch_up([MINI])
        return index

    def _append(self, name: str, line: dict[str, Any]) -> None:
        with (self.folder / f"{name}.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")


@pytest.fixture
def out(tmp_path: Path) -> Out:
    """An empty out queue."""
    return Out(tmp_path)


def test_what_went_on_is_found_from_the_newest_backwards(out: Out) -> None:
    """Also what was read since, which shows how far the other end is; not what waits,
    came to nothing, or went so long ago that it may be removed over there."""
    out.put(*range(1, CHUNK + 7))
    for seq in range(3, CHUNK + 5):
        out.end(seq, "relayed")
    out.end(9, "seen")
    out.end(2, "relayed", day=1)
    out.end(CHUNK + 5, "dropped")
    with out.index() as index:
        found = sent(index, MINI, None, "2026-11-01T12:00:00.000Z")
        assert [one.seq for one in found.entries] == list(range(CHUNK + 4, 4, -1))
        assert found.more
        rest = sent(index, MINI, 5, "2026-11-01T12:00:00.000Z")
        assert ([one.seq for one in rest.entries], rest.more) == ([4, 3], False)


def test_only_what_that_device_took_and_nobody_read_goes_again(out: Out) -> None:
    """Not what another device handed over, nor what its sender gave up since."""
    out.put(1, 2, 3, 4)
    out.put(5, ttl_s=60)
    out.put(6)
    for seq in (1, 2, 3, 5):
        out.end(seq, "relayed")
    out.end(2, "seen")
    out.end(3, "offered")
    out.end(4, "relayed", by="link hub")
    out.end(6, "relayed", by="link hub")
    out.end(6, "relayed")
    with out.index() as index:
        entries = sent(index, MINI, None, "").entries
        found = letters(index, entries, BY, NOW).items
        assert [one.seq for one in found] == [1, 3, 6]
        assert letters(index, entries, frozenset({"link hub"}), NOW).items[0].seq == 4
        assert letters(index, [], BY, NOW).items == []


def test_what_stands_in_the_archive_or_is_damaged_hides_no_other(out: Out) -> None:
    """Each at its place, wherever that is now."""
    out.put(1, 2)
    out.end(1, "relayed")
    out.end(2, "relayed")
    out.close(2)
    out.put(3, 4)
    out.end(3, "relayed")
    out.end(4, "relayed")
    with out.index() as index:
        entries = sent(index, MINI, None, "").entries
        archive = out.folder / "archive" / f"queue.{2:016}.jsonl"
        data = archive.read_bytes()
        archive.write_bytes(data.replace(id_of(1).encode(), b"x" * len(id_of(1))))
        found = letters(index, entries, BY, NOW).items
        assert [one.seq for one in found] == [2, 3, 4]
        line = data.splitlines(keepends=True)[1]
        assert (found[0].length, found[0].to) == (len(line), "bob@mini")

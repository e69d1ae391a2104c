"""Old archived mail is removed under a daemon; all else goes on."""

import json
import os
from collections.abc import Iterator

import pytest

from tests.standin import journals
from tests.standin.place import Place, homi_command

NONE: frozenset[int] = frozenset()


@pytest.fixture
def aged() -> Iterator[Place]:
    """Ada has three closed segments: old, old with one that is pending, and young."""
    with Place() as made:
        journals.write_names(made.state, ["ada", "svc"])
        for first, age, pending in ((1, 400, NONE), (11, 300, NONE), (21, 10, {25})):
            span = range(first, first + 10)
            journals.write_segment(made.state, "ada", span, age, frozenset(pending))
        yield made


def archived(place: Place) -> list[str]:
    """The numbers of the closed inboxes."""
    found = (place.state / "mail" / "ada" / "archive").glob("inbox.*")
    return sorted(path.name.split(".")[1].lstrip("0") for path in found)


def test_old_mail_goes_and_what_is_left_is_read_known_and_pending(aged: Place) -> None:
    """With a dry run before it, and a start behind it."""
    dry = aged.json("prune", "--dry-run")
    assert archived(aged) == ["10", "20", "30"]
    refused = aged.homi("prune")
    assert (refused.returncode, "homi start" in refused.stderr) == (69, True)
    aged.start()
    assert aged.homi("prune", "--older-than", "29d").returncode == 64
    assert aged.homi("prune", "--older-than", "soon").returncode == 64
    assert aged.homi("prune", "nobody").returncode == 67
    gone = aged.json("prune")
    assert gone == dry
    assert (gone["name"], gone["files"], gone["messages"]) == ("ada", 4, 20)
    assert (archived(aged), gone["upto"]) == (["30"], 20)
    _whole(aged)
    assert aged.ok("prune", "ada") == ""
    assert aged.json("status")["findings"] == []
    assert aged.stop() == 0
    aged.start()
    assert aged.json("status")["findings"] == []
    _whole(aged)
    aged.send("ada", "fresh")
    assert aged.stored("ada", "fresh")["seq"] == 31
    again = aged.ok("import", "--json", "ada", given=aged.ok("export", "ada"))
    assert (json.loads(again)["stored"], json.loads(again)["known"]) == (0, 11)


def test_a_mailbox_nobody_uses_goes_whole_and_its_name_goes_on() -> None:
    """The dry run says it, also what stays for the numbers."""
    with Place() as place:
        journals.write_names(place.state, ["ada"])
        span = range(1, 11)
        journals.write_segment(place.state, "ada", span, 200, NONE)
        for kind in ("inbox", "ledger"):
            closed = f"mail/ada/archive/{kind}.{10:016}.jsonl"
            (place.state / closed).rename(place.state / f"mail/ada/{kind}.jsonl")
        dry = place.json("prune", "--dry-run", "ada")
        assert (dry["files"], dry["messages"], dry["upto"]) == (2, 10, 10)
        assert "archive/ledger.0000000000000010.jsonl" in dry["note"]
        place.start()
        assert place.json("prune", "ada") == dry
        assert place.ok("prune", "ada") == place.ok("inbox", "--all", "ada") == ""
        assert place.homi("search", "words").stdout == ""
        place.send("ada", "fresh", sender="ada")
        assert place.stored("ada", "fresh")["seq"] == 11
        place.kill()
        place.start()
        assert place.json("status")["findings"] == []
        assert _seqs(place, "inbox", "--all") == [11]


def test_a_session_may_not(aged: Place) -> None:
    """Not even for its own name."""
    aged.start()
    ada = aged.session("ada")
    told = ada.tool(*homi_command(), "prune", "ada")
    assert told["rc"] == 77
    assert archived(aged) == ["10", "20", "30"]


def _whole(place: Place) -> None:
    """What stayed is there: listed, read, pending; what went is not."""
    assert _seqs(place, "inbox", "--all")[:10] == list(range(21, 31))
    assert _seqs(place, "queue") == [25]
    stays, went = (journals.message_id("ada", number) for number in (22, 5))
    assert "some words" in place.ok("read", "--name", "ada", stays)
    assert place.homi("read", "--name", "ada", went).returncode == 66
    assert place.ok("trace", stays)


def _blobs(place: Place, *argv: str) -> list[tuple[str, int, int]]:
    """What a prune tells of blobs."""
    rows = [json.loads(line) for line in place.ok(*argv, "--json").splitlines()]
    told = [(row["name"], row["files"], row["bytes"]) for row in rows]
    return [one for one in told if one[0].startswith("blobs/")]


def _seqs(place: Place, *argv: str) -> list[int]:
    """The sequences that a listing of ada has, in order."""
    lines = place.ok(*argv, "--json", "ada").splitlines()
    return [json.loads(line)["seq"] for line in lines]


def test_blobs_that_no_mail_names_go_and_a_dry_run_names_them(aged: Place) -> None:
    """With mail of all names, never with that of one."""
    folder = aged.state / "blobs"
    folder.mkdir(mode=0o700)
    old, young = "ab" * 32, "cd" * 32
    for name in (old, young):
        (folder / name).write_bytes(b"data")
    os.utime(folder / old, (1e9, 1e9))
    assert _blobs(aged, "prune", "--dry-run") == [(f"blobs/{old}", 1, 4)]
    aged.start()
    aged.ok("prune", "ada")
    assert sorted(os.listdir(folder)) == [old, young]
    assert _blobs(aged, "prune") == [("blobs/", 1, 4)]
    assert os.listdir(folder) == [young]

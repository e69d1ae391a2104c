"""The derived table of all messages: what it knows, and what it survives."""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from homi.address import Device, Name
from homi.envelope import Envelope, Kind, Msg, Reason, Rung, Via, Was, encode
from homi.errors import StorageFailed, Usage
from homi.store import words
from homi.store.index import Entry, Index, Query
from homi.store.loading import load
from homi.store.places import queue_of
from tests.unit.store.lines_kit import (
    ADA,
    AT,
    envelope,
    ledger,
    line,
    message,
    write_mailbox,
)

NAME = Name("ada")


def letter(seq: int, at: str = AT, **fields: object) -> bytes:
    """An inbox line whose msg has these fields."""
    given = {"id": message(seq), "from_": "bob", "to": "ada", "text": "hello", **fields}
    msg = encode(Msg(**given))  # type: ignore[arg-type]
    one = Envelope(
        v=1, seq=seq, at=at, to="ada", via=Via(door="control"), msg=msgspec.Raw(msg)
    )
    return encode(one) + b"\n"


def add(
    root: Path, inbox: bytes = b"", entries: bytes = b"", name: str = "ada"
) -> None:
    """Lines behind those that stand in a mailbox."""
    folder = root / "mail" / name
    folder.mkdir(parents=True, exist_ok=True)
    for kind, data in (("inbox", inbox), ("ledger", entries)):
        with (folder / f"{kind}.jsonl").open("ab") as file:
            file.write(data)


def caught_up(root: Path, *, text: bool = False) -> Index:
    """An index that knows all."""
    index = Index.open(root)
    index.catch_up(text=text)
    return index


def seqs(entries: list[Entry]) -> list[int]:
    """Which messages these are."""
    return [entry.seq for entry in entries]


def known(root: Path) -> list[Entry]:
    """Everything an index tells that caught up."""
    with caught_up(root) as index:
        return index.search(Query(names=(NAME,)))


# ---- knowing ----


def test_the_lag_is_what_the_journals_hold_beyond_it(tmp_path: Path) -> None:
    """Nothing of it is read to tell how much that is."""
    add(tmp_path, letter(1))
    with caught_up(tmp_path) as index:
        assert index.lag()[0] > 0
        assert index.lag()[1] == 0
        add(tmp_path, letter(2))
        assert index.lag()[1] == len(letter(2))


def test_a_message_is_known_with_all_that_became_of_it(tmp_path: Path) -> None:
    """Inbox and ledger lines are followed as a mailbox follows them."""
    data = letter(1, thread="t", kind=Kind.ASK, ttl_s=9) + letter(2)
    lines = ledger(
        line(1, 1, Rung.OFFERED, session=ADA),
        line(2, 1, Rung.DEFERRED, reason=Reason.BUSY, until=AT),
        line(3, 2, Rung.SEEN),
        line(4, 2, Rung.ANSWERED),
    )
    write_mailbox(tmp_path, data, lines)
    with caught_up(tmp_path) as index:
        first, second = index.search(Query(names=(NAME,)))
        assert index.pending(NAME) == [first]
        assert index.counts() == {NAME: (2, 1)}
    assert first == Entry(
        name=NAME,
        seq=1,
        segment=0,
        offset=0,
        length=len(data) - second.length,
        id=message(1),
        from_="bob",
        device=None,
        kind=Kind.ASK,
        addressed="ada",
        thread="t",
        reply_to=None,
        at=AT,
        ttl_s=9,
        rung=Rung.DEFERRED,
        reason=Reason.BUSY,
        until=AT,
        session=ADA,
        changed=AT,
        pending=True,
        dest="",
    )
    assert (second.rung, second.pending) == (Rung.ANSWERED, False)


def test_what_came_since_is_read_on_from_there(tmp_path: Path) -> None:
    """A second look reads the tail; a stump is read once it is whole."""
    whole = letter(2)
    write_mailbox(tmp_path, letter(1) + whole[:30])
    with caught_up(tmp_path) as index:
        assert seqs(index.search(Query())) == [1]
        add(tmp_path, whole[30:], ledger(line(1, 2, Rung.SEEN)))
        index.catch_up()
        assert seqs(index.search(Query())) == [1, 2]
        assert seqs(index.pending(NAME)) == [1]


@pytest.mark.parametrize("cut", ["inbox", "ledger"])
def test_a_journal_that_lost_lines_is_indexed_anew(tmp_path: Path, cut: str) -> None:
    """The index may be ahead of files that a power cut or a person made shorter."""
    lines = ledger(line(1, 1, Rung.HELD), line(2, 1, Rung.SEEN))
    folder = write_mailbox(tmp_path, letter(1) + letter(2), lines)
    assert [entry.pending for entry in known(tmp_path)] == [False, True]
    path = folder / f"{cut}.jsonl"
    os.truncate(path, path.read_bytes()[:-1].rfind(b"\n") + 1)
    after = known(tmp_path)
    assert (len(after), after[0].pending) == (
        (1, False) if cut == "inbox" else (2, True)
    )


def test_a_journal_with_other_bytes_is_indexed_anew(tmp_path: Path) -> None:
    """Of the same length, and the difference is in what no sync made sure of."""
    folder = write_mailbox(tmp_path, letter(1) + letter(2) + letter(3))
    known(tmp_path)
    data = bytearray((folder / "inbox.jsonl").read_bytes())
    data[len(letter(1)) : len(letter(1) + letter(2)) - 1] = bytes(len(letter(2)) - 1)
    (folder / "inbox.jsonl").write_bytes(data)
    assert seqs(known(tmp_path)) == [1, 3]


def test_long_mailboxes_take_many_steps_and_say_so(tmp_path: Path) -> None:
    """Progress is told in bytes; ledger lines wait for their inbox lines."""
    count = 60
    data = b"".join(letter(n, text="x" * 60_000) for n in range(1, count + 1))
    order = [*range(count, 0, -1)]
    lines = ledger(*(line(n, seq, Rung.SEEN) for n, seq in enumerate(order, 1)))
    write_mailbox(tmp_path, data, lines)
    told: list[tuple[int, int]] = []
    with Index.open(tmp_path) as index:
        index.catch_up(told=lambda *both: told.append(both))
        assert index.counts() == {NAME: (count, 0)}
        assert index.findings() == []
    total = len(data) + len(lines)
    assert len(told) > 2
    assert told[-1] == (total, total)


def test_findings_are_those_of_a_whole_reading(tmp_path: Path) -> None:
    """Unreadable lines, disorder, and lines about no envelope."""
    data = letter(1) + b"??\n" + letter(9) + letter(3) + letter(9) + letter(10)
    lines = b"what\n" + ledger(line(1, 7, Rung.SEEN), line(2, 3, Rung.SEEN))
    write_mailbox(tmp_path, data, lines)
    with caught_up(tmp_path) as index:
        found = index.findings([NAME])
        assert index.findings([Name("eve")]) == []
        assert seqs(index.pending(NAME)) == [1, 9, 10]
    loaded = load(str(tmp_path), NAME)
    assert sorted(f.offset for f in found) == sorted(f.offset for f in loaded.findings)
    assert {f.text for f in found} == {f.text for f in loaded.findings}
    assert {f.path for f in found} == {f.path for f in loaded.findings}


def test_an_envelope_that_comes_behind_its_ledger_line_is_believed(
    tmp_path: Path,
) -> None:
    """What was reported as missing is there after all."""
    write_mailbox(tmp_path, letter(1), ledger(line(1, 2, Rung.SEEN)))
    with caught_up(tmp_path) as index:
        assert len(index.findings()) == 1
        add(tmp_path, letter(2))
        index.catch_up()
        assert index.findings() == []
        assert seqs(index.pending(NAME)) == [1]


# ---- the file ----


def test_the_file_and_its_companions_are_private(tmp_path: Path) -> None:
    """From the first byte on, whatever the umask."""
    write_mailbox(tmp_path, letter(1))
    before = os.umask(0)
    try:
        with caught_up(tmp_path) as index:
            modes = {
                path.name: stat.S_IMODE(path.stat().st_mode)
                for path in tmp_path.iterdir()
                if path.name.startswith("index")
            }
            assert not index.in_memory
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}
    assert {"index.sqlite3", "index.sqlite3-wal"} <= set(modes)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"junk" * 5000),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
        lambda path: os.truncate(path, 8192),
        lambda path: _scribble(path, 4096),
        lambda path: _scribble(path, 60),
    ],
    ids=["junk", "empty", "gone", "cut", "first page", "version"],
)
def test_a_damaged_file_is_made_anew(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """It costs time, and nothing else."""
    write_mailbox(tmp_path, letter(1) + letter(2))
    before = known(tmp_path)
    damage(tmp_path / "index.sqlite3")
    assert known(tmp_path) == before
    with Index.open(tmp_path) as index:
        assert not index.in_memory


@pytest.mark.parametrize(
    "nonsense",
    [
        "kind='nix'",
        "rung='nix'",
        "reason='nix'",
        "session='{'",
        "seq='x'",
        "sender=x'ff'",
        "device=x'ff'",
    ],
)
def test_a_row_that_says_nonsense_is_read_from_the_files_again(
    tmp_path: Path, nonsense: str
) -> None:
    """SQLite sums no page: a flipped bit in a row is found by who reads it."""
    write_mailbox(tmp_path, letter(1) + letter(2))
    before = known(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "index.sqlite3")) as db, db:
        db.execute(f"UPDATE mail SET {nonsense} WHERE seq=2")
    with Index.open(tmp_path) as index:
        assert index.find(before[1].id) == [before[1]]
        index.catch_up(text=True)
    assert known(tmp_path) == before


def test_a_name_that_is_none_leads_to_no_folder(tmp_path: Path) -> None:
    """A row's name becomes a path."""
    write_mailbox(tmp_path, letter(1))
    before = known(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "index.sqlite3")) as db, db:
        db.execute("UPDATE box SET name='../ada'")
    with Index.open(tmp_path) as index:
        assert index.find(before[0].id) == before


def _scribble(path: Path, length: int) -> None:
    """Zeros over the middle of what stands at the start."""
    data = bytearray(path.read_bytes())
    data[40 : 40 + length] = b"\x07" * length
    path.write_bytes(data)


def test_a_file_removed_under_an_open_index_is_made_anew(tmp_path: Path) -> None:
    """Another hand may take it away at any time."""
    write_mailbox(tmp_path, letter(1))
    with caught_up(tmp_path) as index:
        for path in list(tmp_path.glob("index*")):
            path.unlink()
        add(tmp_path, letter(2))
        index.catch_up()
        assert seqs(index.search(Query())) == [1, 2]
        assert (tmp_path / "index.sqlite3").exists()


def test_without_a_writable_root_one_in_memory_stands_in(tmp_path: Path) -> None:
    """A folder stands where the file would; a root that is not there has no mail."""
    write_mailbox(tmp_path, letter(1))
    (tmp_path / "index.sqlite3").mkdir()
    with caught_up(tmp_path) as index:
        assert index.in_memory
        assert seqs(index.search(Query())) == [1]
    with caught_up(tmp_path / "nowhere") as index:
        assert index.search(Query()) == []
    assert not (tmp_path / "nowhere").exists()


def test_two_may_index_at_once(tmp_path: Path) -> None:
    """Each finds what the other did, and neither does it twice."""
    write_mailbox(tmp_path, letter(1))
    with Index.open(tmp_path) as one, Index.open(tmp_path) as other:
        one.catch_up()
        add(tmp_path, letter(2))
        other.catch_up()
        one.catch_up()
        assert seqs(one.search(Query())) == seqs(other.search(Query())) == [1, 2]


# ---- asking ----


def test_find_knows_starts_of_ids_and_of_their_last_parts(tmp_path: Path) -> None:
    """As people copy them, in any case; names narrow it."""
    write_mailbox(tmp_path, letter(1) + letter(2))
    add(tmp_path, letter(1), name="bob")
    whole = message(1)
    last = whole.rpartition("-")[2]
    with caught_up(tmp_path) as index:
        for prefix in (whole, whole.upper(), whole[:20], whole[:26], last, last[:6]):
            assert [(e.name, e.id) for e in index.find(prefix)] == [
                ("ada", whole),
                ("bob", whole),
            ]
        assert seqs(index.find(last, [NAME])) == [1]
        assert len(index.find("", limit=2)) == 2
        assert index.find("zz") == index.find(whole[1:]) == []


def test_each_condition_of_a_search_narrows_it(tmp_path: Path) -> None:
    """And without any it is everything, in order."""
    later = "2026-11-30T00:00:00.000Z"
    write_mailbox(
        tmp_path,
        letter(1)
        + letter(2, from_="eve", thread="t", reply_to=message(1))
        + letter(3, to="crew@mini", at=later),
        ledger(line(1, 1, Rung.SEEN)),
    )
    add(tmp_path, letter(4, at=later), name="bob")
    both = (NAME, Name("bob"))
    with caught_up(tmp_path) as index:
        for query, expected in (
            (Query(), [1, 2, 3, 4]),
            (Query(newest=True, limit=2), [4, 3]),
            (Query(names=(NAME,), newest=True), [3, 2, 1]),
            (Query(names=both), [1, 2, 3, 4]),
            (Query(names=()), []),
            (Query(sender="eve"), [2]),
            (Query(room="crew"), [3]),
            (Query(thread="t"), [2]),
            (Query(rungs=frozenset({Rung.SEEN})), [1]),
            (Query(pending=True), [2, 3, 4]),
            (Query(pending=False), [1]),
            (Query(since=later), [3, 4]),
            (Query(before=later), [1, 2]),
            (Query(after=2), [3, 4]),
            (Query(sender="eve", pending=False), []),
        ):
            assert seqs(index.search(query)) == expected, query
        assert seqs(index.replies([message(1), message(3)])) == [2]


def test_words_find_their_messages(tmp_path: Path) -> None:
    """Plain words work whatever is in them; the form of a search does too."""
    texts = ["the nightly build is red", "don't touch foo-bar.py", "Grün ist die build"]
    data = b"".join(letter(n, text=text) for n, text in enumerate(texts, 1))
    write_mailbox(tmp_path, data)
    with caught_up(tmp_path, text=True) as index:
        for text, expected in (
            ("build", [1, 3]),
            ("BUILD red", [1]),
            ("don't", [2]),
            ("foo-bar.py", [2]),
            ("grun", [3]),
            ("nigh*", [1]),
            ('"is red"', [1]),
            ('"red is"', []),
            ("red OR touch", [1, 2]),
            ("build NOT (red OR x)", [3]),
            ("and", []),
        ):
            assert seqs(index.search(Query(text=text))) == expected, text
        add(tmp_path, letter(4, text="red again"))
        index.catch_up(text=True)
        assert seqs(index.search(Query(text="red", newest=True))) == [4, 1]


def test_words_of_an_out_queue_are_found_beside_those_of_a_mailbox(
    tmp_path: Path,
) -> None:
    """What waits for another device has a place that is no name."""
    write_mailbox(tmp_path, letter(1, text="red here"))
    (tmp_path / "out" / "mini").mkdir(parents=True)
    (tmp_path / "out" / "mini" / "queue.jsonl").write_bytes(letter(1, text="red there"))
    with caught_up(tmp_path, text=True) as index:
        found = {one.name for one in index.search(Query(text="red"))}
        assert found == {NAME, queue_of(Device("mini"))}


def test_words_are_read_a_few_messages_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their number or by their bytes; one message of any size gets through."""
    write_mailbox(tmp_path, b"".join(letter(n, text="x " * 99) for n in range(1, 7)))
    for name, few in (("STEP", 2), ("STEP_BYTES", 2 * len(letter(1, text="x " * 99)))):
        with monkeypatch.context() as patched, Index.open(tmp_path) as index:
            patched.setattr(words, name, few)
            index.catch_up()
            met: list[str] = []
            while index.step_words(met.append):
                pass
            assert met == ["words-written"] * 3
            assert len(index.search(Query(text="x"))) == 6
        (tmp_path / "index.sqlite3").unlink()
    monkeypatch.setattr(words, "STEP_BYTES", 1)
    with caught_up(tmp_path, text=True) as index:
        assert len(index.search(Query(text="x"))) == 6


def test_a_common_word_gives_the_newest_that_are_all_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found in the order asked for, whichever way round."""
    data = b"".join(letter(n, text=f"build {n % 3}") for n in range(1, 31))
    write_mailbox(tmp_path, data)
    forms = (((NAME,), 3, 0, True), ((NAME,), 4, 7, False), (None, 50, 0, True))
    queries = [
        Query(text=text, names=names, limit=limit, after=after, newest=newest)
        for names, limit, after, newest in forms
        for text in ("build", "build NOT 2", "1")
    ]
    with caught_up(tmp_path, text=True) as index:
        usual = [seqs(index.search(query)) for query in queries]
        assert usual[0] == [30, 29, 28]
        monkeypatch.setattr(words, "COMMON", 5)
        assert [seqs(index.search(query)) for query in queries] == usual


@pytest.mark.parametrize("text", ["", "  ", '"open', "AND", "(red", "red OR", "* ("])
def test_odd_searches_are_usage_errors(tmp_path: Path, text: str) -> None:
    """With what was wrong, and no traceback."""
    write_mailbox(tmp_path, letter(1))
    with caught_up(tmp_path, text=True) as index, pytest.raises(Usage):
        index.search(Query(text=text))


def test_a_line_is_read_at_its_place_or_not_at_all(tmp_path: Path) -> None:
    """The index is a hint."""
    folder = write_mailbox(tmp_path, envelope(1) + envelope(2))
    with caught_up(tmp_path) as index:
        first, second = index.search(Query())
        assert index.line(second) == envelope(2)
        (folder / "inbox.jsonl").write_bytes(envelope(2) + envelope(1))
        with pytest.raises(StorageFailed):
            index.line(first)


def test_what_was_imported_as_finished_is_finished(tmp_path: Path) -> None:
    """As a mailbox sees it, which is read from the same line."""
    for seq, rung in ((1, Rung.SEEN), (2, Rung.OFFERED)):
        msg = encode(Msg(id=message(seq), from_="bob", to="ada", text="x"))
        via = Via(door="import", was=Was(at=AT, rung=rung, via={"door": "peer"}))
        one = Envelope(v=1, seq=seq, at=AT, to="ada", via=via, msg=msgspec.Raw(msg))
        add(tmp_path, encode(one) + b"\n")
    found = known(tmp_path)
    assert [(e.seq, e.rung, e.pending) for e in found] == [
        (1, Rung.SEEN, False),
        (2, Rung.STORED, True),
    ]
    assert list(load(str(tmp_path), NAME).mailbox.pending) == [2]

"""A damaged index is made anew, and answers as before: never with less."""

import contextlib
import random
import sqlite3
from pathlib import Path

import pytest

from homi.address import Name
from homi.envelope import Rung
from homi.errors import HomiError
from homi.store.disk import RealDisk
from homi.store.index import Index, Query
from homi.store.lines import Finding
from homi.store.loading import load
from homi.store.reminder import Reminder
from tests.unit.store.lines_kit import (
    envelope,
    ledger,
    line,
    message,
    write_mailbox,
)

NAME = Name("ada")
FILE = "index.sqlite3"
COUNT = 40


def answers(root: Path) -> dict[str, object]:
    """What an index that caught up tells."""
    with Index.open(root) as index:
        index.catch_up(text=True)
        return asked(index)


def asked(index: Index) -> dict[str, object]:
    """What an index tells as it is."""
    return {
        "all": index.search(Query()),
        "words": index.search(Query(text="pear")),
        "pending": index.pending(NAME),
        "counts": index.counts(),
        "near": index.near([message(7)]),
        "findings": index.findings(),
        "places": index.places(NAME, message(3)),
        "replies": index.replies([message(1)]),
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A mailbox with a bit of everything, indexed with its words."""
    inbox = b"".join(
        envelope(seq, text="a pear" if seq % 2 else "a plum")
        for seq in range(1, COUNT + 1)
    )
    done = [line(n, n, Rung.SEEN) for n in range(1, COUNT // 2)]
    write_mailbox(tmp_path, b"junk\n" + inbox, ledger(*done, line(99, 999, Rung.SEEN)))
    answers(tmp_path)
    return tmp_path


DAMAGE = {
    "a word index of no version": "DELETE FROM words_config",
    "a word index of another shape": "DROP TABLE words_docsize",
    "a table that is not there": "DROP TABLE finding",
    "no mark of the words": "DELETE FROM worded",
    "an odd mark of the words": "UPDATE worded SET row='x'",
    "half an id that is a number": "UPDATE mail SET head=x'ff', tail=x'ff'",
    "a finding that is no text": "UPDATE finding SET text=x'ff'",
    "a finding without a place": "UPDATE finding SET offset=x'00'",
    "ids that are none": "UPDATE ids SET keys='x'",
    "ids that are too few": "UPDATE ids SET keys=x''",
    "a run of ids that was there": "INSERT INTO ids VALUES(1, 2, x'')",
    "the record of a mailbox": "UPDATE box SET state='{}'",
    "the name of a mailbox": "UPDATE box SET name='../ada'",
    "no mailbox at all": "DELETE FROM box",
    "a row that is gone": "DELETE FROM mail WHERE seq=30",
    "another version": "PRAGMA user_version=2",
    "another program's": "PRAGMA application_id=7",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_an_index_that_says_nonsense_costs_time_and_no_answer(
    root: Path, damage: str
) -> None:
    """Asked at once, started with, and caught up: the files speak."""
    want = answers(root)
    with contextlib.closing(sqlite3.connect(root / FILE)) as db, db:
        db.execute(damage)
    _start_sees_all(root)
    folder = root / "mail" / "ada"
    with (folder / "inbox.jsonl").open("ab") as file:
        file.write(envelope(COUNT + 1, text="more"))
    got = answers(root)
    (root / FILE).unlink()
    assert got == answers(root)
    assert got["words"] == want["words"]
    assert len(got["all"]) == COUNT + 1  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ["words_config", "words_docsize", "box"])
def test_a_question_that_meets_damage_is_asked_again(root: Path, part: str) -> None:
    """The words of all messages are read again for a search that needs them."""
    want = answers(root)
    with contextlib.closing(sqlite3.connect(root / FILE)) as db, db:
        db.execute(f"DELETE FROM {part}")
    with Index.open(root) as index:
        index.search(Query(text="pear"))
        index.catch_up(text=True)
        assert asked(index) == want


def _start_sees_all(root: Path) -> None:
    """A start by the index sees what one without it sees, and knows old ids."""
    whole = load(str(root), NAME)
    with Index.open(root) as index:
        before = index.before(NAME)
        quick = load(str(root), NAME, before=before)
    assert list(quick.mailbox.pending) == list(whole.mailbox.pending)
    assert quick.mailbox.last_seq == whole.mailbox.last_seq
    reminder = Reminder(str(root), RealDisk())
    known = {(source, ident) for source, ident, _ in quick.keys}
    for source, ident, where in whole.keys:
        if (source, ident) not in known:
            assert quick.old is not None
            assert ident in quick.old
            assert reminder.places("ada", source, ident) == [where]


def test_a_row_that_is_asked_for_in_a_start_may_be_damaged(root: Path) -> None:
    """It is found where a new ledger line is about it: all is read then."""
    with Index.open(root) as index:
        before = index.before(NAME)
        assert before is not None
        with contextlib.closing(sqlite3.connect(root / FILE)) as db, db:
            db.execute("UPDATE mail SET kind='nix' WHERE seq=5")
        path = root / "mail" / "ada" / "ledger.jsonl"
        with path.open("ab") as file:
            file.write(ledger(line(100, 5, Rung.ANSWERED)))
        loaded = load(str(root), NAME, before=before)
    assert loaded.old is None, "what was vouched for is read"
    assert loaded.mailbox.last_n == 100
    assert [type(each) for each in loaded.findings] == [Finding, Finding]


def test_flipped_bits_and_cuts_lose_no_mail_and_raise_nothing(root: Path) -> None:
    """By chance, the same each time: whatever becomes of the file, a start sees all
    mail, and every question has an answer or says why it has none."""
    data, said = (root / FILE).read_bytes(), 0
    for seed in range(24):
        rng = random.Random(seed)
        (root / FILE).write_bytes(_hurt(bytearray(data), rng))
        for end in ("-wal", "-shm"):
            (root / (FILE + end)).unlink(missing_ok=True)
        _start_sees_all(root)
        try:
            answers(root)
        except HomiError:
            said += 1
    assert said < 12, "mostly there is an answer"


def _hurt(data: bytearray, rng: random.Random) -> bytes:
    """Some bits flipped, zeros, another page, or a cut."""
    kind, at = rng.randrange(4), rng.randrange(len(data))
    if kind == 0:
        for _ in range(rng.choice((1, 3, 30))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del data[at:]
    elif kind == 2:
        end = min(len(data), at + rng.choice((1, 100, 4096)))
        data[at:end] = bytes(end - at)
    else:
        one, other = (rng.randrange(len(data) >> 12) << 12 for _ in range(2))
        data[one : one + 4096] = data[other : other + 4096]
    return bytes(data)

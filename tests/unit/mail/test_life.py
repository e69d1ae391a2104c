"""The life of one message among those of others."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from homi.envelope import LedgerLine
from homi.mail import Mail, Start, life
from tests.unit.mail.kit import Root, letter, message


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Root:
    """ada has three."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    root = Root(tmp_path / "s")
    root.claim("ada")
    root.inbox("ada", *(letter(number, "bob", "text") for number in (1, 2, 3)))
    return root


def rungs(root: Root, number: int) -> list[str]:
    """The life of a message in ada's mailbox, in short."""
    return [line.rung.value for line in lines(root, number)]


def lines(root: Root, number: int) -> Iterator[Start | LedgerLine]:
    notes: list[str] = []
    with Mail(root.path, notes.append) as mail:
        (entry,) = mail.find(message(number))
        yield from life(mail, entry)


def close(root: Root, last: int) -> None:
    """Close the current segment, as a daemon at rest does."""
    folder = root.path / "mail" / "ada"
    (folder / "archive").mkdir(exist_ok=True, mode=0o700)
    for kind in ("inbox", "ledger"):
        (folder / f"{kind}.jsonl").rename(
            folder / "archive" / f"{kind}.{last:016}.jsonl"
        )


def test_a_life_is_how_it_came_and_every_line_about_it_in_order(root: Root) -> None:
    for number, rung in ((1, "held"), (2, "offered"), (1, "offered"), (1, "seen")):
        root.ledger("ada", number, number, rung)
    assert rungs(root, 1) == ["stored", "held", "offered", "seen"]
    assert rungs(root, 2) == ["stored", "offered"]


def test_a_message_nothing_became_of_yet_has_a_beginning(root: Root) -> None:
    """There is no ledger at all."""
    (start,) = lines(root, 3)
    assert isinstance(start, Start)
    assert (start.seq, start.from_, start.via.pid) == (3, "bob", 7)


def test_a_line_that_only_mentions_it_is_not_about_it(root: Root) -> None:
    """A digest is named in the lines of what it lists."""
    root.ledger("ada", 2, 2, "offered", by=f"digest {message(1)}")
    root.ledger("ada", 1, 1, "seen")
    assert rungs(root, 1) == ["stored", "seen"]


def test_an_unreadable_line_takes_no_other_with_it(root: Root) -> None:
    root.ledger("ada", 1, 1, "held")
    with (root.path / "mail" / "ada" / "ledger.jsonl").open("a") as file:
        file.write(f'{{"n":2,"seq":1,"id":"{message(1)}","rung":"li\n')
    root.ledger("ada", 1, 1, "seen")
    assert rungs(root, 1) == ["stored", "held", "seen"]


def test_lines_are_found_wherever_a_read_of_the_file_ends(root: Root) -> None:
    """Some of these lie across two of the pieces in which a ledger is read."""
    filler = "x" * 9_970
    for _ in range(110):
        root.ledger("ada", 2, 2, "held", leg=filler)
        root.ledger("ada", 1, 1, "held", leg=filler)
    assert len(rungs(root, 1)) == len(rungs(root, 2)) == 111


def test_what_is_archived_is_told_with_what_came_after(root: Root) -> None:
    """An answer may come when the letter's segment is closed already."""
    for number in (1, 2, 3):
        root.ledger("ada", number, number, "seen")
    close(root, 3)
    root.inbox("ada")
    assert rungs(root, 1) == ["stored", "seen"]
    root.ledger("ada", 1, 1, "answered", n=9, at="2026-11-30T23:00:00.000Z")
    assert rungs(root, 1) == ["stored", "seen", "answered"]
    assert rungs(root, 2) == ["stored", "seen"]

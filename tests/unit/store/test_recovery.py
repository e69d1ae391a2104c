"""A start: what is redone, cut, kept aside, synced, and what it refuses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from homi.envelope import Rung
from homi.errors import StorageFailed
from homi.store.base import Kept
from homi.store.fault import RECOVERY
from homi.store.ring import PAGE
from tests.unit.store.commit_kit import (
    Core,
    FaultyDisk,
    entry,
    ids,
    inbox_path,
    kept,
    ledger,
    mail,
)


class Died(Exception):
    """The process, at the point a test chose."""


def stored(root: Path, count: int = 4) -> list[str]:
    """That many mails in ada's inbox, all in the ring; the process is gone."""
    core = Core(root)
    mails = [mail(text=f"text {i}") for i in range(count)]
    for one in mails:
        core.commit(one)
    core.close()
    return [one.id for one in mails]


def kept_aside(root: Path) -> bytes:
    """Everything in quarantine."""
    folder = root / "quarantine"
    return (
        b"".join(p.read_bytes() for p in folder.iterdir()) if folder.exists() else b""
    )


def test_lines_that_stand_are_written_again_and_nothing_moves(tmp_path: Path) -> None:
    """Only what is written again may be believed to be synced after a failed sync."""
    stored(tmp_path)
    before = inbox_path(tmp_path).read_bytes()
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    assert inbox_path(tmp_path).read_bytes() == before
    assert disk.calls.count(("write", "inbox.jsonl")) == 1  # one run
    assert disk.calls.index(("sync", "inbox.jsonl")) < disk.calls.index(
        ("write", "ring")
    )
    assert core.committer.checkpoint.at_rest


def test_order_of_a_start_on_disk(tmp_path: Path) -> None:
    """Quarantine before the cut, the cut synced before it grows, the ring last."""
    stored(tmp_path)
    path = inbox_path(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    disk = FaultyDisk()
    Core(tmp_path, disk)
    steps = [call for call in disk.calls if call[0] != "sync_dir"]
    names = [name for _, name in steps]
    aside = names.index(next(n for n in names if "mail-ada-inbox" in n))
    assert [what for what, _ in steps[aside:]] == [
        "write",  # quarantine
        "sync",
        "truncate",
        "sync",
        "write",  # the line, again
        "sync",
        "write",  # both headers
        "write",
        "sync",
    ]
    folders = [name for what, name in disk.calls if what == "sync_dir"]
    assert "quarantine" in folders
    assert folders[-3:] == [tmp_path.name, "mail", "ada"]


def test_torn_last_line_is_redone_and_its_stump_kept_aside(tmp_path: Path) -> None:
    """A power cut in mid-line costs nothing that was promised."""
    message = stored(tmp_path)
    path = inbox_path(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    Core(tmp_path)
    assert ids(tmp_path) == message
    assert path.read_bytes().replace(b"\n\n", b"\n") == data
    assert kept_aside(tmp_path) == data.splitlines(keepends=True)[3][:-20]


def test_lost_inbox_is_made_again_from_the_ring(tmp_path: Path) -> None:
    """A name that was not durable may be gone with its folder after a power cut."""
    message = stored(tmp_path)
    inbox_path(tmp_path).unlink()
    inbox_path(tmp_path).parent.rmdir()
    Core(tmp_path)
    assert ids(tmp_path) == message


def test_hole_in_the_middle_is_filled_in_order(tmp_path: Path) -> None:
    """Everything from the lowest missing line on is written again: order is kept."""
    message = stored(tmp_path)
    path = inbox_path(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"\0" * len(lines[1]) + lines[2] + lines[3])
    Core(tmp_path)
    assert ids(tmp_path) == message
    assert b"text 3" in kept_aside(tmp_path)


def test_mixture_of_old_lines_that_parses_is_not_believed(tmp_path: Path) -> None:
    """Readable is not enough: a line stands only if it is the record's, byte for
    byte."""
    message = stored(tmp_path)
    path = inbox_path(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"text 2", b"text 0"))
    Core(tmp_path)
    assert ids(tmp_path) == message
    assert b"text 2" in path.read_bytes()


def test_lines_older_than_the_ring_are_left_alone(tmp_path: Path) -> None:
    """What a checkpoint synced is not the ring's to change, damaged or not."""
    core = Core(tmp_path)
    core.commit(mail(text="damaged"), mail(text="old"))
    core.checkpoint()
    core.commit(mail(text="new"))
    core.close()
    path = inbox_path(tmp_path)
    data = path.read_bytes().replace(b'"damaged"', b'"damag\x00d')
    path.write_bytes(data[:-5])
    again = Core(tmp_path)
    assert path.read_bytes().replace(b"\n\n", b"\n") == data
    assert [f.path for f in again.started.findings] == [str(path)]


def test_unfinished_tail_that_no_record_wants_stays_where_it_is(
    tmp_path: Path,
) -> None:
    """Cutting is for lines that are written again; anything else is only reported."""
    core = Core(tmp_path)
    core.commit(mail())
    core.checkpoint()
    core.close()
    path = inbox_path(tmp_path)
    data = path.read_bytes() + b'{"half'
    path.write_bytes(data)
    core = Core(tmp_path)
    assert path.read_bytes() == data
    core.commit(mail())
    assert path.read_bytes().startswith(data + b"\n")
    assert len(ids(tmp_path)) == 2


def test_next_sequence_is_above_the_ring(tmp_path: Path) -> None:
    """A sequence never changes its meaning, whatever became of its line."""
    stored(tmp_path)
    inbox_path(tmp_path).write_bytes(b"")
    core = Core(tmp_path)
    late = mail()
    core.commit(late)
    assert late.seq == 5


def test_decision_lost_from_the_page_cache_is_redone(tmp_path: Path) -> None:
    """Decisions go through the ring like mail."""
    core = Core(tmp_path)
    core.commit(mail())
    core.decide(entry(1, Rung.DROPPED))
    core.close()
    (tmp_path / "mail/ada/ledger.jsonl").unlink()
    core = Core(tmp_path)
    assert [x.rung for x in ledger(tmp_path)] == [Rung.DROPPED]
    assert core.started.mailboxes["ada"].pending == {}  # type: ignore[index]


def test_each_start_writes_new_generations(tmp_path: Path) -> None:
    """Else a record of this life could be taken for one of the next."""
    core = Core(tmp_path)
    before = core.committer.ring.generations
    core.close()
    core = Core(tmp_path)
    assert min(core.committer.ring.generations) > max(before)


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("sync", "inbox.jsonl"),
        ("sync", "ring"),
        ("sync_dir", "mail"),
        ("sync_dir", "ada"),
        ("sync_dir", "quarantine"),
        ("write", "inbox.jsonl"),
    ],
)
def test_failed_step_ends_the_start_and_the_next_one_succeeds(
    tmp_path: Path, what: str, name: str
) -> None:
    """A start that cannot be sure must not open a door (74); nothing is lost by it."""
    message = stored(tmp_path)
    path = inbox_path(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    disk = FaultyDisk()
    disk.fail(what, name)
    with pytest.raises(StorageFailed, match="Input/output error"):
        Core(tmp_path, disk)
    Core(tmp_path, disk)
    assert ids(tmp_path) == message


@pytest.mark.parametrize("point", RECOVERY)
def test_start_interrupted_anywhere_can_be_repeated(tmp_path: Path, point: str) -> None:
    """Two crashes in a row are as good as one."""
    message = stored(tmp_path)
    path = inbox_path(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    met: list[str] = []

    def die(here: str) -> None:
        met.append(here)
        if here == point:
            raise Died

    with pytest.raises(Died):
        Core(tmp_path, hook=die)
    Core(tmp_path)
    assert ids(tmp_path) == message
    Core(tmp_path)
    assert ids(tmp_path) == message
    assert met[-1] == point


def test_damaged_record_is_reported_and_costs_itself_only(tmp_path: Path) -> None:
    """One bad page of the ring must not end a start."""
    message = stored(tmp_path)
    with (tmp_path / "ring").open("r+b") as file:
        file.seek(2 * PAGE + 50)  # the second batch
        file.write(b"!")
    core = Core(tmp_path)
    assert [f.text for f in core.started.findings] == [
        "a damaged record; it does not count"
    ]
    assert ids(tmp_path) == message  # its line stood in the inbox


def test_foreign_journal_in_a_record_is_reported_and_not_written(
    tmp_path: Path,
) -> None:
    """A ring from elsewhere must not make a start write outside mail/."""
    core = Core(tmp_path)
    core.committer.journals.get("mail/ada/inbox.jsonl").tag = b"mail/../../evil.jsonl"
    core.commit(mail())
    core.close()
    core = Core(tmp_path)
    assert ["no journal" in f.text for f in core.started.findings] == [True]
    assert not list(tmp_path.parent.glob("evil*"))


def test_five_starts_in_a_row_change_nothing(tmp_path: Path) -> None:
    """A restart never wipes, doubles or reorders mail."""
    message = stored(tmp_path, 3)
    for _ in range(5):
        Core(tmp_path).close()
    core = Core(tmp_path)
    assert ids(tmp_path) == message
    assert [i.id for i in core.started.mailboxes["ada"].pending.values()] == message  # type: ignore[index]


def test_known_ids_are_known_after_a_repair(tmp_path: Path) -> None:
    """A retry after a crash is answered from the redone line."""
    stored(tmp_path)
    first = Core(tmp_path)
    one = mail(text="again")
    first.commit(one)
    first.close()
    path = inbox_path(tmp_path)
    path.write_bytes(path.read_bytes()[:-9])
    core = Core(tmp_path)
    assert kept(core.commit(mail(text="again", message=one.id))) == [Kept.KNOWN]


Change = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data + b"\n\n\n",
        lambda data: b"\n" + data,
        lambda data: data + b"\x00" * 5000,
        lambda data: data[:10],
        lambda data: b"",
    ],
    ids=["blank-behind", "blank-before", "zeros", "stump", "empty"],
)
def test_acknowledged_lines_stand_once_whatever_the_tail(
    tmp_path: Path, change: Change
) -> None:
    """Blank lines mean nothing; zeros and stumps are pages that did not make it."""
    message = stored(tmp_path)
    path = inbox_path(tmp_path)
    path.write_bytes(change(path.read_bytes()))
    Core(tmp_path).close()
    assert ids(tmp_path) == message
    before = path.read_bytes()
    Core(tmp_path).close()
    assert path.read_bytes() == before

"""Which closed segments may go: judged by the files, the oldest first."""

import shutil
import time
from pathlib import Path

import pytest

from homi.address import Name
from homi.clock import rfc3339
from homi.envelope import Rung
from homi.reports import PrunedRow
from homi.store.base import Kept
from homi.store.disk import RealDisk
from homi.store.index import Index, Query
from homi.store.loading import load
from homi.store.prune import DAY, Plan, Work, plan
from tests.standin.journals import write_mailbox, write_segment
from tests.unit.store.commit_kit import Core, entry, kept, mail

ADA = Name("ada")
NOBODY: frozenset[int] = frozenset()


def planned(root: Path, days: int = 90) -> Plan:
    """What may go of ada's mail."""
    before = rfc3339(time.time() - days * DAY)
    (found,) = plan(RealDisk(), str(root), [ADA], before)
    return found


def lasts(found: Plan) -> list[int]:
    """The segments in a plan that go as a whole."""
    return [old.segment.last for old in found.old if old.bearer is None]


def archive(root: Path, *ages: float, pending: frozenset[int] = NOBODY) -> list[str]:
    """A segment of three messages for each age; all ids."""
    ids = []
    for n, age in enumerate(ages):
        ids += write_segment(root, "ada", range(3 * n + 1, 3 * n + 4), age, pending)
    return ids


def removed(core: Core, days: int = 90) -> list[PrunedRow]:
    """Remove what may go, and let the committer forget it."""
    before = rfc3339(time.time() - days * DAY)
    plans = plan(core.disk, str(core.root), [ADA], before)
    work = Work(core.disk, str(core.root)).run(plans)
    for name, gone in work.gone.items():
        core.committer.place(name).known.without(gone)
    return work.rows


def test_what_is_old_and_finished_may_go_and_the_newest_leaves_its_numbers(
    tmp_path: Path,
) -> None:
    """They are what the next message counts on from."""
    archive(tmp_path, 400, 200, 100)
    assert lasts(planned(tmp_path)) == [3, 6]
    row = planned(tmp_path).row(3)
    assert (row.files, row.messages, row.upto) == (6, 9, 9)
    assert "archive/ledger.0000000000000009.jsonl" in row.note
    assert planned(tmp_path).row(2).note == ""
    files = list((tmp_path / "mail/ada/archive").iterdir())
    last = (tmp_path / "mail/ada/archive/ledger.0000000000000009.jsonl").read_bytes()
    bearer = last.splitlines(keepends=True)[-1]
    assert row.bytes == sum(path.stat().st_size for path in files) - len(bearer)


def test_what_grows_may_go_once_it_is_closed(tmp_path: Path) -> None:
    """A mailbox that nobody uses any more goes as a whole."""
    archive(tmp_path, 400)
    write_mailbox(tmp_path, "ada", 5, body=10)
    assert planned(tmp_path, 30).growing is None  # it counts behind, not anew
    shutil.rmtree(tmp_path / "mail/ada/archive")
    found = planned(tmp_path, 30)
    assert found.growing is None
    found = planned(tmp_path, -1)
    assert found.growing is not None
    assert found.growing.segment.last == 5
    assert found.without("busy").old == []


def test_what_grows_stays_with_what_is_pending_in_it_and_says_so_if_old(
    tmp_path: Path,
) -> None:
    """Of what is young nothing is said."""
    write_mailbox(tmp_path, "ada", 5, 2, body=10)
    assert (planned(tmp_path, -1).old, planned(tmp_path, 30).note) == ([], "")
    assert "message 4 in inbox.jsonl" in planned(tmp_path, -1).note


def test_what_is_younger_stays_and_all_behind_it(tmp_path: Path) -> None:
    """Also where a clock that stood wrong made it look older."""
    archive(tmp_path, 400, 20, 400, 400)
    assert lasts(planned(tmp_path)) == [3]
    assert planned(tmp_path).note == ""


def test_a_segment_whose_ledger_was_written_later_is_as_young(tmp_path: Path) -> None:
    """A late answer counts."""
    archive(tmp_path, 400, 400)
    assert lasts(planned(tmp_path)) == [3]
    ledger = tmp_path / "mail/ada/archive/ledger.0000000000000003.jsonl"
    last = ledger.read_bytes().splitlines()[-1]
    at = last.partition(b'"at":"')[2][:24]
    ledger.write_bytes(
        ledger.read_bytes().replace(at, rfc3339(time.time()).encode(), 1)
    )
    assert lasts(planned(tmp_path)) == []


def test_mail_that_is_not_finished_keeps_its_segment(tmp_path: Path) -> None:
    """The row says which."""
    archive(tmp_path, 400, 400, 400, pending=frozenset({5}))
    assert lasts(planned(tmp_path)) == [3]
    assert "message 5 in archive/inbox" in planned(tmp_path).note


@pytest.mark.parametrize("journal", ["inbox", "ledger"])
def test_a_line_that_cannot_be_read_keeps_its_segment(
    tmp_path: Path, journal: str
) -> None:
    """A person may still mend it."""
    archive(tmp_path, 400, 400)
    path = tmp_path / f"mail/ada/archive/{journal}.0000000000000003.jsonl"
    path.write_bytes(b"\xff\n" + path.read_bytes())
    assert lasts(planned(tmp_path)) == []
    assert "at offset 0" in planned(tmp_path).note


def test_a_removal_that_was_cut_short_is_passed_over_and_ended(tmp_path: Path) -> None:
    """The ledger alone says nothing; an inbox alone is never taken for one."""
    archive(tmp_path, 400, 400, 400)
    folder = tmp_path / "mail/ada/archive"
    (folder / "inbox.0000000000000003.jsonl").unlink()
    core = Core(tmp_path)
    try:
        assert core.started.findings == []
        assert core.started.mailboxes[ADA].pending == {}
        (row,) = removed(core)
        assert (row.files, row.messages, row.upto) == (5, 6, 9)
        assert len(list(folder.iterdir())) == 2
    finally:
        core.close()


def test_an_inbox_without_its_ledger_stays(tmp_path: Path) -> None:
    """Whether its mail is finished cannot be told."""
    archive(tmp_path, 400, 400)
    (tmp_path / "mail/ada/archive/ledger.0000000000000003.jsonl").unlink()
    assert lasts(planned(tmp_path)) == []
    assert planned(tmp_path).note


def test_the_store_goes_on_over_what_was_removed(tmp_path: Path) -> None:
    """Numbers go on, what stayed is known, what went is not, in this life too."""
    archive(tmp_path, 400, 400, 400)
    core = Core(tmp_path)
    try:
        known = core.committer.place("ada").known
        assert len(known) == 9
        (row,) = removed(core)
        assert (row.upto, row.code, len(known)) == (9, "", 0)
        assert removed(core) == []
        fresh = mail()
        assert kept(core.commit(fresh)) == [Kept.STORED]
        assert fresh.seq == 10
        late, ends = entry(5), entry(10, Rung.DROPPED)
        core.decide(late, ends)
        assert (late.line.n, ends.line.n) == (19, 20)
    finally:
        core.close()
    again = Core(tmp_path)
    try:
        assert again.started.findings == []
        assert again.started.mailboxes[ADA].last_n == 20
        fresh = mail()
        again.commit(fresh)
        assert fresh.seq == 11
    finally:
        again.close()


def test_the_index_forgets_what_is_gone(tmp_path: Path) -> None:
    """Rows, counts and words; what stayed is found at its place."""
    archive(tmp_path, 400, 400, 20)
    with Index.open(tmp_path) as index:
        index.catch_up(text=True)
        assert index.counts()[ADA] == (9, 0)
        core = Core(tmp_path)
        removed(core)
        core.close()
        index.catch_up(text=True)
        assert index.counts()[ADA] == (3, 0)
        for query in (Query(), Query(text="words")):
            found = index.search(query)
            assert [entry.seq for entry in found] == [7, 8, 9]
        assert all(index.line(entry) for entry in found)
        before = index.before(ADA)
        assert before is not None
        assert (before.last_seq, len(before.old)) == (9, 3)


@pytest.mark.parametrize("known", [True, False], ids=["followed", "made anew"])
def test_the_index_of_a_mailbox_that_went_goes_on_from_its_numbers(
    tmp_path: Path, known: bool
) -> None:
    """It says what a reading of the files says."""
    archive(tmp_path, 400, 400)
    if known:
        with Index.open(tmp_path) as index:
            index.catch_up(text=True)
            assert index.counts()[ADA] == (6, 0)
    core = Core(tmp_path)
    removed(core)
    core.close()
    with Index.open(tmp_path) as index:
        index.catch_up(text=True)
        assert index.counts()[ADA] == (0, 0)
        assert index.search(Query(text="words")) == []
        assert index.findings() == []
        before = index.before(ADA)
    loaded = load(str(tmp_path), ADA)
    assert before is not None
    assert (before.last_seq, before.last_n, before.archived) == (6, 12, 6)
    assert (loaded.mailbox.last_seq, loaded.mailbox.last_n) == (6, 12)
    assert (loaded.archived, loaded.findings) == (6, [])


def test_a_file_that_cannot_be_removed_is_told_and_still_known(tmp_path: Path) -> None:
    """No id is forgotten whose line is there."""
    archive(tmp_path, 400, 400, 400)
    core = Core(tmp_path)
    real = core.disk.unlink

    def unlink(path: str) -> None:
        if path.endswith("inbox.0000000000000006.jsonl"):
            raise OSError(5, "Input/output error", path)
        real(path)

    core.disk.unlink = unlink  # type: ignore[method-assign]
    try:
        (row,) = removed(core)
        assert (row.upto, row.code) == (3, "io")
        assert "Input/output" in row.error
        assert len(core.committer.place("ada").known) == 6
    finally:
        core.close()

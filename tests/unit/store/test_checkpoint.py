"""Freeing the ring: what is synced, in which order, and what a failure stops."""

from pathlib import Path

import pytest

from homi.store.base import Kept
from homi.store.ring import PAGE
from tests.unit.store.commit_kit import Core, FaultyDisk, entry, ids, kept, mail


def test_journals_and_folders_are_synced_before_the_header(tmp_path: Path) -> None:
    """A half freed too early loses lines that only it held durably."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail("ada"), mail("bob"))
    disk.calls.clear()
    core.checkpoint()
    assert disk.calls == [
        ("sync", "inbox.jsonl"),
        ("sync", "inbox.jsonl"),
        ("sync_dir", "ada"),
        ("sync_dir", "bob"),
        ("sync_dir", "mail"),
        ("sync_dir", tmp_path.name),
        ("write", "ring"),
        ("sync", "ring"),
    ]
    assert core.committer.checkpoint.at_rest


def test_folders_known_to_be_durable_are_not_synced_again(tmp_path: Path) -> None:
    """A thousand names would cost a thousand syncs for nothing."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail())
    core.checkpoint()
    core.commit(mail())
    disk.calls.clear()
    core.checkpoint()
    assert "sync_dir" not in [what for what, _ in disk.calls]
    assert ("sync", "inbox.jsonl") in disk.calls


def test_batches_go_on_in_the_other_half_while_journals_are_synced(
    tmp_path: Path,
) -> None:
    """A checkpoint must not stop accept; what it does not cover stays dirty."""
    core = Core(tmp_path)
    checkpoint = core.committer.checkpoint
    core.commit(mail("ada"))
    checkpoint.wanted = True
    half = core.committer.between()
    assert half == 0
    assert kept(core.commit(mail("ada"), mail("bob"))) == [Kept.STORED] * 2
    checkpoint.sync_dirty(half)
    core.committer.between()
    assert core.committer.ring.ends[0] == PAGE
    assert core.committer.ring.ends[1] > PAGE
    assert not checkpoint.at_rest
    core.checkpoint()
    assert checkpoint.at_rest


def test_no_second_swap_before_the_first_half_is_free(tmp_path: Path) -> None:
    """A half whose journals are not synced must never be written over."""
    core = Core(tmp_path)
    checkpoint = core.committer.checkpoint
    core.commit(mail())
    checkpoint.wanted = True
    half = core.committer.between()
    assert half is not None
    core.commit(mail())
    checkpoint.wanted = True
    assert core.committer.between() is None
    checkpoint.sync_dirty(half)
    assert core.committer.between() == 1


def test_evidence_becomes_durable_with_a_checkpoint(tmp_path: Path) -> None:
    """At rest the folder alone is everything, ledgers too."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.evidence(entry())
    assert not core.committer.checkpoint.at_rest
    disk.calls.clear()
    core.checkpoint()
    assert disk.calls[0] == ("sync", "ledger.jsonl")
    assert core.committer.checkpoint.at_rest


def test_failed_journal_sync_closes_accept_and_its_lines_are_written_again(
    tmp_path: Path,
) -> None:
    """A failed sync is never believed the second time: its pages look clean."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    mails = [mail() for _ in range(3)]
    core.commit(*mails)
    disk.fail("sync", "ada/inbox.jsonl")
    core.committer.checkpoint.wanted = True
    half = core.committer.between()
    assert half is not None
    core.committer.checkpoint.sync_dirty(half)
    assert core.committer.between() is None
    assert "cannot sync mail/ada/inbox.jsonl" in core.committer.closed
    assert kept(core.commit(mail())) == [Kept.FAILED]
    disk.calls.clear()
    core.committer.reopen()
    assert ("write", "inbox.jsonl") in disk.calls
    assert disk.calls.index(("sync", "inbox.jsonl")) < disk.calls.index(
        ("write", "ring")
    )
    assert core.committer.closed == ""
    assert kept(core.commit(mail())) == [Kept.STORED]
    assert ids(tmp_path)[:3] == [m.id for m in mails]


def test_evidence_waits_for_its_own_ledger_to_be_made_good(tmp_path: Path) -> None:
    """A line behind lost pages may be cut; then nothing may be offered on it."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.evidence(entry(place="ada"), entry(place="bob"))
    disk.fail("sync", "ada/ledger.jsonl")
    core.committer.checkpoint.wanted = True
    half = core.committer.between()
    assert half is not None
    core.committer.checkpoint.sync_dirty(half)
    core.committer.between()
    batch = core.evidence(entry(place="ada"), entry(place="bob"))
    assert [e.ok for e in batch.evidence] == [False, True]
    core.committer.reopen()
    assert [e.ok for e in core.evidence(entry(place="ada")).evidence] == [True]


def test_failed_folder_sync_frees_nothing(tmp_path: Path) -> None:
    """A new inbox whose name is not durable is lost with all its lines."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail())
    disk.fail("sync_dir", "mail")
    core.committer.checkpoint.wanted = True
    half = core.committer.between()
    assert half is not None
    core.committer.checkpoint.sync_dirty(half)
    core.committer.between()
    assert "folder" in core.committer.closed
    disk.calls.clear()
    core.committer.reopen()
    assert core.committer.closed == ""
    assert ("sync_dir", "mail") in disk.calls


def test_failed_header_sync_closes_accept(tmp_path: Path) -> None:
    """Records in a half whose header is not durable would be dead after a cut."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail())
    core.committer.checkpoint.wanted = True
    half = core.committer.between()
    assert half is not None
    core.committer.checkpoint.sync_dirty(half)
    disk.fail("sync", "ring")
    core.committer.between()
    assert "ring" in core.committer.closed
    core.committer.reopen()
    assert kept(core.commit(mail())) == [Kept.STORED]


@pytest.mark.parametrize("size", [10, 100_000])
def test_many_laps_of_the_ring_lose_nothing(tmp_path: Path, size: int) -> None:
    """Halves are swapped and freed in turn; a start finds every line once."""
    core = Core(tmp_path)
    mails = []
    for _ in range(300 if size < 100 else 40):
        mails.append(mail(text="x" * size))
        batch = core.commit(mails[-1])
        if batch.late_mails:
            batch = core.commit(mails[-1])
            core.committer.between()
        assert kept(batch) == [Kept.STORED]
    core.close()
    core = Core(tmp_path)
    assert ids(tmp_path) == [m.id for m in mails]
    assert list(core.started.mailboxes["ada"].pending) == list(range(1, 1 + len(mails)))  # type: ignore[index]

"""One batch: its order on disk, its outcomes, and what a failure leaves."""

from pathlib import Path

from homi.envelope import MessageId, Rung, Via
from homi.store.base import Kept
from homi.store.batch import Batch
from tests.unit.store.commit_kit import (
    MIB,
    Core,
    FaultyDisk,
    entry,
    ids,
    inbox_path,
    kept,
    ledger,
    mail,
    new_id,
)

STORED, KNOWN, CONFLICT, FAILED = (
    Kept.STORED,
    Kept.KNOWN,
    Kept.CONFLICT,
    Kept.FAILED,
)


def test_ring_is_synced_before_any_line_and_only_the_ring(tmp_path: Path) -> None:
    """Acknowledged means stored, at one sync however many names a batch has."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    disk.calls.clear()
    batch = core.commit(mail("ada"), mail("bob"), mail("eve"), mail("ada"))
    assert kept(batch) == [STORED] * 4
    assert disk.calls == [
        ("write", "ring"),
        ("sync", "ring"),
        ("write", "inbox.jsonl"),
        ("write", "inbox.jsonl"),
        ("write", "inbox.jsonl"),
    ]


def test_lines_stand_where_the_mail_says_with_growing_sequences(
    tmp_path: Path,
) -> None:
    """The mailbox reads each envelope at the place it was told."""
    core = Core(tmp_path)
    mails = [mail(text=f"text {i}") for i in range(5)]
    core.commit(*mails[:2])
    core.commit(*mails[2:])
    data = inbox_path(tmp_path).read_bytes()
    for seq, one in enumerate(mails, 1):
        assert one.seq == seq
        assert data[one.offset : one.offset + one.length] == (
            b'{"v":1,"seq":%d,' % seq + one.tail
        )


def test_same_id_and_bytes_again_is_known_with_its_sequence(tmp_path: Path) -> None:
    """A retry is answered from the line that stands, also after a restart."""
    core = Core(tmp_path)
    first = mail()
    core.commit(mail(), first)
    again = mail(message=first.id)
    assert kept(core.commit(again)) == [KNOWN]
    assert (again.seq, again.offset, again.length) == (2, first.offset, first.length)
    core.close()
    core = Core(tmp_path)
    assert kept(core.commit(mail(message=first.id))) == [KNOWN]
    assert len(ids(tmp_path)) == 2


def test_same_id_with_other_bytes_is_a_conflict(tmp_path: Path) -> None:
    """The first content under an id wins."""
    core = Core(tmp_path)
    first = mail(text="one")
    core.commit(first)
    assert kept(core.commit(mail(text="two", message=first.id))) == [CONFLICT]
    assert len(ids(tmp_path)) == 1


def test_id_is_known_per_place_and_origin(tmp_path: Path) -> None:
    """Guessing an id must not have another's mail dropped, nor one place another's."""
    core = Core(tmp_path)
    first = mail("ada")
    core.commit(first)
    other = mail("ada", message=first.id, via=Via(door="control", uid=7))
    elsewhere = mail("bob", message=first.id)
    assert kept(core.commit(other, elsewhere)) == [STORED, STORED]


def test_twins_in_one_batch_share_the_outcome(tmp_path: Path) -> None:
    """An id in flight joins the first copy; it never gets two lines."""
    core = Core(tmp_path)
    same = new_id()
    batch = core.commit(
        mail(message=same), mail(message=same), mail(message=same, text="other")
    )
    assert kept(batch) == [STORED, KNOWN, CONFLICT]
    assert batch.mails[1].seq == batch.mails[0].seq == 1
    assert len(ids(tmp_path)) == 1


def test_twins_of_a_refused_batch_are_refused(tmp_path: Path) -> None:
    """A twin must not be told more than the first copy."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    disk.fail("sync", "ring")
    same = new_id()
    assert kept(core.commit(mail(message=same), mail(message=same))) == [FAILED] * 2


def test_failed_ring_sync_refuses_the_batch_and_forgets_its_ids(
    tmp_path: Path,
) -> None:
    """Nothing of it is known to be stored, and the same ids are safe to send again."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    disk.fail("sync", "ring", after=4)
    batches = [[mail(), mail("bob")] for _ in range(6)]
    outcomes = [kept(core.commit(*batch)) for batch in batches]
    assert outcomes == [[STORED] * 2] * 4 + [[FAILED] * 2] * 2
    assert "Input/output" in core.committer.closed
    assert len(ids(tmp_path)) == 4
    core.committer.reopen()
    assert core.committer.closed == ""
    again = [core.commit(*(mail(m.place, message=m.id) for m in b)) for b in batches]
    assert [kept(b) for b in again] == [[KNOWN] * 2] * 4 + [[STORED] * 2] * 2
    assert ids(tmp_path) == [b[0].id for b in batches]


def test_failed_ring_sync_is_not_believed_the_second_time(tmp_path: Path) -> None:
    """Its pages look clean: only a new generation, synced, opens accept again."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail())
    disk.fail("sync", "ring", times=3)
    core.commit(mail())
    before = list(core.committer.ring.generations)
    core.committer.reopen()
    core.committer.reopen()
    assert core.committer.closed != ""
    core.committer.reopen()
    assert core.committer.closed == ""
    assert min(core.committer.ring.generations) > max(before)


def test_closed_committer_still_answers_known_ids(tmp_path: Path) -> None:
    """What is synced stays true; everything else is refused meanwhile."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    first = mail()
    core.commit(first)
    disk.fail("sync", "ring")
    core.commit(mail())
    assert kept(core.commit(mail(message=first.id), mail())) == [KNOWN, FAILED]


def test_full_disk_after_the_sync_closes_accept_until_the_line_is_finished(
    tmp_path: Path,
) -> None:
    """The ring holds it: it is stored as soon as there is room, and once."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail())
    disk.room = 100
    lost = mail(text="x" * 500)
    batch = core.commit(lost)
    assert kept(batch) == [FAILED]
    assert "No space" in core.committer.closed
    core.committer.reopen()
    assert core.committer.closed != ""
    disk.room = None
    result = core.committer.reopen()
    assert core.committer.closed == ""
    assert result.mails == [lost]
    data = inbox_path(tmp_path).read_bytes()
    assert data[lost.offset : lost.offset + lost.length].endswith(lost.tail)
    assert kept(core.commit(mail(message=lost.id, text="x" * 500))) == [KNOWN]
    assert ids(tmp_path).count(lost.id) == 1


def test_failing_journal_refuses_its_own_senders_only(tmp_path: Path) -> None:
    """The other names of the batch have their lines and their answer."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail("ada"), mail("bob"))
    disk.fail("write", "ada/inbox.jsonl")
    batch = core.commit(mail("ada"), mail("bob"))
    assert kept(batch) == [FAILED, STORED]
    result = core.committer.reopen()
    assert [m.place for m in result.mails] == ["ada"]
    assert len(ids(tmp_path)) == len(ids(tmp_path, "bob")) == 2


def test_mail_owed_is_placed_even_if_the_first_try_to_reopen_fails_late(
    tmp_path: Path,
) -> None:
    """After the new headers the old records are gone; what they placed is not."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail())
    disk.fail("write", "inbox.jsonl")
    lost = mail(text="owed")
    core.commit(lost)
    disk.fail("sync", "ring")
    assert core.committer.reopen().mails == []
    assert core.committer.reopen().mails == [lost]
    assert kept(core.commit(mail(message=lost.id, text="owed"))) == [KNOWN]


def test_moved_lines_are_told_with_their_new_offsets(tmp_path: Path) -> None:
    """A mailbox that read at the old places would read other lines."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    mails = [mail() for _ in range(3)]
    core.commit(*mails)
    path = inbox_path(tmp_path)
    data = path.read_bytes()
    second = mails[1]
    path.write_bytes(data[: second.offset] + b"?" + data[second.offset + 1 :])
    disk.fail("sync", "ring")
    core.commit(mail())
    result = core.committer.reopen()
    moved = result.moved["ada"]
    assert sorted(moved) == [2, 3]
    data = path.read_bytes()
    for one in mails[1:]:
        assert data[moved[one.seq] :].startswith(b'{"v":1,"seq":%d,' % one.seq)
    assert kept(core.commit(*(mail(message=m.id) for m in mails))) == [KNOWN] * 3


def test_record_larger_than_half_of_a_half_is_refused(tmp_path: Path) -> None:
    """It could never be placed; it must not block what is behind it."""
    core = Core(tmp_path, size=MIB)
    batch = core.commit(mail(text="x" * (MIB // 4)), mail())
    assert kept(batch) == [FAILED, STORED]
    assert core.committer.closed == ""
    assert kept(core.commit(mail(text="x" * (MIB // 4 - 2000)))) == [STORED]


def test_what_finds_no_room_is_late_and_in_order(tmp_path: Path) -> None:
    """A full ring makes accept wait; nobody is overtaken and nobody is refused."""
    core = Core(tmp_path, size=MIB)
    mails = [mail(text="x" * 100_000) for _ in range(7)]
    batch = Batch(list(mails), [entry(1, Rung.DROPPED)], [])
    core.committer.commit(batch)
    assert kept(batch) == [STORED] * 5
    assert batch.late_mails == mails[5:]
    assert len(batch.late_decisions) == 1
    assert batch.decisions == []
    late = core.batch(Batch(batch.late_mails, batch.late_decisions, []))
    assert kept(late) == [STORED] * 2
    assert late.decisions[0].ok
    assert ids(tmp_path) == [m.id for m in mails]


def test_evidence_is_appended_without_a_sync_before_the_records(
    tmp_path: Path,
) -> None:
    """Losing it can only repeat a hand-over; its number must grow in the file."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail())
    disk.calls.clear()
    batch = core.evidence(entry(1, Rung.INTENT), entry(1, Rung.OFFERED))
    assert [e.ok for e in batch.evidence] == [True, True]
    assert disk.calls == [("write", "ledger.jsonl")]
    core.batch(Batch([], [entry(1, Rung.DROPPED)], [entry(1, Rung.SEEN)]))
    assert [(x.n, x.rung) for x in ledger(tmp_path)] == [
        (1, Rung.INTENT),
        (2, Rung.OFFERED),
        (3, Rung.SEEN),
        (4, Rung.DROPPED),
    ]


def test_decision_is_true_only_after_the_rings_sync(tmp_path: Path) -> None:
    """Who was told 'cancelled' must not see the mail offered after a power cut."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail())
    disk.fail("sync", "ring")
    assert [e.ok for e in core.decide(entry(1, Rung.CANCELLED)).decisions] == [False]
    core.committer.reopen()
    assert [e.ok for e in core.decide(entry(1, Rung.CANCELLED)).decisions] == [True]
    assert [x.rung for x in ledger(tmp_path)] == [Rung.CANCELLED]


def test_evidence_goes_on_while_accept_is_closed(tmp_path: Path) -> None:
    """Draining must not stop because the ring cannot be synced."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail())
    disk.fail("sync", "ring")
    core.commit(mail())
    assert [e.ok for e in core.evidence(entry(1)).evidence] == [True]


def test_ledger_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """Then nothing is offered; and another ledger is none the worse."""
    disk = FaultyDisk()
    core = Core(tmp_path, disk)
    core.commit(mail("ada"), mail("bob"))
    disk.fail("write", "ada/ledger.jsonl")
    batch = core.evidence(entry(1, place="ada"), entry(1, place="bob"))
    assert [e.ok for e in batch.evidence] == [False, True]
    assert core.committer.closed == ""
    assert [e.ok for e in core.evidence(entry(1)).evidence] == [True]


def test_damaged_line_answers_for_its_id_only_until_it_is_made_good(
    tmp_path: Path,
) -> None:
    """While the ring may still hold the line the id is refused, not stored twice;
    damage that came later is for ever, and the same id is stored anew."""
    core = Core(tmp_path)
    first = mail()
    core.commit(first)
    path = inbox_path(tmp_path)
    path.write_bytes(path.read_bytes().replace(b"hello", b"he\x00lo"))
    assert kept(core.commit(mail(message=first.id))) == [FAILED]
    core.checkpoint()
    assert kept(core.commit(mail(message=first.id))) == [STORED]
    assert ids(tmp_path) == [MessageId(first.id)]

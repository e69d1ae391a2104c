"""A start that reads tails: what it knows of the rest, and never a double."""

import asyncio
from pathlib import Path

import pytest

from homi.address import Name
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import MessageId, Rung
from homi.store.base import Kept
from homi.store.disk import RealDisk
from homi.store.index import Index
from homi.store.quarantine import Quarantine
from homi.store.start import Started, start
from homi.store.store import DiskStore
from tests.unit.store.commit_kit import MIB, Core, entry, ids, kept, mail, new_id

ADA = Name("ada")


class Counting(RealDisk):
    """Counts the bytes that are read of inboxes."""

    def __init__(self) -> None:
        self.read = 0

    def pread(self, fd: int, n: int, offset: int) -> bytes:  # type: ignore[override]
        data = RealDisk.pread(fd, n, offset)
        self.read += len(data)
        return data


class Quick(Core):
    """A core that starts by the index."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = Counting()
        keep = Quarantine(str(root), self.disk).keep
        with Index.open(root, self.disk) as index:
            self.started: Started = start(
                self.disk, str(root), MIB, keep, lambda: 0.0, index=index
            )
        self.committer = self.started.committer


def lived(root: Path, *texts: str) -> list[str]:
    """A life that stored these texts and finished all but the last; their ids."""
    core = Core(root)
    mails = [mail(text=text) for text in texts]
    core.commit(*mails)
    core.decide(*(entry(seq, Rung.DROPPED) for seq in range(1, len(texts))))
    core.checkpoint()
    core.close()
    return [one.id for one in mails]


def indexed(root: Path) -> None:
    """All that stands there is in the index."""
    with Index.open(root) as index:
        index.catch_up()


def test_only_the_tails_are_read(tmp_path: Path) -> None:
    """Pending mail and sequences come from the index, what is behind it from disk."""
    lived(tmp_path, *("x" * 20_000 for _ in range(20)))
    indexed(tmp_path)
    core = Core(tmp_path)
    core.commit(mail(text="later"))
    core.close()
    quick = Quick(tmp_path)
    box = quick.started.mailboxes[ADA]
    assert list(box.pending) == [20, 21]
    assert (box.last_seq, box.last_n) == (21, 19)
    assert box.read(20).seq == 20
    assert quick.disk.read < 3 * MIB  # the empty ring, and little more
    late = mail()
    quick.commit(late)
    assert (late.kept, late.seq) == (Kept.STORED, 22)
    assert len(quick.committer.place("ada").known) == 2
    quick.close()


def test_an_old_id_is_known_by_the_index(tmp_path: Path) -> None:
    """The same again, other bytes under it, and the same id of another sender."""
    texts = ("one", "two", "three")
    before = lived(tmp_path, *texts)
    indexed(tmp_path)
    quick = Quick(tmp_path)
    again = mail(text="two", message=before[1])  # type: ignore[arg-type]
    twisted = mail(text="2", message=before[1])  # type: ignore[arg-type]
    stranger = mail(
        text="two",
        message=before[1],  # type: ignore[arg-type]
        via=again.via.__class__(door="control", uid=7),
    )
    fresh = mail(text="two", message=new_id())
    batch = quick.commit(again, twisted, stranger, fresh)
    assert kept(batch) == [Kept.KNOWN, Kept.CONFLICT, Kept.STORED, Kept.STORED]
    assert again.seq == 2
    assert len(ids(tmp_path)) == 5
    quick.close()


@pytest.mark.parametrize("harm", ["gone", "junk", "empty"])
def test_an_index_that_is_lost_costs_time_and_no_double(
    tmp_path: Path, harm: str
) -> None:
    """It vouched for the ids at the start; then the files must."""
    before = lived(tmp_path, "one", "two", "three")
    indexed(tmp_path)
    quick = Quick(tmp_path)
    for path in tmp_path.glob("index*"):
        path.unlink()
    if harm != "gone":
        (tmp_path / "index.sqlite3").write_bytes(
            b"junk" * 999 if harm == "junk" else b""
        )
    again = mail(text="two", message=before[1])  # type: ignore[arg-type]
    assert kept(quick.commit(again, mail())) == [Kept.KNOWN, Kept.STORED]
    quick.close()
    assert len(ids(tmp_path)) == 4


def test_an_index_that_lost_rows_is_not_believed(tmp_path: Path) -> None:
    """A pending letter it does not tell of would be lost without the sum."""
    lived(tmp_path, "one", "two", "three")
    indexed(tmp_path)
    with Index.open(tmp_path) as index:
        index._file.db.one("UPDATE mail SET pending=0 WHERE seq=3")
    quick = Quick(tmp_path)
    assert list(quick.started.mailboxes[ADA].pending) == [3]
    quick.close()


def test_what_is_finished_is_still_known_after_a_start(tmp_path: Path) -> None:
    """Its seq, its rung, and that a reply may raise it; by the index alone."""

    async def main() -> None:
        store = DiskStore.open(tmp_path, Config(ring=1), SystemClock())
        store.start(asyncio.get_running_loop())
        box = store.mailbox(ADA)
        first, last = MessageId(before[0]), MessageId(before[2])
        assert box.rung_of(first) is Rung.DROPPED
        assert (box.seq_of(first), box.seq_of(last)) == (1, 3)
        assert box.seq_of(new_id()) is None
        assert list(box.finished()) == []
        await store.aclose()

    before = lived(tmp_path, "one", "two", "three")
    indexed(tmp_path)
    asyncio.run(main())

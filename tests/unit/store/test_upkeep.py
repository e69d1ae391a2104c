"""What the store does to its files while nobody sends: the index, closed segments."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homi.address import Name
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import LedgerLine, Rung
from homi.reports import PrunedRow
from homi.store import engine, upkeep
from homi.store.base import Kept, Mail
from homi.store.index import Index, Query
from homi.store.store import DiskStore
from tests.unit.store.commit_kit import AT, mail

ADA = Name("ada")
BOUND = 30.0


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rest comes at once, segments are small, few ids are kept whole."""
    monkeypatch.setattr(engine, "CHECKPOINT_IDLE", 0.01)
    monkeypatch.setattr(upkeep, "FIRST", 0.0)
    monkeypatch.setattr(upkeep, "SEGMENT", 2_000)
    monkeypatch.setattr(upkeep, "KEPT", 0)


class Life:
    """One life of a store."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = DiskStore.open(root, Config(ring=1), SystemClock())
        self.store.start(asyncio.get_running_loop())

    async def send(self, one: Mail) -> Mail:
        """Submit one mail and wait for its answer."""
        done: asyncio.Future[Mail] = asyncio.get_running_loop().create_future()
        one.done = done.set_result
        self.store.submit(one)
        async with asyncio.timeout(BOUND):
            return await done

    async def end(self, one: Mail, rung: Rung = Rung.DROPPED) -> None:
        """Record what became of one."""
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        line = LedgerLine(seq=one.seq, id=one.id, rung=rung, at=AT)
        self.store.record(one.place, line, done.set_result)
        async with asyncio.timeout(BOUND):
            assert await done

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for what comes at rest: each piece of upkeep moves the loop."""
        async with asyncio.timeout(BOUND):
            while not true():
                self.store._upkeep.look()
                await asyncio.sleep(0)


def run(root: Path, scenario: Callable[[Life], Awaitable[None]]) -> None:
    """A life in which the scenario happens."""

    async def main() -> None:
        life = Life(root)
        try:
            await scenario(life)
        finally:
            await life.store.aclose()

    asyncio.run(main())


def segments(root: Path) -> list[str]:
    """The names in the archive."""
    folder = root / "mail" / "ada" / "archive"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_at_rest_what_came_is_indexed_and_its_ids_shrink(tmp_path: Path) -> None:
    """No reader has to; a repeat is known all the same."""

    async def scenario(life: Life) -> None:
        first = await life.send(mail(text="one"))
        place = life.store._committer.place("ada")
        await life.until(lambda: bool(life.store._committer.settler.notes))
        again = mail(text="one", message=first.id)
        assert (await life.send(again)).kept is Kept.KNOWN
        assert place.old is not None
        assert first.id in place.old

    run(tmp_path, scenario)
    with Index.open(tmp_path) as index:
        assert len(index.search(Query())) == 1


def test_a_full_segment_is_closed_once_nothing_is_pending_in_it(
    tmp_path: Path,
) -> None:
    """Sequences go on, old ids are known, later lines about it are no findings."""
    sent: list[Mail] = []

    async def scenario(life: Life) -> None:
        for n in range(3):
            sent.append(await life.send(mail(text=f"{n}" * 1000)))
        for one in sent[:2]:
            await life.end(one)
        await life.until(lambda: life.store._engine.at_rest)  # type: ignore[union-attr]
        assert segments(tmp_path) == []
        await life.end(sent[2])
        await life.until(lambda: len(segments(tmp_path)) == 2)
        await life.until(lambda: not life.store._upkeep._todo)
        box = life.store.mailbox(ADA)
        assert box.seq_of(sent[0].id) == 1
        late = await life.send(mail(text="later"))
        assert late.seq == 4
        assert box.read(4).seq == 4
        again = await life.send(mail(text="0" * 1000, message=sent[0].id))
        assert (again.kept, again.seq) == (Kept.KNOWN, 1)
        await life.end(sent[1], Rung.ANSWERED)

    async def later(life: Life) -> None:
        assert life.store.findings == []
        assert list(life.store.mailbox(ADA).pending) == [4]
        again = await life.send(mail(text="2" * 1000, message=sent[2].id))
        assert (again.kept, again.seq) == (Kept.KNOWN, 3)
        twisted = await life.send(mail(text="x", message=sent[2].id))
        assert twisted.kept is Kept.CONFLICT
        assert (await life.send(mail())).seq == 5

    run(tmp_path, scenario)
    assert segments(tmp_path) == [
        "inbox.0000000000000003.jsonl",
        "ledger.0000000000000003.jsonl",
    ]
    run(tmp_path, later)
    for path in tmp_path.glob("index*"):
        path.unlink()

    async def without(life: Life) -> None:
        assert life.store.findings == []
        again = await life.send(mail(text="1" * 1000, message=sent[1].id))
        assert (again.kept, again.seq) == (Kept.KNOWN, 2)
        assert list(life.store.mailbox(ADA).pending) == [4, 5]

    run(tmp_path, without)


def test_old_segments_are_removed_and_their_ids_forgotten(
    tmp_path: Path,
) -> None:
    """The newest stays, and what is in it is known."""
    sent: list[Mail] = []
    told: list[tuple[list[PrunedRow], OSError | None]] = []

    async def scenario(life: Life) -> None:
        for n in (1, 2):
            sent.append(await life.send(mail(text="x" * 3000)))
            await life.end(sent[-1])
            await life.until(lambda n=n: len(segments(tmp_path)) == 2 * n)  # type: ignore[misc]
        await life.until(lambda: not life.store._upkeep._todo)
        place = life.store._committer.place("ada")
        for count, before in enumerate((AT, "2099-01-01T00:00:00.000Z"), 1):
            life.store.prune([ADA], before, lambda *told_: told.append(told_))
            await life.until(lambda count=count: len(told) == count)  # type: ignore[misc]
        await life.until(lambda: not life.store._upkeep._todo)
        for one, became in ((sent[1], Kept.KNOWN), (sent[0], Kept.STORED)):
            again = mail(text="x" * 3000, message=one.id)
            assert (await life.send(again)).kept is became
        assert place.old is not None
        assert (sent[0].id in place.old, sent[1].id in place.old) == (False, True)

    run(tmp_path, scenario)
    assert told[0] == ([], None)
    ((row,), error) = told[1]
    assert (row.upto, row.files, error) == (1, 2, None)


def test_rows_follow_their_segment(tmp_path: Path) -> None:
    """What was indexed is not read again; its line is found where it went."""
    sent: list[Mail] = []

    async def scenario(life: Life) -> None:
        sent.append(await life.send(mail(text="x" * 3000)))
        with Index.open(tmp_path) as index:
            index.catch_up()
        await life.end(sent[0])
        await life.until(lambda: len(segments(tmp_path)) == 2)

    run(tmp_path, scenario)
    with Index.open(tmp_path) as index:
        index.catch_up()
        (entry,) = index.search(Query())
        assert (entry.segment, entry.rung) == (1, Rung.DROPPED)
        assert sent[0].id.encode() in index.line(entry)

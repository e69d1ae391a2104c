"""What the store does to its files while nobody sends: the index, closed segments."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from homi.address import Name
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import LedgerLine, Rung, Via, Was
from homi.reports import PrunedRow
from homi.store import engine, removals, upkeep
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

    async def until(self, true: Callable[[], bool], *, alone: bool = False) -> None:
        """Wait for what comes at rest: each piece of upkeep moves the loop.  alone:
        nobody asks for it."""
        async with asyncio.timeout(BOUND):
            while not true():
                if not alone:
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


def _archived(root: Path, count: int) -> bool:
    """Whether so many journals are in the archive."""
    return len(segments(root)) == count


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


def test_words_are_indexed_at_rest_and_not_while_mail_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where so much mail came that the rest of the index is made meanwhile."""
    monkeypatch.setattr(engine, "CHECKPOINT_IDLE", 0.2)
    monkeypatch.setattr(upkeep, "LATE", 0)

    def known(index: Index) -> tuple[int, int]:
        """(messages, those with their words)"""
        found = len(index.search(Query()))
        return found, len(index.search(Query(text="pear"))) if found else 0

    async def scenario(life: Life) -> None:
        for _ in range(30):  # more than half of the ring
            await life.send(mail(text="pear " * 4_000))
        rested, index = False, Index.open(tmp_path)
        with index:
            async with asyncio.timeout(BOUND):
                while (now := known(index)) != (30, 30):
                    rested = rested or life.store._engine.at_rest  # type: ignore[union-attr]
                    assert rested or not now[1]
                    await asyncio.sleep(0)

    run(tmp_path, scenario)


def test_nobody_has_to_ask_a_store_to_do_its_idle_work(tmp_path: Path) -> None:
    """The checkpoint of an idle store is what begins it, and it is begun again."""

    async def scenario(life: Life) -> None:
        for number in (1, 2):
            mails = [await life.send(mail(text="x" * 300)) for _ in range(9)]
            for one in mails:
                await life.end(one)
            await life.until(partial(_archived, tmp_path, 2 * number), alone=True)

    run(tmp_path, scenario)


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


LATER = "2099-01-01T00:00:00.000Z"
Told = list[tuple[list[PrunedRow], OSError | None]]


async def pruned(life: Life, before: str = LATER) -> list[PrunedRow]:
    """What a prune of ada's mail tells."""
    told: Told = []
    life.store.prune([ADA], before, lambda *told_: told.append(told_))
    await life.until(lambda: bool(told))
    await life.until(lambda: not life.store._upkeep._todo)
    ((rows, error),) = told
    assert error is None
    return rows


def test_old_segments_are_removed_and_their_ids_forgotten(
    tmp_path: Path,
) -> None:
    """What is pending is known all the same."""
    sent: list[Mail] = []

    async def scenario(life: Life) -> None:
        for n in (1, 2):
            sent.append(await life.send(mail(text="x" * 3000)))
            await life.end(sent[-1])
            await life.until(lambda n=n: len(segments(tmp_path)) == 2 * n)  # type: ignore[misc]
        sent.append(await life.send(mail(text="x")))
        await life.until(lambda: not life.store._upkeep._todo)
        place = life.store._committer.place("ada")
        assert await pruned(life, AT) == []
        (row,) = await pruned(life)
        assert (row.upto, row.files, row.messages) == (2, 4, 2)
        assert "message 3" in row.note
        for one, became in ((sent[2], Kept.KNOWN), (sent[0], Kept.STORED)):
            again = mail(text=one.head.text, message=one.id)
            assert (await life.send(again)).kept is became
        assert place.old is not None
        assert [one.id in place.old for one in sent] == [False, False, True]

    run(tmp_path, scenario)


def test_what_grows_is_closed_at_rest_and_goes(tmp_path: Path) -> None:
    """Its numbers stay, in this life and the next."""

    async def scenario(life: Life) -> None:
        one = await life.send(mail(text="x"))
        await life.end(one)
        (row,) = await pruned(life)
        assert (row.upto, row.files, row.messages) == (1, 2, 1)
        assert "archive/ledger" in row.note
        assert await pruned(life) == []
        assert life.store.mailbox(ADA).seq_of(one.id) is not None

    async def later(life: Life) -> None:
        assert life.store.findings == []
        one = await life.send(mail(text="y"))
        await life.end(one)
        assert (one.seq, life.store.mailbox(ADA).last_n) == (2, 2)

    run(tmp_path, scenario)
    assert len(segments(tmp_path)) == 2
    with Index.open(tmp_path) as index:
        index.catch_up()
        assert index.counts()[ADA] == (0, 0)
    run(tmp_path, later)


def test_imported_mail_without_a_ledger_line_is_closed_whole(tmp_path: Path) -> None:
    """Half a segment would be read by nobody."""
    was = Was(at=AT, rung=Rung.SEEN)

    async def scenario(life: Life) -> None:
        await life.send(mail(text="x" * 3000, via=Via(door="import", was=was)))
        await life.until(lambda: len(segments(tmp_path)) == 2)

    run(tmp_path, scenario)
    with Index.open(tmp_path) as index:
        index.catch_up()
        assert index.counts()[ADA] == (1, 0)


def test_mail_that_moves_keeps_what_grows_and_prune_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits no longer than it may, and what needs no rest goes."""
    monkeypatch.setattr(removals, "PATIENCE", 0.01)
    monkeypatch.setattr(engine, "CHECKPOINT_IDLE", BOUND)

    async def scenario(life: Life) -> None:
        one = await life.send(mail(text="x"))
        await life.end(one)
        (row,) = await pruned(life)
        assert (row.files, row.note) == (0, removals.MOVING)

    run(tmp_path, scenario)
    assert segments(tmp_path) == []


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

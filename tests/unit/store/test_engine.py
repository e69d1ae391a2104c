"""The driver: batches, threads, the linger, idleness, retries."""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homi.store import engine as engine_module
from homi.store.base import Kept, Mail
from homi.store.batch import Batch, Reopened
from homi.store.engine import Engine
from tests.unit.store.commit_kit import Core, FaultyDisk, entry, ids, mail

BOUND = 10.0  # s no test waits longer


class Driven:
    """An engine over a real core, which notes every batch that was published."""

    def __init__(self, root: Path, disk: FaultyDisk | None = None) -> None:
        """Start it; needs a running loop."""
        self.root = root
        self.core = Core(root, disk)
        self.batches: list[Batch] = []
        self.reopened: list[Reopened] = []
        self.threads: list[int] = []
        self._change = asyncio.Event()
        self.engine = Engine(
            self.core.committer,
            self._published,
            self._amended,
            asyncio.get_running_loop(),
        )
        self.noted(self.core.committer.ring, "sync", self.threads)

    def noted(self, owner: object, name: str, threads: list[int]) -> None:
        """Note in which thread the method of that name is called from now on."""
        call = getattr(owner, name)

        def noting(*args: object) -> object:
            threads.append(threading.get_ident())
            return call(*args)

        setattr(owner, name, noting)

    def _published(self, batch: Batch) -> None:
        self.batches.append(batch)
        self._change.set()

    def _amended(self, result: Reopened) -> None:
        self.reopened.append(result)
        self._change.set()

    @property
    def mails(self) -> list[Mail]:
        """Every mail published so far."""
        return [m for batch in self.batches for m in batch.mails]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until a publication made it true."""
        async with asyncio.timeout(BOUND):
            while not true():
                self._change.clear()
                await self._change.wait()


def run(
    root: Path, test: Callable[[Driven], Awaitable[None]], **kw: FaultyDisk
) -> None:
    """Run test over a fresh engine, stopped at the end."""

    async def main() -> None:
        driven = Driven(root, **kw)
        try:
            await test(driven)
        finally:
            await driven.engine.stop(BOUND)

    asyncio.run(main())


def test_lone_mail_is_committed_on_the_loop(tmp_path: Path) -> None:
    """A switch of threads would cost it more than the sync of a fast disk."""

    async def test(driven: Driven) -> None:
        driven.engine.mail(mail())
        await driven.until(lambda: len(driven.mails) == 1)
        assert driven.threads == [threading.get_ident()]

    run(tmp_path, test)


def test_lone_mail_on_a_slow_disk_leaves_the_loop_alone(tmp_path: Path) -> None:
    """A sync of some milliseconds would stop every socket meanwhile."""

    async def test(driven: Driven) -> None:
        driven.core.committer.mean_sync = 0.005
        driven.engine.mail(mail())
        await driven.until(lambda: len(driven.mails) == 1)
        assert threading.get_ident() not in driven.threads

    run(tmp_path, test)


@pytest.mark.parametrize("mean", [0.0, 0.005])
def test_mails_of_one_turn_share_a_batch(tmp_path: Path, mean: float) -> None:
    """One sync for all of them: by the loop on a fast disk, else by a thread."""

    async def test(driven: Driven) -> None:
        driven.core.committer.mean_sync = mean
        mails = [mail() for _ in range(50)]
        for one in mails:
            driven.engine.mail(one)
        await driven.until(lambda: len(driven.mails) == 50)
        assert [len(b.mails) for b in driven.batches] == [50]
        assert len(driven.threads) == 1
        assert (threading.get_ident() in driven.threads) is (mean == 0.0)
        assert ids(tmp_path) == [m.id for m in mails]

    run(tmp_path, test)


def test_thread_does_nothing_but_the_sync_where_memory_is_not_short(
    tmp_path: Path,
) -> None:
    """Its Python would fight with the loop's for the interpreter."""

    async def test(driven: Driven) -> None:
        appending: list[int] = []
        driven.noted(driven.core.committer.journals, "append", appending)
        driven.core.committer.mean_sync = 0.005
        driven.engine.mail(mail())
        await driven.until(lambda: len(driven.mails) == 1)
        assert threading.get_ident() not in driven.threads
        assert appending == [threading.get_ident()]

    run(tmp_path, test)


def test_lines_are_written_in_the_thread_where_memory_is_short(tmp_path: Path) -> None:
    """A write that waits for the page cache must not stop every socket."""

    async def test(driven: Driven) -> None:
        appending: list[int] = []
        driven.noted(driven.core.committer.journals, "append", appending)
        driven.core.committer.mean_lines = 1.0
        driven.engine.mail(mail())
        await driven.until(lambda: len(driven.mails) == 1)
        assert len(appending) == 1
        assert threading.get_ident() not in appending + driven.threads

    run(tmp_path, test)


def test_large_batch_leaves_the_loop_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even a fast disk takes a while for it."""
    monkeypatch.setattr(engine_module, "LARGE", 2000)

    async def test(driven: Driven) -> None:
        driven.engine.mail(mail(text="x" * 1000))
        await driven.until(lambda: len(driven.mails) == 1)
        for _ in range(2):
            driven.engine.mail(mail(text="x" * 1000))
        await driven.until(lambda: len(driven.mails) == 3)
        assert [t == threading.get_ident() for t in driven.threads] == [True, False]

    run(tmp_path, test)


def test_loop_tries_again_whether_the_disk_is_fast(tmp_path: Path) -> None:
    """The thread measures its wait for the interpreter, too, and would never see it."""

    async def test(driven: Driven) -> None:
        for count in range(1, engine_module.PROBE_EVERY + 1):
            driven.core.committer.mean_sync = 0.004
            driven.engine.mail(mail())
            await driven.until(lambda n=count: len(driven.mails) == n)  # type: ignore[misc]
        assert driven.threads.count(threading.get_ident()) == 1

    run(tmp_path, test)


def test_what_comes_during_a_sync_is_the_next_batch(tmp_path: Path) -> None:
    """One batch is in flight; nothing is committed twice or beside it."""

    async def test(driven: Driven) -> None:
        held = threading.Event()
        driven.core.committer.mean_sync = 0.005  # or the loop would wait for it
        driven.core.committer.ring.sync, sync = (
            lambda: (held.wait(BOUND), sync()),  # type: ignore[assignment,return-value]
            driven.core.committer.ring.sync,
        )
        for _ in range(2):
            driven.engine.mail(mail())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for _ in range(3):
            driven.engine.mail(mail())
        held.set()
        await driven.until(lambda: len(driven.mails) == 5)
        assert [len(b.mails) for b in driven.batches] == [2, 3]

    run(tmp_path, test)


def test_evidence_needs_no_thread_and_no_sync(tmp_path: Path) -> None:
    """It is appended at once where nothing is in flight."""
    disk = FaultyDisk()

    async def test(driven: Driven) -> None:
        disk.calls.clear()
        one = entry()
        driven.engine.entry(one, durable=False)
        await driven.until(lambda: bool(driven.batches))
        assert one.ok
        assert driven.threads == []
        assert disk.calls == [("write", "ledger.jsonl")]

    run(tmp_path, test, disk=disk)


def test_linger_ends_when_as_many_are_back_as_were_waiting(tmp_path: Path) -> None:
    """Else the senders of a slow disk fall into two groups that take turns."""

    async def test(driven: Driven) -> None:
        driven.core.committer.mean_sync = 1000.0  # the linger itself would never end
        for _ in range(3):
            driven.engine.mail(mail())
        await driven.until(lambda: len(driven.mails) == 3)
        driven.core.committer.mean_sync = 1000.0
        for _ in range(2):
            driven.engine.mail(mail())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(driven.batches) == 1
        driven.engine.mail(mail())
        await driven.until(lambda: len(driven.mails) == 6)
        assert [len(b.mails) for b in driven.batches] == [3, 3]

    run(tmp_path, test)


def test_lone_client_never_lingers(tmp_path: Path) -> None:
    """It has nobody to wait for."""

    async def test(driven: Driven) -> None:
        for count in range(1, 4):
            driven.core.committer.mean_sync = 1000.0
            driven.engine.mail(mail())
            await driven.until(lambda n=count: len(driven.mails) == n)  # type: ignore[misc]

    run(tmp_path, test)


def test_full_ring_makes_mail_wait_and_then_go_on_in_order(tmp_path: Path) -> None:
    """Halves are freed in the second thread; nobody is refused for it."""

    async def test(driven: Driven) -> None:
        mails = [mail(text="x" * 100_000) for _ in range(40)]
        for one in mails:
            driven.engine.mail(one)
        await driven.until(lambda: len(driven.mails) == 40)
        assert {m.kept for m in driven.mails} == {Kept.STORED}
        assert ids(tmp_path) == [m.id for m in mails]

    run(tmp_path, test)


def test_idle_store_comes_to_rest(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    """After a second without a batch the folder alone is everything."""
    monkeypatch.setattr(engine_module, "CHECKPOINT_IDLE", 0.01)

    async def test(driven: Driven) -> None:
        checkpoint = driven.core.committer.checkpoint
        driven.engine.mail(mail())
        await driven.until(lambda: len(driven.mails) == 1)
        assert not checkpoint.at_rest
        await driven.until(lambda: checkpoint.at_rest)

    run(tmp_path, test)


def test_failed_sync_refuses_its_batch_and_accept_opens_again(tmp_path: Path) -> None:
    """The batch behind it waits for the first try to reopen and is then stored."""
    disk = FaultyDisk()

    async def test(driven: Driven) -> None:
        disk.fail("sync", "ring")
        refused = [mail(), mail()]
        for one in refused:
            driven.engine.mail(one)
        await driven.until(lambda: len(driven.mails) == 2)
        assert {m.kept for m in refused} == {Kept.FAILED}
        assert driven.core.committer.closed
        late = mail()
        driven.engine.mail(late)
        await driven.until(lambda: late in driven.mails)
        assert late.kept is Kept.STORED
        assert driven.core.committer.closed == ""

    run(tmp_path, test, disk=disk)


def test_lasting_failure_refuses_at_once_and_is_tried_again(
    tmp_path: Path,
    monkeypatch,  # type: ignore[no-untyped-def] # noqa: ANN001
) -> None:
    """Nobody hangs while the disk is broken, and nobody has to restart homi."""
    monkeypatch.setattr(engine_module, "RETRY_FIRST", 0.01)
    disk = FaultyDisk()

    async def test(driven: Driven) -> None:
        disk.fail("sync", "ring", times=4)
        driven.engine.mail(mail())
        await driven.until(lambda: len(driven.reopened) == 1)
        during = mail()
        driven.engine.mail(during)
        await driven.until(lambda: during in driven.mails)
        assert during.kept is Kept.FAILED
        await driven.until(lambda: driven.core.committer.closed == "")
        after = mail()
        driven.engine.mail(after)
        await driven.until(lambda: after in driven.mails)
        assert after.kept is Kept.STORED

    run(tmp_path, test, disk=disk)


def test_evidence_is_written_while_accept_is_closed(tmp_path: Path) -> None:
    """Draining goes on with a ring that cannot be synced."""
    disk = FaultyDisk()

    async def test(driven: Driven) -> None:
        disk.fail("sync", "ring", times=1000)
        driven.engine.mail(mail())
        await driven.until(lambda: len(driven.mails) == 1)
        one = entry()
        driven.engine.entry(one, durable=False)
        await driven.until(lambda: one.ok)
        assert driven.core.committer.closed

    run(tmp_path, test, disk=disk)


def test_failed_checkpoint_loses_no_waiting_mail(tmp_path: Path) -> None:
    """A journal that could not be synced is made good before the next batch."""
    disk = FaultyDisk()

    async def test(driven: Driven) -> None:
        driven.engine.mail(mail())
        await driven.until(lambda: len(driven.mails) == 1)
        disk.fail("sync", "inbox.jsonl")
        driven.core.committer.checkpoint.wanted = True
        late = mail()
        driven.engine.mail(late)
        await driven.until(lambda: late in driven.mails)
        await driven.until(lambda: bool(driven.reopened))
        assert late.kept is Kept.STORED
        assert len(ids(tmp_path)) == 2

    run(tmp_path, test, disk=disk)


def test_stop_leaves_the_ring_empty_and_no_thread(tmp_path: Path) -> None:
    """At rest the folder alone is everything; a stop is a rest."""

    async def main() -> None:
        driven = Driven(tmp_path)
        for _ in range(20):
            driven.engine.mail(mail())
        await driven.engine.stop(BOUND)
        assert len(driven.mails) == 20
        assert driven.core.committer.checkpoint.at_rest

    before = threading.active_count()
    asyncio.run(main())
    assert threading.active_count() == before


def test_stop_of_a_broken_store_is_bounded(tmp_path: Path) -> None:
    """What the ring holds is durable; a broken disk must not keep the process."""
    disk = FaultyDisk()

    async def main() -> None:
        driven = Driven(tmp_path, disk)
        disk.fail("sync", "ring", times=10_000)
        driven.engine.mail(mail())
        began = time.monotonic()
        await driven.engine.stop(BOUND)
        assert time.monotonic() - began < BOUND
        assert [m.kept for m in driven.mails] == [Kept.FAILED]

    asyncio.run(main())


def test_bug_in_a_batch_is_shown_and_the_store_goes_on(tmp_path: Path) -> None:
    """Its mail is refused, the ring made new, and the traceback is not hidden."""

    async def main() -> None:
        shown: list[BaseException] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, ctx: shown.append(ctx["exception"]))
        driven = Driven(tmp_path)
        put = driven.core.committer._put_lines

        def broken(_work: object) -> None:
            driven.core.committer._put_lines = put  # type: ignore[method-assign]
            raise ZeroDivisionError

        driven.core.committer._put_lines = broken  # type: ignore[method-assign]
        first, second = mail(), mail()
        driven.engine.mail(first)
        await driven.until(lambda: first in driven.mails)
        driven.engine.mail(second)
        await driven.until(lambda: second in driven.mails)
        assert [first.kept, second.kept] == [Kept.FAILED, Kept.STORED]
        assert [type(error) for error in shown] == [ZeroDivisionError]
        await driven.engine.stop(BOUND)

    asyncio.run(main())
    assert os.path.exists(tmp_path / "ring")

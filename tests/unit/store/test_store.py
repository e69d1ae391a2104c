"""The store on disk as the layers above meet it."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homi.address import Name
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import LedgerLine, MessageId, Rung
from homi.errors import BadConfig, CannotCreate, StorageFailed
from homi.store.base import Kept, Mail
from homi.store.boot import BOOT
from homi.store.store import DiskStore
from tests.unit.store.commit_kit import AT, MIB, FaultyDisk, ids, ledger, mail

CONFIG = Config(ring=1)
ADA = Name("ada")
BOUND = 60.0


def opened(root: Path, disk: FaultyDisk | None = None) -> DiskStore:
    """The store of root."""
    return DiskStore.open(root, CONFIG, SystemClock(), disk)


def run(store: DiskStore, test: Callable[[DiskStore], Awaitable[None]]) -> None:
    """Start the store, run test, close it."""

    async def main() -> None:
        store.start(asyncio.get_running_loop())
        try:
            async with asyncio.timeout(BOUND):
                await test(store)
        finally:
            await store.aclose()

    asyncio.run(main())


async def submit(store: DiskStore, *mails: Mail) -> list[Kept]:
    """Submit them in one turn; what became of each."""
    loop = asyncio.get_running_loop()
    waits: list[asyncio.Future[Mail]] = []
    for one in mails:
        wait: asyncio.Future[Mail] = loop.create_future()
        one.done = wait.set_result
        waits.append(wait)
        store.submit(one)
    return [(await wait).kept for wait in waits]


async def record(
    store: DiskStore, one: Mail, rung: Rung, *, durable: bool = False
) -> bool:
    """Record a rung of a stored mail."""
    wait: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    line = LedgerLine(seq=one.seq, id=one.id, rung=rung, at=AT)
    store.record(one.place, line, wait.set_result, durable=durable)
    return await wait


def test_mailbox_knows_the_mail_before_its_sender_is_told(tmp_path: Path) -> None:
    """Who was answered may ask the mailbox at once."""
    known: list[list[int]] = []

    async def test(store: DiskStore) -> None:
        one = mail()
        over = asyncio.get_running_loop().create_future()

        def done(answered: Mail) -> None:
            known.append(list(store.mailbox(ADA).pending))
            assert bytes(store.mailbox(ADA).read(1).msg) == answered.msg
            over.set_result(None)

        one.done = done
        store.submit(one)
        await over

    run(opened(tmp_path), test)
    assert known == [[1]]


def test_held_mail_is_there_after_a_restart_with_its_rungs(tmp_path: Path) -> None:
    """Stored means kept until finished; a restart never is an end."""
    mails = [mail() for _ in range(3)]

    async def test(store: DiskStore) -> None:
        await submit(store, *mails)
        assert await record(store, mails[0], Rung.DROPPED)
        assert await record(store, mails[1], Rung.OFFERED)

    run(opened(tmp_path), test)
    store = opened(tmp_path)
    pending = store.mailbox(ADA).pending
    assert [(i.id, i.rung) for i in pending.values()] == [
        (mails[1].id, Rung.OFFERED),
        (mails[2].id, Rung.STORED),
    ]
    asyncio.run(store.aclose())


def test_evidence_applies_in_file_order(tmp_path: Path) -> None:
    """What the loop knows must be what a reader of the files would find."""

    async def test(store: DiskStore) -> None:
        one = mail()
        await submit(store, one)
        answers = await asyncio.gather(
            record(store, one, Rung.HELD),
            record(store, one, Rung.PARKED),
            record(store, one, Rung.INTENT),
        )
        assert answers == [True] * 3
        on_disk = [x.rung for x in ledger(tmp_path)]
        assert store.mailbox(ADA).pending[1].rung is on_disk[-1]
        assert [x.n for x in ledger(tmp_path)] == [1, 2, 3]

    run(opened(tmp_path), test)


def test_decision_waits_for_the_sync_and_evidence_does_not(tmp_path: Path) -> None:
    """Acks are answered after the ring's sync; an ack of any rung when asked so."""
    disk = FaultyDisk()

    async def test(store: DiskStore) -> None:
        one = mail()
        await submit(store, one)
        disk.calls.clear()
        assert await record(store, one, Rung.HELD)
        assert ("sync", "ring") not in disk.calls
        assert await record(store, one, Rung.SEEN, durable=True)
        assert ("sync", "ring") in disk.calls

    run(opened(tmp_path, disk), test)


def test_second_daemon_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    """Two writers of one root would each overwrite the other's lines."""
    store = opened(tmp_path)
    with pytest.raises(CannotCreate, match=f"pid {os.getpid()} "):
        opened(tmp_path)
    asyncio.run(store.aclose())
    asyncio.run(opened(tmp_path).aclose())


def test_lock_of_a_killed_daemon_is_free_at_once(tmp_path: Path) -> None:
    """The kernel gives it back; a pid in a file is never proof."""
    code = (
        "import os,signal,sys; from pathlib import Path;"
        "from homi.store.store import DiskStore; from homi.config import Config;"
        "from homi.clock import SystemClock;"
        "s=DiskStore.open(Path(sys.argv[1]), Config(ring=1), SystemClock());"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], check=False, timeout=60
    )
    assert ended.returncode == -9
    assert (tmp_path / "homi.lock").read_text().strip().isdigit()
    asyncio.run(opened(tmp_path).aclose())


def test_failed_start_gives_the_lock_back(tmp_path: Path) -> None:
    """The next try must not be refused by the one that failed."""
    asyncio.run(opened(tmp_path).aclose())
    disk = FaultyDisk()
    disk.fail("sync", "ring")
    with pytest.raises(StorageFailed, match="cannot recover"):
        opened(tmp_path, disk)
    asyncio.run(opened(tmp_path, disk).aclose())


def test_foreign_or_open_root_is_refused(tmp_path: Path) -> None:
    """A root others can reach is no place for mail (78)."""
    root = tmp_path / "root"
    root.mkdir()
    root.chmod(0o755)
    with pytest.raises(BadConfig, match="others can reach it"):
        opened(root)
    root.chmod(0o700)
    asyncio.run(opened(root).aclose())


def test_every_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    """Nobody else reads mail, not even by accident of a umask."""
    before = os.umask(0)
    try:

        async def test(store: DiskStore) -> None:
            one = mail()
            await submit(store, one)
            await record(store, one, Rung.OFFERED)

        run(opened(tmp_path / "root"), test)
    finally:
        os.umask(before)
    for path in [tmp_path / "root", *(tmp_path / "root").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_submitting_to_a_stopped_store_is_refused(tmp_path: Path) -> None:
    """Nobody hangs on a store that is gone."""
    store = opened(tmp_path)
    one, two = mail(), mail()

    async def test(store: DiskStore) -> None:
        assert await submit(store, one) == [Kept.STORED]
        await store.aclose()
        assert await submit(store, two) == [Kept.FAILED]
        assert not await record(store, one, Rung.OFFERED)
        assert store.closed() == "stopped"

    run(store, test)
    assert ids(tmp_path) == [one.id]


def test_ring_is_empty_after_a_stop_and_of_the_size_set_for_the_next(
    tmp_path: Path,
) -> None:
    """A changed setting is honoured at the next start."""

    async def test(store: DiskStore) -> None:
        await submit(store, mail())

    run(opened(tmp_path), test)
    store = DiskStore.open(tmp_path, Config(ring=2), SystemClock())
    assert (tmp_path / "ring").stat().st_size == 2 * MIB
    run(store, test)
    assert len(ids(tmp_path)) == 2


def test_closed_says_why_and_opens_again(tmp_path: Path) -> None:
    """A person has to see that the disk is to blame."""
    disk = FaultyDisk()

    async def test(store: DiskStore) -> None:
        disk.fail("sync", "ring")
        assert await submit(store, mail()) == [Kept.FAILED]
        assert store.closed() == "cannot sync the ring: Input/output error"
        assert await submit(store, mail()) == [Kept.STORED]
        assert store.closed() == ""

    run(opened(tmp_path, disk), test)


def test_mail_saved_after_all_is_in_the_mailbox_and_known(tmp_path: Path) -> None:
    """A full disk after the sync: its sender was refused, a retry is not doubled."""
    disk = FaultyDisk()

    async def test(store: DiskStore) -> None:
        await submit(store, mail())
        disk.room = 20
        lost = mail(text="x" * 300)
        assert await submit(store, lost) == [Kept.FAILED]
        disk.room = None
        again = mail(text="x" * 300, message=lost.id)
        assert await submit(store, again) == [Kept.KNOWN]
        assert list(store.mailbox(ADA).pending) == [1, 2]
        assert bytes(store.mailbox(ADA).read(2).msg) == lost.msg

    run(opened(tmp_path, disk), test)
    assert len(ids(tmp_path)) == 2


def test_answer_that_raises_keeps_no_other_from_its_own(tmp_path: Path) -> None:
    """One broken connection must not leave the whole batch waiting."""
    store = opened(tmp_path)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        shown: list[object] = []
        loop.set_exception_handler(lambda _loop, ctx: shown.append(ctx["exception"]))
        store.start(loop)

        def broken(_mail: Mail) -> None:
            raise ZeroDivisionError

        store.submit(mail(done=broken))
        async with asyncio.timeout(BOUND):
            assert await submit(store, mail()) == [Kept.STORED]
        assert [type(x) for x in shown] == [ZeroDivisionError]
        await store.aclose()

    asyncio.run(main())


def test_free_space_counts_what_the_ring_still_owes(tmp_path: Path) -> None:
    """The reserve must be there for the journals, too."""
    disk = FaultyDisk()
    disk.free = lambda _path: 1_000_000  # type: ignore[method-assign]

    async def test(store: DiskStore) -> None:
        assert store.free_bytes() == 1_000_000
        await submit(store, mail(text="x" * 10_000))
        assert store.free_bytes() <= 990_000

    run(opened(tmp_path, disk), test)


def test_free_space_is_read_anew_once_the_journals_took_theirs(tmp_path: Path) -> None:
    """A fast sender fills no disk within the second that a reading is good for."""
    disk, clock = FaultyDisk(), SystemClock()
    clock.monotonic = lambda: 1.0  # type: ignore[method-assign]
    disk.free = lambda _path: free  # type: ignore[method-assign]
    free = 100_000_000

    async def test(store: DiskStore) -> None:
        nonlocal free
        assert store.free_bytes() == free
        free = 1_000_000
        assert store.free_bytes() > free  # the clock stands: nothing tells of it
        for number in range(400):
            await submit(store, mail(text=f"{number}" + "x" * 10_000))
            if store.free_bytes() <= free:
                break
        assert store.free_bytes() <= free

    run(DiskStore.open(tmp_path, CONFIG, clock, disk), test)


@pytest.mark.parametrize("clean", [True, False])
def test_hand_overs_are_doubted_after_a_power_cut_only(
    tmp_path: Path, *, clean: bool
) -> None:
    """A power cut may have lost the evidence; a stop, or a process death, has not."""
    one = mail()

    async def test(store: DiskStore) -> None:
        await submit(store, one)

    run(opened(tmp_path), test)
    boot = tmp_path / BOOT
    text = boot.read_text()
    assert '"clean": true' in text
    if not clean:
        boot.write_text(text.replace('"clean": true', '"clean": false'))
    store = opened(tmp_path)  # same boot: a process death
    assert not store.mailbox(ADA).pending[1].repeat
    asyncio.run(store.aclose())
    text = boot.read_text().replace('"boot": "', '"boot": "before-')
    if not clean:
        text = text.replace('"clean": true', '"clean": false')
    boot.write_text(text)
    store = opened(tmp_path)
    assert store.mailbox(ADA).pending[1].repeat is not clean
    asyncio.run(store.aclose())
    store = opened(tmp_path)  # the doubt outlives the next clean stop
    assert store.mailbox(ADA).pending[1].repeat is not clean
    asyncio.run(store.aclose())


def test_unreadable_line_is_a_finding_and_blocks_nothing(tmp_path: Path) -> None:
    """Whoever reads mail gets all that is readable, and a report of the rest."""

    async def test(store: DiskStore) -> None:
        await submit(store, mail(text="first"), mail(text="second"))

    run(opened(tmp_path), test)
    path = tmp_path / "mail/ada/inbox.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"first"', b'"fi\x00st'))
    store = opened(tmp_path)
    assert [(f.path, f.offset) for f in store.findings] == [(str(path), 0)]
    assert list(store.mailbox(ADA).pending) == [2]
    asyncio.run(store.aclose())


def test_new_mailbox_touches_the_disk_with_its_first_line(tmp_path: Path) -> None:
    """Looking at a name must not make a phantom mailbox."""
    store = opened(tmp_path)
    assert store.mailbox(Name("nobody")).pending == {}
    assert not (tmp_path / "mail").exists()
    assert [box.name for box in store.mailboxes()] == ["nobody"]

    async def test(store: DiskStore) -> None:
        await submit(store, mail("nobody"))

    run(store, test)
    assert (tmp_path / "mail/nobody/inbox.jsonl").exists()


def test_lines_up_to_largest_line_fit(tmp_path: Path) -> None:
    """Whoever judges mail must know what cannot be stored."""

    async def test(store: DiskStore) -> None:
        fits = store.largest_line()
        room = fits - len(mail().tail) - 40
        assert await submit(store, mail(text="x" * room)) == [Kept.STORED]
        over = mail(text="x" * 2 * fits, message=MessageId("over"))
        assert await submit(store, over) == [Kept.FAILED]

    run(opened(tmp_path), test)

"""A disk that fails now and then, under load and threads: refused or stored, once."""

import asyncio
import errno
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from homi.address import Name
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import LedgerLine, Rung
from homi.store import engine
from homi.store.base import Kept, Mail
from homi.store.disk import RealDisk
from homi.store.store import DiskStore
from tests.unit.store.commit_kit import AT, ids, ledger, mail

NAMES = ("ada", "bob", "eve")
SENDERS = 12
EACH = 25
FAULTS = 150  # then it recovers: a disk that fails for ever is another test
BOUND = 120.0  # s


class Moody(RealDisk):
    """Fails syncs and writes at random while it is told to; writes are often short."""

    def __init__(self, chance: random.Random) -> None:
        """In a good mood."""
        self._chance = chance
        self.bad = False
        self.failed = 0

    def _fail(self, share: float, number: int) -> None:
        if self.bad and self.failed < FAULTS and self._chance.random() < share:
            self.failed += 1
            raise OSError(number, os.strerror(number))

    def sync(self, fd: int) -> None:  # type: ignore[override]
        self._fail(0.05, errno.EIO)
        os.fdatasync(fd)

    def sync_dir(self, path: str) -> None:
        self._fail(0.05, errno.EIO)
        super().sync_dir(path)

    def pwrite(self, fd: int, data: bytes, offset: int) -> int:  # type: ignore[override]
        self._fail(0.03, errno.ENOSPC)
        if self.bad and self._chance.random() < 0.2:
            data = data[: self._chance.randrange(1, len(data) + 1)]
        return os.pwrite(fd, data, offset)


class Sender:
    """Sends its mails one after the other, each until it is known to be stored."""

    def __init__(self, store: DiskStore, number: int, pad: int) -> None:
        """Nothing is sent yet."""
        self._store = store
        self._place = NAMES[number % len(NAMES)]
        self._pad = pad
        self.sent: list[str] = []
        self.dropped: list[int] = []

    async def run(self) -> None:
        """Send all of them."""
        for _ in range(EACH):
            first = mail(self._place, "x" * self._pad)
            one = await self._try(first)
            while one.kept is Kept.FAILED:
                await asyncio.sleep(0)
                one = await self._try(
                    mail(self._place, "x" * self._pad, message=first.id)
                )
            assert one.kept in (Kept.STORED, Kept.KNOWN)
            self.sent.append(one.id)
            if one.seq % 3 == 0 and await self._drop(one):
                self.dropped.append(one.seq)

    async def _try(self, one: Mail) -> Mail:
        wait: asyncio.Future[Mail] = asyncio.get_running_loop().create_future()
        one.done = wait.set_result
        self._store.submit(one)
        return await wait

    async def _drop(self, one: Mail) -> bool:
        wait: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        line = LedgerLine(seq=one.seq, id=one.id, rung=Rung.DROPPED, at=AT)
        self._store.record(Name(self._place), line, wait.set_result)
        return await wait


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(n, marks=pytest.mark.soak) for n in range(3, 40))]
)
def test_failing_disk_loses_and_doubles_nothing(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sender retries until it is stored: each id stands once, in every file."""
    monkeypatch.setattr(engine, "RETRY_FIRST", 0.002)
    monkeypatch.setattr(engine, "RETRY_MAX", 0.01)
    monkeypatch.setattr(engine, "CHECKPOINT_IDLE", 0.005)
    chance = random.Random(seed)
    disk = Moody(chance)
    senders: list[Sender] = []

    async def main() -> None:
        store = DiskStore.open(tmp_path, Config(ring=1), SystemClock(), disk)
        store.start(asyncio.get_running_loop())
        pads = [chance.choice((5, 300, 15_000)) for _ in range(SENDERS)]
        senders.extend(Sender(store, n, pad) for n, pad in enumerate(pads))
        disk.bad = True
        async with asyncio.timeout(BOUND):
            await asyncio.gather(*(sender.run() for sender in senders))
        for box in store.mailboxes():
            for seq in list(box.pending):
                assert box.read(seq).seq == seq
        disk.bad = False
        await store.aclose()

    asyncio.run(main())
    assert disk.failed > 0
    store = DiskStore.open(tmp_path, Config(ring=1), SystemClock())
    for name in NAMES:
        mine = [s for s in senders if s._place == name]
        wanted = [message for sender in mine for message in sender.sent]
        found = ids(tmp_path, name)
        assert Counter(found) == Counter(wanted)
        lines = [x for x in ledger(tmp_path, name) if x.rung is Rung.DROPPED]
        assert {seq for s in mine for seq in s.dropped} <= {x.seq for x in lines}
        assert len({x.n for x in lines}) == len(lines)
    asyncio.run(store.aclose())

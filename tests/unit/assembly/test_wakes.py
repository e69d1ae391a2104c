"""Whether what a wake sent is still to be read, or worked at."""

import asyncio
import os
from pathlib import Path

from msgspec.structs import replace

from homi.assembly.wakes import Readers
from homi.bounds import Bounds
from homi.envelope import LedgerLine, Rung
from homi.sessions import Session
from homi.store.disk import RealDisk
from homi.turns import Cause
from tests.unit.postmaster.test_postmaster import Bench, letter

THREAD = Session(pid=0, start="codex:t", session_id="t", name="bob", status="busy")


def test_a_letter_is_over_when_it_was_read_and_nobody_works_at_it(
    tmp_path: Path,
) -> None:
    """A session that is gone, is idle or tells no status keeps no wake back."""

    async def scenario() -> None:
        bench = Bench(tmp_path)
        office = bench.office()
        bounds = Bounds(os.fspath(tmp_path), bench.store, bench.clock, RealDisk())
        office.bounds = bounds
        readers = Readers(office)
        sent = (await bench.send(letter())).id
        assert readers.unread("bob", sent)
        (item,) = bench.store.mailbox(bench.hints[0][0]).pending.values()
        line = LedgerLine(seq=item.seq, id=item.id, rung=Rung.SEEN, at="x")
        bench.store.record(bench.hints[0][0], line)
        await asyncio.sleep(0)
        assert not readers.unread("bob", sent)
        bounds.budget.apply(Cause(pid=0, start=THREAD.start, id=sent, name="bob"))
        assert not readers.unread("bob", sent)
        for status, waits in (("busy", True), ("idle", False), ("", False)):
            bench.sessions.stand(replace(THREAD, status=status))
            assert readers.unread("bob", sent) is waits
        assert not readers.unread("nobody", sent)
        bounds.close()

    asyncio.run(scenario())

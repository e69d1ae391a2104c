"""What another device asks of the seats here."""

import asyncio
from pathlib import Path

import msgspec

from homi.address import Device
from homi.assembly.seats import Seats
from homi.errors import HomiError
from homi.links.answering import Asker
from homi.seated import SeatAsk
from tests.unit.postmaster.test_postmaster import Bench


def test_a_restart_waits_for_what_another_device_has_done_in_a_seat(
    tmp_path: Path,
) -> None:
    """Until it is told what became of it: typing into one takes seconds."""

    async def scenario() -> None:
        bench = Bench(tmp_path)
        office = bench.office()
        seats = Seats(office, None)  # type: ignore[arg-type]  # it asks nobody
        told: list[msgspec.Struct | HomiError] = []
        line = msgspec.json.encode(SeatAsk(do="send", seat="ada", text="x"))
        assert await office.underway.ended(0) == 0
        seats._asked(Asker(Device("mini"), ""), line, told.append)
        # Before the loop turns once: the look may be over by then.
        assert (office.underway._count, told) == (1, [])
        assert await office.underway.ended(60) == 0
        assert isinstance(told[0], HomiError)  # there is no such seat

    asyncio.run(scenario())

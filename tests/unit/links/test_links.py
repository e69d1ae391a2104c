"""All links of a device, where what they need cannot be loaded."""

import asyncio
from pathlib import Path
from typing import Any, cast

from homi.address import Device
from homi.clock import SystemClock
from homi.errors import BadConfig
from homi.links.book import Book, Peering, Peerings
from homi.links.links import Engine, Links, Traffic
from homi.links.pipe import Maker, Pipe
from homi.links.state import LinkState, Refusal, Verdict
from homi.store.disk import RealDisk
from homi.store.state import StateFile
from tests.unit.links.kit import IDENTITIES, KEYS

MINI, MAX = Device("mini"), Device("max")
REFUSED = Verdict(LinkState.AUTH, "not let in")


async def _refuse(_host: str, _make: Maker) -> Pipe:
    """Nobody is there."""
    raise Refusal(REFUSED)


def test_what_could_not_be_begun_is_when_a_person_mended_why(tmp_path: Path) -> None:
    """Without a new start, all of them, and no sooner."""
    file = StateFile(str(tmp_path / "links.json"), RealDisk(), Peerings)
    book = Book(Device("laptop"), file)
    for device in (MINI, MAX):
        book.put(Peering(device=device, key=KEYS[device], host=device))
    broken = [True]

    def load() -> Engine:
        if broken[0]:
            raise BadConfig("the key has a passphrase", hint="take it off")
        return Engine(IDENTITIES["laptop"], cast(Any, _refuse))

    async def scene() -> None:
        links = Links(
            book, SystemClock(), load, lambda: 0.0, cast(Traffic, None), keepalive=15
        )
        links.start(asyncio.get_running_loop())
        why = (LinkState.UNREACHABLE, "the key has a passphrase", "take it off")
        assert [links.verdict(device) for device in (MINI, MAX)] == [why] * 2
        links.revive()
        assert links.verdict(MINI) == why
        assert links.link(MINI) is None
        told: list[Device] = []
        refused = asyncio.Event()

        def tell(device: Device) -> None:
            told.append(device)
            if {links.verdict(one) for one in (MINI, MAX)} == {REFUSED}:
                refused.set()

        links.subscribe(tell)
        broken[0] = False
        links.revive()
        async with asyncio.timeout(60):
            await refused.wait()
        assert set(told) == {MINI, MAX}
        told.clear()
        links.revive()  # nothing is wrong: nothing is done
        assert told == []
        await links.stop()

    asyncio.run(scene())

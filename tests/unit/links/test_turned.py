"""Whoever dials this device and is turned away: told, and bounded."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from homi.address import Device
from homi.clock import SystemClock
from homi.errors import BadConfig, HomiError, NoSuchDevice, NotAllowed, Unavailable
from homi.linked import Turned
from homi.links import frames
from homi.links.book import Book, Peering, Peerings
from homi.links.links import Engine, Links, Traffic
from homi.links.turned import KEPT, MOST, PERIOD, TurnedAway
from homi.store.disk import RealDisk
from homi.store.state import StateFile
from tests.unit.links.kit import IDENTITIES, KEYS, Wire
from tests.unit.links.test_hostile import hello

LAPTOP, HUB = Device("laptop"), Device("hub")
FROM = "192.0.2.7"


class Clock(SystemClock):
    """Turned by hand."""

    now = 1_800_000_000.0

    def wall(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


def book(tmp_path: Path, **more: Any) -> Book:  # noqa: ANN401 - fields of a Peering
    """mini, which knows laptop."""
    file = StateFile(str(tmp_path / "links.json"), RealDisk(), Peerings)
    made = Book(Device("mini"), file)
    made.put(Peering(device=LAPTOP, key=KEYS["laptop"], **more))
    return made


def on_links(
    made: Book, scene: Callable[[Links], None], broken: HomiError | None = None
) -> None:
    """Run scene over the links of mini; nothing is dialled."""

    def load() -> Engine:
        if broken is not None:
            raise broken
        return Engine(IDENTITIES["mini"], cast(Any, None))

    async def run() -> None:
        links = Links(
            made, Clock(), load, lambda: 0.0, cast(Traffic, None), keepalive=15
        )
        links.start(asyncio.get_running_loop())
        scene(links)
        await links.stop()

    asyncio.run(run())


def turned(links: Links, device: str = "laptop") -> Turned:
    """What is kept of it."""
    return links.turned.rows()[device]


@pytest.mark.parametrize(
    ("changed", "reason", "words", "fix"),
    [
        ({"key": KEYS["max"]}, "device-key", "not the pinned one", "homi pair"),
        ({"device": "lap2"}, "auth", "laptop was expected, lap2 is there", "homi pair"),
        ({"peer": "other"}, "auth", "laptop wants 'other', this is mini", "homi pair"),
        ({"v": 9, "least": 9}, "version", "speaks link version 9", "update"),
        ({"now": float("inf")}, "protocol", "", "homi log"),
    ],
)
def test_a_hello_that_is_refused_shows_who_and_why(
    tmp_path: Path, changed: dict[str, Any], reason: str, words: str, fix: str
) -> None:
    def scene(links: Links) -> None:
        wire = cast(Any, Wire())
        links.answer(wire, "laptop", FROM).line(hello(**changed))
        found = turned(links)
        assert (found.reason, found.tries, found.origin) == (reason, 1, FROM)
        assert words in found.text
        assert fix in found.fix
        links.answer(wire, "laptop", FROM).line(hello())
        links.answer(wire, "laptop", FROM).lost()
        assert turned(links).tries == 1  # one that may yet prove its key, one that went

    on_links(book(tmp_path), scene)


@pytest.mark.parametrize(
    ("more", "given", "error", "fix"),
    [
        ({}, "mars", NoSuchDevice, "to keep it out: homi link expel mars"),
        ({"paused": True}, "laptop", NotAllowed, "homi link resume laptop"),
        ({"via": HUB}, "laptop", NoSuchDevice, "homi link add laptop --via ''"),
    ],
)
def test_one_that_may_not_come_in_is_shown_before_any_hello(
    tmp_path: Path, more: dict[str, Any], given: str, error: type[Exception], fix: str
) -> None:
    made = book(tmp_path)
    made.put(Peering(device=HUB, key=KEYS["max"]))
    made.put(msgspec.structs.replace(made.need("laptop"), **more))

    def scene(links: Links) -> None:
        for _ in range(2):
            with pytest.raises(error):
                links.answer(cast(Any, Wire()), given, FROM)
        found = turned(links, given)
        assert (found.tries, fix in found.fix) == (2, True), found
        made.put(msgspec.structs.replace(made.need("laptop"), paused=False, via=None))
        assert ("laptop" in links.turned.rows()) is False  # what was said is old

    on_links(made, scene)


def test_a_device_whose_key_cannot_be_read_says_so_and_not_that_it_is_not_paired(
    tmp_path: Path,
) -> None:
    def scene(links: Links) -> None:
        with pytest.raises(Unavailable, match="mini: the key has a passphrase"):
            links.answer(cast(Any, Wire()), "laptop", FROM)
        assert links.turned.rows() == {}

    on_links(book(tmp_path), scene, BadConfig("the key has a passphrase", hint="x"))


def test_a_flood_fills_neither_memory_nor_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And a linked device is shown all the same."""
    clock = Clock()
    kept = TurnedAway(book(tmp_path), clock)
    no = NoSuchDevice("it is not paired with mini")
    with caplog.at_level(logging.WARNING, "homi.links"):
        for _ in range(3):
            for number in range(4 * MOST):
                kept.refused(f"x{number}" + "\n" * 999, "\x1b[31m" * 999, no)
        assert len(kept.rows()) == MOST
        assert len(caplog.records) == MOST + 1
        kept.ended(LAPTOP, FROM, frames.End.DEVICE_KEY, "another key")
        assert (len(kept.rows()), kept.rows()["laptop"].tries) == (MOST, 1)
        whole = msgspec.json.encode(kept.rows())
        assert len(whole) < MOST * 2000
        assert b"\\u001b" not in whole
        clock.now += PERIOD
        kept.ended(LAPTOP, FROM, frames.End.DEVICE_KEY, "another key")
        assert "laptop turned-away from 192.0.2.7: another key (" in caplog.text
        assert len(caplog.records) == MOST + 3
        clock.now += KEPT
        assert list(kept.rows()) == ["laptop"]
        clock.now += 1
        assert kept.rows() == {}

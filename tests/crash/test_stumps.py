"""Damage found at a start: it costs what it hit, is reported, and stays to be seen."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homi.address import Name
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import Envelope, Rung
from homi.store.base import Kept
from homi.store.reading import iter_inbox
from homi.store.store import DiskStore
from tests.contract.store_kit import ADA, Bench

Scenario = Callable[[Bench], Awaitable[None]]


def daemon(root: Path, scenario: Scenario) -> list[tuple[str, int]]:
    """One life of a store, ended in order; what it found unreadable, and where."""

    async def main() -> list[tuple[str, int]]:
        store = DiskStore.open(root, Config(ring=1), SystemClock())
        store.start(asyncio.get_running_loop())
        try:
            await scenario(Bench(store))
        finally:
            await store.aclose()
        return [(Path(one.path).name, one.offset) for one in store.findings]

    return asyncio.run(main())


async def nothing(bench: Bench) -> None:
    """A start and a stop."""


async def first(bench: Bench) -> None:
    """One mail."""
    await bench.send(bench.mail(1))


async def second(bench: Bench) -> None:
    """The first is there, a second comes."""
    assert len(bench.store.mailbox(ADA).pending) >= 1
    (mail,) = await bench.send(bench.mail(2, text="é" * 50))
    assert mail.kept is Kept.STORED


def readable(inbox: Path) -> list[int]:
    return [one.seq for _, one in iter_inbox(inbox) if isinstance(one, Envelope)]


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9])
def test_stump_costs_no_later_mail_and_stays(tmp_path: Path, keep: float) -> None:
    """Half a line at the end, as a crash leaves it; also inside a character."""
    root = tmp_path / "root"
    daemon(root, first)
    inbox = root / "mail" / "ada" / "inbox.jsonl"
    whole = inbox.read_bytes()
    stump = whole[: int(len(whole) * keep)] + b"\xc3"
    inbox.write_bytes(whole + stump)
    assert daemon(root, second) == []  # a tail without line feed is no line yet
    assert inbox.read_bytes().startswith(whole + stump + b"\n")
    assert readable(inbox) == [1, 2]
    assert daemon(root, nothing) == [("inbox.jsonl", len(whole))]
    assert inbox.read_bytes().startswith(whole + stump + b"\n")


def test_restarts_keep_the_same_mail_in_the_same_order(tmp_path: Path) -> None:
    """Only evidence or a decision takes mail away."""
    root = tmp_path / "root"
    seen: list[list[tuple[int, str]]] = []

    async def send(bench: Bench) -> None:
        mails = await bench.send(*[bench.mail(number) for number in range(4)])
        assert await bench.record(mails[1], Rung.SEEN)

    async def look(bench: Bench) -> None:
        pending = bench.store.mailbox(ADA).pending
        seen.append([(item.seq, item.id) for item in pending.values()])

    daemon(root, send)
    for _ in range(5):
        daemon(root, look)
    assert len(seen[0]) == 3
    assert all(one == seen[0] for one in seen)


def test_damage_in_one_mailbox_touches_no_other(tmp_path: Path) -> None:
    """Its own intact lines are read, too."""
    root = tmp_path / "root"

    async def send(bench: Bench) -> None:
        await bench.send(*[bench.mail(number) for number in range(3)])
        await bench.send(bench.mail(9, place=Name("bob")))

    daemon(root, send)
    inbox = root / "mail" / "ada" / "inbox.jsonl"
    lines = inbox.read_bytes().split(b"\n")
    lines[1] = b"\0" * len(lines[1])
    inbox.write_bytes(b"\n".join(lines))

    async def look(bench: Bench) -> None:
        assert list(bench.store.mailbox(ADA).pending) == [1, 3]
        assert len(bench.store.mailbox(Name("bob")).pending) == 1
        (again,) = await bench.send(bench.mail(1))
        # What it said is not known any more, so the sender's retry is new mail.
        assert again.kept is Kept.STORED

    assert daemon(root, look) == [("inbox.jsonl", len(lines[0]) + 1)]
    assert readable(inbox) == [1, 3, 4]

"""What another hand does to the files of a running store: acknowledged mail stays."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import Envelope, Rung, decode_msg
from homi.store.base import Kept
from homi.store.reading import iter_inbox
from homi.store.store import DiskStore
from tests.contract.store_kit import ADA, Bench

Meddle = Callable[[Path], object]


def touch_nothing(_inbox: Path) -> None:
    """The control: the store is left alone."""


def empty(inbox: Path) -> None:
    """> inbox.jsonl"""
    os.truncate(inbox, 0)


def cut(inbox: Path) -> None:
    """In mid-line."""
    os.truncate(inbox, 9)


def move(inbox: Path) -> None:
    """As a log is rotated."""
    inbox.rename(inbox.with_name("inbox.old"))


def replace(inbox: Path) -> None:
    """Moved, and an empty one put in its place."""
    move(inbox)
    inbox.touch()


def remove_mailbox(inbox: Path) -> None:
    """rm -r mail/ada"""
    shutil.rmtree(inbox.parent)


def remove_mail(inbox: Path) -> None:
    """rm -r mail"""
    shutil.rmtree(inbox.parent.parent)


def live(root: Path, scenario: Callable[[DiskStore], Awaitable[None]]) -> None:
    """One life of a store, ended in order."""

    async def main() -> None:
        store = DiskStore.open(root, Config(ring=1), SystemClock())
        store.start(asyncio.get_running_loop())
        try:
            await scenario(store)
        finally:
            await store.aclose()

    asyncio.run(main())


def texts(inbox: Path) -> list[str]:
    """What the readable lines say, in file order."""
    found = [one for _, one in iter_inbox(inbox) if isinstance(one, Envelope)]
    return [decode_msg(bytes(one.msg)).text for one in found]


MEDDLERS = [
    touch_nothing,
    Path.unlink,
    empty,
    cut,
    move,
    replace,
    remove_mailbox,
    remove_mail,
]


@pytest.mark.parametrize("meddle", MEDDLERS)
def test_mail_acknowledged_over_a_vanished_inbox_is_kept(
    tmp_path: Path, meddle: Meddle
) -> None:
    """The ring lets no line go before it stands in the file that a start will read."""
    root = tmp_path / "root"
    inbox = root / "mail" / "ada" / "inbox.jsonl"
    stored: list[str] = []

    async def send(store: DiskStore) -> None:
        bench = Bench(store)
        for number in range(4):
            text = f"mail {number}"
            # A refusal ends as soon as the store has made good what is missing.
            while True:
                (mail,) = await bench.send(bench.mail(number, text=text))
                if mail.kept in (Kept.STORED, Kept.KNOWN):
                    break
            stored.append(text)
            if number == 1:
                meddle(inbox)

    live(root, send)
    assert texts(inbox) == stored
    assert len(stored) == 4

    async def look(store: DiskStore) -> None:
        assert len(store.mailbox(ADA).pending) == len(stored)

    live(root, look)


@pytest.mark.parametrize("meddle", [touch_nothing, Path.unlink, empty])
def test_a_decision_over_a_vanished_ledger_is_kept(
    tmp_path: Path, meddle: Meddle
) -> None:
    """An ack that was answered never comes back as new mail."""
    root = tmp_path / "root"
    ledger = root / "mail" / "ada" / "ledger.jsonl"

    async def decide(store: DiskStore) -> None:
        bench = Bench(store)
        first, second, _ = await bench.send(*[bench.mail(n) for n in range(3)])
        assert await bench.record(first, Rung.SEEN, durable=True)
        meddle(ledger)
        while not await bench.record(second, Rung.SEEN, durable=True):
            pass

    live(root, decide)

    async def look(store: DiskStore) -> None:
        assert list(store.mailbox(ADA).pending) == [3]

    live(root, look)


def test_lines_another_hand_appends_are_not_written_over(tmp_path: Path) -> None:
    """A stranger's line is unreadable to us, and no reason to lose it or ours."""
    root = tmp_path / "root"
    inbox = root / "mail" / "ada" / "inbox.jsonl"

    async def send(store: DiskStore) -> None:
        bench = Bench(store)
        await bench.send(bench.mail(1, text="ours"))
        with inbox.open("ab") as file:
            file.write(b"# a note, without an end")
        await bench.send(bench.mail(2, text="ours again"))

    live(root, send)
    assert texts(inbox) == ["ours", "ours again"]
    assert b"# a note, without an end\n" in inbox.read_bytes()

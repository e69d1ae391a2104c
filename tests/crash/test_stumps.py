"""Damage found at a start: it costs what it hit, is reported, and stays to be seen."""

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from homi.address import Name
from homi.claims import State
from homi.clock import SystemClock
from homi.config import Config
from homi.envelope import Envelope, Rung
from homi.errors import StorageFailed
from homi.store.base import Kept
from homi.store.disk import RealDisk
from homi.store.reading import iter_inbox
from homi.store.state import StateFile
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


def no_change(_path: Path) -> None:
    """The control."""


def folder(path: Path) -> None:
    """A folder stands there."""
    path.unlink(missing_ok=True)
    path.mkdir()


def pipe(path: Path) -> None:
    """A pipe nobody writes to."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def link(path: Path) -> None:
    """A link to where the file went."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def link_to_nowhere(path: Path) -> None:
    """A link to nothing: writing through it would make a file somewhere."""
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


def device(path: Path) -> None:
    """A file without an end."""
    path.unlink()
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")


def linked_mailbox(path: Path) -> None:
    """The whole mailbox is elsewhere."""
    path.parent.rename(path.parent.parent.parent / "ada")
    path.parent.symlink_to("../ada")


def stray(path: Path) -> None:
    """A file where the folder should be."""
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()
    path.parent.touch()


SPOILERS = [no_change, folder, pipe, link, link_to_nowhere, device]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("file", ["inbox.jsonl", "ledger.jsonl"])
@pytest.mark.parametrize("spoil", [*SPOILERS, linked_mailbox, stray])
def test_a_mailbox_that_cannot_be_used_costs_no_other_its_mail(
    tmp_path: Path, file: str, spoil: Callable[[Path], None]
) -> None:
    """It takes nothing, gives nothing out and is reported; all others go on."""
    root = tmp_path / "root"
    bob = Name("bob")

    async def send(bench: Bench) -> None:
        mail, _, _ = await bench.send(*[bench.mail(number) for number in range(3)])
        assert await bench.record(mail, Rung.SEEN)
        await bench.send(bench.mail(9, place=bob))

    daemon(root, send)
    spoil(root / "mail" / "ada" / file)
    fine = spoil is no_change

    async def look(bench: Bench) -> None:
        assert list(bench.store.mailbox(ADA).pending) == ([2, 3] if fine else [])
        ada, other = await bench.send(bench.mail(5), bench.mail(6, place=bob))
        assert ada.kept is (Kept.STORED if fine else Kept.FAILED)
        assert other.kept is Kept.STORED
        assert await bench.record(ada, Rung.SEEN) is fine
        assert await bench.record(other, Rung.SEEN, place=bob)
        assert not bench.store.closed()

    found = daemon(root, look)
    assert bool(found) is not (fine or spoil is stray)
    assert readable(root / "mail" / "bob" / "inbox.jsonl") == [1, 2]
    assert not (root / "mail" / "ada" / "nowhere").exists()


def test_a_mailbox_that_is_whole_again_is_used_from_the_next_start(
    tmp_path: Path,
) -> None:
    """Not before: what it holds was never read, and numbers must not come twice."""
    root = tmp_path / "root"
    inbox = root / "mail" / "ada" / "inbox.jsonl"
    daemon(root, first)
    aside = inbox.rename(inbox.with_name("aside"))
    inbox.mkdir()

    async def mend(bench: Bench) -> None:
        inbox.rmdir()
        aside.rename(inbox)
        (mail,) = await bench.send(bench.mail(2))
        assert mail.kept is Kept.FAILED

    assert len(daemon(root, mend)) == 1
    assert daemon(root, second) == []
    assert readable(inbox) == [1, 2]


def test_a_mailbox_spoilt_while_it_was_closed_refuses_its_own_mail_only(
    tmp_path: Path,
) -> None:
    """A record in the ring for a file that takes no line would close accept for all."""
    root = tmp_path / "root"
    (root / "mail").mkdir(parents=True)
    (root / "mail").chmod(0o700)
    root.chmod(0o700)

    async def send(bench: Bench) -> None:
        (root / "mail" / "ada").touch()
        bob = Name("bob")
        ada, other = await bench.send(bench.mail(1), bench.mail(2, place=bob))
        assert (ada.kept, other.kept) == (Kept.FAILED, Kept.STORED)
        assert not bench.store.closed()
        (root / "mail" / "ada").unlink()
        (ada,) = await bench.send(bench.mail(1))
        assert ada.kept is Kept.STORED

    daemon(root, send)
    assert readable(root / "mail" / "ada" / "inbox.jsonl") == [1]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("file", ["names.json", "boot.json", "ring"])
@pytest.mark.parametrize("spoil", SPOILERS)
def test_a_state_file_that_is_none_is_moved_aside_and_the_rest_is_read(
    tmp_path: Path, file: str, spoil: Callable[[Path], None]
) -> None:
    """Nothing waits on a pipe, reads a folder or follows a link; none is removed."""
    root = tmp_path / "root"
    daemon(root, first)
    StateFile(str(root / "names.json"), RealDisk(), State).save(State(instance="1"))
    spoil(root / file)

    names = StateFile(str(root / "names.json"), RealDisk(), State)
    if spoil is link:
        # Whoever made it may have moved the file to another disk.
        start = names.load if file == "names.json" else lambda: daemon(root, nothing)
        with pytest.raises(StorageFailed) as caught:
            start()
        assert f"{root / file}" in caught.value.text
        return
    told = [path for path, *_ in daemon(root, nothing)]
    told += [Path(one.path).name for one in names.load()[1]]
    assert (file in told) is (spoil is not no_change)
    assert os.path.lexists(f"{root / file}.aside") is (spoil is not no_change)
    assert readable(root / "mail" / "ada" / "inbox.jsonl") == [1]
    names.save(State(instance="2"))
    found, findings = names.load()
    assert (found and found.instance, findings) == ("2", [])

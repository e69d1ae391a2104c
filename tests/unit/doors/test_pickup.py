"""Intake of what was spooled: nothing lost, nothing hung, one file at a time."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from homi import ids
from homi.address import Name
from homi.doors.pickup import PickupDoor
from homi.envelope import MessageId, Msg, Via, encode
from homi.errors import StorageFailed
from homi.postmaster import Stamp, Submission
from homi.store import pickup
from homi.strict import parse_msg
from tests.unit.doors.peer_kit import House

AT = "2026-11-30T01:02:03.456Z"


class Spool(House):
    """A state root with a pickup door; its peer door stays shut."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.names.claim("ada", None, 0.0)
        self.names.claim("bob", None, 0.0)
        self.pickup = PickupDoor(
            self.home, self.names, self.postmaster, self.quarantine
        )

    def leave(self, to: str = "ada", sender: str = "bob", **spooled: object) -> Path:
        """A message as a client leaves it; its file."""
        msg = Msg(id=MessageId(ids.new()), from_=sender, to=to, text="hello")
        fields: dict[str, object] = {"at": AT, "caller": "service", "uid": 1, "pid": 2}
        fields |= spooled | {"msg": msgspec.Raw(encode(msg))}
        return pickup.write(self.home, pickup.Spooled(**fields))  # type: ignore[arg-type]

    def put(self, name: str, data: bytes) -> Path:
        """A file nobody's client wrote."""
        path = self.home / pickup.FOLDER / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(data)
        return path

    def kept(self, name: str) -> int:
        """How many messages the inbox of name has."""
        return bytes(self.store.inboxes.get(Name(name), b"")).count(b"\n")

    async def intake(self) -> None:
        """Start, let the store answer, stop."""
        self.pickup.start()
        for _ in range(5):
            await asyncio.sleep(0)
        self.pickup.stop()


@pytest.fixture
def spool(root: Path) -> Spool:
    return Spool(root)


def test_a_spooled_message_is_taken_in_and_its_file_goes(spool: Spool) -> None:
    """The control of all that follows."""
    path = spool.leave()
    asyncio.run(spool.intake())
    assert spool.kept("ada") == 1
    assert not path.exists()


@pytest.mark.parametrize("strange", ["pipe", "link", "folder", "huge"])
def test_what_is_no_file_is_left_and_hangs_nobody(spool: Spool, strange: str) -> None:
    """A pipe would be waited for without end, a link may lead anywhere."""
    path = spool.put("0.json", b"")
    path.unlink()
    if strange == "pipe":
        os.mkfifo(path)
    elif strange == "link":
        path.symlink_to("/dev/zero")
    elif strange == "folder":
        path.mkdir()
    else:
        path.touch()
        os.truncate(path, 1 << 40)
    spool.leave()
    asyncio.run(asyncio.wait_for(spool.intake(), 60))
    assert os.path.lexists(path)
    assert spool.kept("ada") == 1


def test_what_cannot_be_read_is_kept_whole_in_quarantine(spool: Spool) -> None:
    """In a file of its own, durably, before its own file goes."""
    path = spool.put("0.json", b"no submission\n")
    asyncio.run(spool.intake())
    assert not path.exists()
    folder = spool.home / "quarantine"
    (copy,) = [each for each in folder.iterdir() if each.name.startswith("pickup-")]
    assert copy.read_bytes() == b"no submission\n"
    (line,) = (folder / "refused.jsonl").read_text().splitlines()
    assert json.loads(line)["reason"] == "unreadable"


def test_what_quarantine_cannot_keep_stays(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be the only copy there is."""

    def full(_label: str, _data: bytes) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spool.quarantine, "keep", full)
    path = spool.put("0.json", b"no submission\n")
    asyncio.run(spool.intake())
    assert path.read_bytes() == b"no submission\n"


def _store_fails(spool: Spool) -> None:
    spool.store.fail_next = 1


def _mailbox_is_full(spool: Spool) -> None:
    spool.store.free = 0


def _names_cannot_be_saved(spool: Spool) -> None:
    def accept(sub: object) -> None:
        error = StorageFailed("cannot write names.json: No space left on device")
        spool.postmaster.refuse(sub, error)  # type: ignore[arg-type]

    spool.postmaster.accept = accept  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "trouble", [_store_fails, _mailbox_is_full, _names_cannot_be_saved]
)
def test_a_refusal_that_may_end_leaves_the_file(
    spool: Spool, trouble: Callable[[Spool], None]
) -> None:
    """Whoever was told "spooled" was told that it is kept."""
    path = spool.leave()
    trouble(spool)
    asyncio.run(spool.intake())
    assert path.exists()
    assert spool.kept("ada") == 0


def test_a_refusal_for_good_comes_back_as_mail(spool: Spool) -> None:
    """The control: the file goes, its sender hears of it."""
    path = spool.leave(to="nobody")
    asyncio.run(spool.intake())
    assert not path.exists()
    assert spool.kept("bob") == 1


def test_the_file_of_a_refused_message_goes_with_the_notice_only(spool: Spool) -> None:
    """Else nobody would ever hear of it: the notice is the last copy of the fact."""
    path = spool.leave(to="nobody")
    spool.store.fail_next = 1
    asyncio.run(spool.intake())
    assert path.exists()
    asyncio.run(spool.intake())
    assert not path.exists()
    assert spool.kept("bob") == 1


def test_what_another_door_stored_is_not_stored_again(spool: Spool) -> None:
    """A client that lost its answer, then its daemon, left the same bytes here."""
    path = spool.leave()
    (_, spooled) = pickup.scan(spool.home)[0]
    assert isinstance(spooled, pickup.Spooled)
    spool.leave()

    async def scenario() -> None:
        raw = bytes(spooled.msg)
        head = parse_msg(raw)
        stamp = Stamp(Via(door="control", session="s", verified=True))
        spool.postmaster.accept(Submission(head, raw, stamp, "ada", lambda _: None))
        await asyncio.sleep(0)
        await spool.intake()

    asyncio.run(scenario())
    assert spool.kept("ada") == 2  # the one of both doors, and the other one
    assert not path.exists()


@pytest.mark.parametrize(
    ("sender", "session", "taken"),
    [
        ("bob", None, True),
        ("owner", None, True),
        ("zoe", "5b0c", True),
        ("zoe", None, False),
        ("postmaster", None, False),
        ("postmaster", "5b0c", False),
        ("root", "5b0c", False),
    ],
)
def test_only_names_that_could_be_the_senders_are_signed_with(
    spool: Spool, sender: str, session: str | None, taken: bool
) -> None:
    """The rules of the other doors, over what the file says of its writer."""
    spool.leave(sender=sender, session=session)
    asyncio.run(spool.intake())
    assert spool.kept("ada") == taken


def test_without_notices_the_sweep_finds_what_comes(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine may be out of inotify instances; the daemon starts all the same."""

    def none_left() -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("homi.inotify.Inotify", none_left)

    async def scenario() -> None:
        spool.pickup.start()
        spool.leave()
        spool.pickup.sweep()
        for _ in range(5):
            await asyncio.sleep(0)
        spool.pickup.stop()

    asyncio.run(scenario())
    assert spool.kept("ada") == 1


@pytest.mark.parametrize("spoil", ["open to others", "a link", "a file"])
def test_a_folder_that_is_not_ours_alone_costs_no_other_service(
    spool: Spool, spoil: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The daemon's sweep goes on behind it; once it is ours again, so does intake."""
    folder = spool.home / pickup.FOLDER
    aside = folder.with_name("aside")

    async def sweep() -> None:
        spool.pickup.sweep()
        for _ in range(5):
            await asyncio.sleep(0)

    async def scenario() -> None:
        spool.leave()
        spool.pickup.start()
        await sweep()
        assert spool.kept("ada") == 1  # the control
        folder.rename(aside)
        if spoil == "open to others":
            folder.mkdir()
            folder.chmod(0o777)
        elif spoil == "a link":
            folder.symlink_to(aside)
        else:
            folder.touch()
        for _ in range(3):
            await sweep()
        told = [r for r in caplog.records if "not looked into" in r.message]
        assert len(told) == 1
        folder.rmdir() if spoil == "open to others" else folder.unlink()
        aside.rename(folder)
        spool.leave()
        await sweep()
        assert spool.kept("ada") == 2
        spool.pickup.stop()

    asyncio.run(scenario())

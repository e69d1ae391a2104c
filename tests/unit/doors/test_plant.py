"""Records and sockets follow names and owners, and come back when taken away."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from homi.address import Name
from homi.claims import Claim, State
from homi.doors.bind import answers
from homi.doors.plant import FIGHT, TRIES, Records
from homi.errors import BadConfig
from homi.peers.registry import Planter
from homi.sessions import Session
from homi.store.disk import RealDisk
from homi.store.state import StateFile
from tests.unit.doors.ends import connect, run, told
from tests.unit.doors.peer_kit import House, message


@contextmanager
def live_process() -> Iterator[int]:
    """The pid of a process that lives until the end."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    try:
        yield child.pid
    finally:
        child.kill()
        child.communicate()


def there(path: str) -> bool:
    """Whether any file is at path."""
    return os.path.lexists(path)


async def eventually(true: object, seconds: float = 60.0) -> None:
    """Look again each time a file may have changed; TimeoutError else."""
    assert callable(true)
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - files tell a test nothing
            await asyncio.sleep(0.005)


def test_claim_is_listed_once_its_socket_answers_and_gone_with_its_release(
    root: Path,
) -> None:
    """And the built-ins answer, but are never listed."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            assert house.listed() == {}
            assert answers(house.path("owner"))
            assert answers(house.path("postmaster"))
            path = house.claim("bob")
            assert house.listed() == {"bob": path}
            assert answers(path)
            record = json.loads(next(house.registry.glob("*.json")).read_text())
            assert record["pid"] == int(Path(path).stem)
            house.names.release("bob")
            assert house.listed() == {}
            assert not there(path)
            assert list(house.registry.iterdir()) == []
            again = house.claim("bob")
            assert again == path
            assert house.listed() == {"bob": path}

    run(main)


def test_record_says_the_folder_of_its_claim(root: Path) -> None:
    """Also when the folder is given later."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            path = house.claim("bob")
            house.names.claim("bob", os.fspath(root), 0.0)
            record = house.registry / f"{Path(path).stem}.json"
            assert json.loads(record.read_text())["cwd"] == os.fspath(root)
            assert house.listed() == {"bob": path}

    run(main)


def test_stop_takes_every_file_away(root: Path) -> None:
    """Nobody else cleans up for a foreign domain."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            house.claim("bob")
            house.door.socket_for("somebody")
            assert len(list(house.sockets.iterdir())) == 4
        assert list(house.sockets.iterdir()) == []
        assert list(house.registry.iterdir()) == []
        async with house.open():
            assert set(house.listed()) == {"bob"}

    run(main)


def test_record_steps_aside_for_a_live_session_and_comes_back(root: Path) -> None:
    """Withdrawn before anyone else hears of the owner; the socket keeps listening."""

    async def main() -> None:
        house = House(root)
        listed: list[bool] = []
        house.owners.subscribe(
            lambda _name, _old, _new: listed.append("bob" in house.listed())
        )
        async with house.open():
            path = house.claim("bob")
            with live_process() as pid:
                house.session(pid, "bob")
                await house.until(lambda: house.owners.owner(Name("bob")) is not None)
                assert listed == [False]
                assert house.listed() == {}
                assert await told(connect(path), [message("x")]) == "success"
                assert house.texts("bob") == ["x"]
            await house.until(lambda: house.owners.owner(Name("bob")) is None)
            assert listed == [False, True]
            assert house.listed() == {"bob": path}

    run(main)


def test_renamed_session_gives_the_record_back(root: Path) -> None:
    """And one that takes a claimed name withdraws it."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            house.claim("bob")
            house.claim("ada")
            with live_process() as pid:
                house.session(pid, "bob")
                await house.until(lambda: set(house.listed()) == {"ada"})
                house.session(pid, "Ada")
                await house.until(lambda: set(house.listed()) == {"bob"})

    run(main)


def test_release_under_a_live_session_never_lists_the_name(root: Path) -> None:
    """Two equal names make every send by name fail, also for a moment."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            house.claim("bob")
            planted: list[object] = []
            plant = house.planter.plant

            def noted(*args: object) -> None:
                planted.append(args[1])
                plant(*args)  # type: ignore[arg-type]

            house.planter.plant = noted  # type: ignore[method-assign]
            with live_process() as pid:
                house.session(pid, "bob")
                await house.until(lambda: house.listed() == {})
                house.names.release("bob")
                assert planted == []
            await house.until(lambda: house.sessions.live == {})
            house.claim("bob")
            assert planted == ["bob"]

    run(main)


def test_deleted_record_is_planted_again_and_a_fight_is_told(root: Path) -> None:
    """A few times a minute; then homi gives way and says so."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            path = house.claim("bob")
            record = house.registry / f"{Path(path).stem}.json"
            for _ in range(TRIES):
                record.unlink()
                await eventually(record.exists)
                assert house.door.unlisted == {}
            record.unlink()
            await eventually(lambda: bool(house.door.unlisted))
            assert "bob" in house.door.unlisted
            assert not record.exists()
            assert answers(path)

    run(main)


class Turned:
    """A monotonic clock one can turn."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_folder_others_can_reach_is_told_until_it_is_closed(root: Path) -> None:
    """Who looks for the name in vain must learn why; where no client has ever run
    nobody looks."""
    (root / "client").mkdir()
    folder = root / "client" / "sessions"
    folder.mkdir()
    folder.chmod(0o755)
    planters = [Planter(folder, "homi:test"), Planter(root / "none" / "s", "homi:test")]
    records = Records(planters, Turned())
    claim = Claim(name=Name("bob"), number=10**11, session_id="x")
    records.show(claim, f"{root}/1.sock", 0.0)
    assert list(records.unlisted) == ["bob"]
    assert f"(chmod 700 {folder})" in records.unlisted["bob"]
    folder.chmod(0o700)
    records.check(claim.number)
    assert records.unlisted == {}
    assert (folder / f"{claim.number}.json").exists()


def test_fight_is_fought_slowly_and_ends(root: Path) -> None:
    """One try a minute; when the record stays, all is well again."""
    clock = Turned()
    planter = Planter(root, "homi:test")
    records = Records([planter], clock)
    claim = Claim(name=Name("bob"), number=10**11, session_id="x")
    records.show(claim, f"{root}/1.sock", 0.0)
    record = root / f"{claim.number}.json"
    for _ in range(TRIES + 1):
        record.unlink()
        records.check(claim.number)
    assert not record.exists()
    assert set(records.fights) == {"bob"}
    clock.now += FIGHT + 1
    records.check(claim.number)
    assert record.exists()
    record.unlink()
    records.check(claim.number)
    assert not record.exists()
    clock.now += FIGHT + 1
    records.check(claim.number)
    clock.now += FIGHT + 1
    records.check(claim.number)
    assert record.exists()
    assert records.fights == {}


def test_record_of_another_under_our_number_is_left_alone(root: Path) -> None:
    """Whatever stands there with a foreign domain is not ours to delete."""
    planter = Planter(root, "homi:test")
    records = Records([planter], time.monotonic)
    claim = Claim(name=Name("bob"), number=10**11, session_id="x")
    records.show(claim, f"{root}/1.sock", 0.0)
    record = root / f"{claim.number}.json"
    foreign = json.dumps({"pidDomain": "homi:other", "name": "bob"})
    record.write_text(foreign)
    records.hide(claim.number)
    assert record.read_text() == foreign


def test_registry_that_comes_later_is_planted_then(root: Path) -> None:
    """No agent client ever ran here: the first one makes the folder."""

    async def main() -> None:
        house = House(root)
        shutil.rmtree(house.config)
        async with house.open():
            path = house.claim("bob")
            assert answers(path)
            house.config.mkdir(mode=0o700)
            house.registry.mkdir(mode=0o700)
            await eventually(lambda: house.listed() == {"bob": path})

    run(main)


@pytest.mark.parametrize("how", ["deleted", "replaced", "folder"])
def test_socket_taken_away_under_us_is_bound_again(root: Path, how: str) -> None:
    """Senders would get ENOENT for ever, and the listener never learn of it."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            path = house.claim("bob")
            early = connect(path)
            before = os.lstat(path).st_ino
            if how == "folder":
                shutil.rmtree(house.sockets)
            else:
                os.unlink(path)
            if how == "replaced":
                dead = socket.socket(socket.AF_UNIX)
                dead.bind(path)
                dead.close()
            await eventually(lambda: there(path) and os.lstat(path).st_ino != before)
            await eventually(lambda: answers(path))
            assert await told(connect(path), [message("late")]) == "success"
            assert await told(early, [message("early")]) == "success"
            assert house.texts("bob") == ["late", "early"]
            assert answers(house.path("owner"))

    run(main)


def test_live_foreign_listener_keeps_its_place(root: Path) -> None:
    """The name is told as not bound, others are served, and it is tried again."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            path = house.claim("bob")
            other = house.claim("ada")
        with socket.socket(socket.AF_UNIX) as foreign:
            foreign.bind(path)
            foreign.listen()
            inode = os.lstat(path).st_ino
            async with house.open():
                number = int(Path(path).stem)
                assert set(house.door.unbound) == {number}
                assert set(house.listed()) == {"ada"}
                assert await told(connect(other), [message("x")]) == "success"
                assert os.lstat(path).st_ino == inode
                foreign.close()
                os.unlink(path)
                await eventually(lambda: house.door.unbound == {})
                assert await told(connect(path), [message("y")]) == "success"

    run(main)


@pytest.mark.parametrize("fault", ["link", "mode"])
def test_door_does_not_open_in_a_folder_others_reach(root: Path, fault: str) -> None:
    """78, before anything is bound; the sound folder is the control."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            assert answers(house.path("owner"))
        if fault == "link":
            house.sockets.rename(root / "real")
            house.sockets.symlink_to(root / "real")
        else:
            house.sockets.chmod(0o777)
        with pytest.raises(BadConfig) as caught:
            await house.door.start()
        assert caught.value.exit_status == os.EX_CONFIG

    run(main)


def test_every_file_is_private_whatever_the_umask(root: Path) -> None:
    """Sockets, keys and records 0600, the folder 0700."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            house.claim("bob")
            for file in [*house.sockets.iterdir(), *house.registry.iterdir()]:
                assert file.lstat().st_mode & 0o077 == 0, file
            assert house.sockets.lstat().st_mode & 0o777 == 0o700

    before = os.umask(0)
    try:
        run(main)
    finally:
        os.umask(before)


def thousand(house: House) -> None:
    """A names.json with a thousand claims."""
    state = State(instance="0" * 16)
    for n in range(1000):
        name = Name(f"name-{n}")
        state.claims[name] = Claim(name=name, number=10**11 + n, session_id=f"{n}")
    file = StateFile(os.fspath(house.home / "names.json"), RealDisk(), State)
    file.save(state)


def test_thousand_names_are_listed_and_answer(root: Path) -> None:
    """One process holds them all, one descriptor each."""

    async def main() -> None:
        thousand(House(root))
        house = House(root)
        async with house.open():
            listed = house.listed()
            assert len(listed) == 1000
            assert all(answers(path) for path in listed.values())
            path = listed["name-999"]
            assert await told(connect(path), [message("x")]) == "success"
            assert house.texts("name-999") == ["x"]
        assert list(house.sockets.iterdir()) == []

    run(main)


def test_session_without_a_socket_owns_nothing(root: Path) -> None:
    """Nothing can be handed to it: the record stays with homi."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            house.claim("bob")
            with live_process() as pid:
                house.session(pid, "bob", messagingSocketPath=None)
                await house.until(lambda: pid in house.sessions.live)
                assert set(house.listed()) == {"bob"}
                owner: Session | None = house.owners.owner(Name("bob"))
                assert owner is None

    run(main)

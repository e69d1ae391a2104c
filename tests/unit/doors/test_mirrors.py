"""Mirrors in the agent clients' registry: one record each, never two of a name."""

import os
from pathlib import Path

from homi.address import Device, Name, parse_address
from tests.unit.doors.ends import run
from tests.unit.doors.peer_kit import House, message
from tests.unit.doors.test_peer import send

MINI, LAB = Device("mini"), Device("lab")


def sync(house: House, device: Device, *names: str) -> None:
    """Let a device have these names."""
    house.names.mirrors.sync(device, {Name(name): 1 for name in names}, 1.0)


def test_mirrors_are_listed_and_written_to_by_their_own_sockets(root: Path) -> None:
    """What is written there is for the far address, whoever has the name here."""

    async def main() -> None:
        said: list[str] = []
        house = House(root, accept=lambda sub: said.append(sub.head.to))
        sync(house, MINI, "ada")
        async with house.open():
            (path,) = house.listed().values()
            assert house.listed() == {"ada": path}
            house.claim("ada")
            listed = house.listed()
            assert listed == {"ada": house.path("ada"), "ada.mini": path}
            await send(path, message("x"), patience=0.2)
            assert said == ["ada@mini"]
            assert house.path("ada@mini") == path
            house.names.release("ada")
            assert house.listed() == {"ada": path}
        assert house.listed() == {}

    run(main)


def test_two_that_want_one_name_never_stand_there_together(root: Path) -> None:
    """At every step each listed name has one record."""

    async def main() -> None:
        house = House(root)
        async with house.open():
            sync(house, MINI, "ada")
            sync(house, LAB, "ada", "bob")
            assert set(house.listed()) == {"ada.mini", "ada.lab", "bob"}
            house.names.add_alias("bob", parse_address("owner"), 1.0)
            assert set(house.listed()) == {"ada.mini", "ada.lab", "bob", "bob.lab"}
            house.names.aliases.remove("bob")
            sync(house, MINI)
            assert set(house.listed()) == {"ada", "bob"}
            sync(house, LAB)
            assert house.listed() == {}

    run(main)


def test_a_mirror_steps_aside_for_a_session_of_its_name(root: Path) -> None:
    """And is back under it when the session is gone."""

    async def main() -> None:
        house = House(root)
        sync(house, MINI, "ada")
        async with house.open():
            record = house.session(os.getpid(), "ada")
            house.sessions.rescan()
            assert set(house.listed()) == {"ada.mini"}
            record.unlink()
            house.sessions.rescan()
            assert set(house.listed()) == {"ada"}

    run(main)


def test_withdrawn_mirrors_are_not_listed_but_keep_listening(root: Path) -> None:
    """A letter in a transcript can be answered while the link is down."""

    async def main() -> None:
        said: list[str] = []
        house = House(root, accept=lambda sub: said.append(sub.head.to))
        sync(house, MINI, "ada")
        async with house.open():
            (path,) = house.listed().values()
            house.names.mirrors.withdraw(MINI, away=True)
            assert house.listed() == {}
            await send(path, message("x"), patience=0.2)
            assert said == ["ada@mini"]
            house.names.mirrors.withdraw(MINI, away=False)
            assert house.listed() == {"ada": path}

    run(main)


def test_a_mirror_that_ends_leaves_a_socket_only_where_it_was_a_sender(
    root: Path,
) -> None:
    """The number of one that wrote goes to the desk."""

    async def main() -> None:
        house = House(root)
        sync(house, MINI, "ada", "bob")
        async with house.open():
            paths = house.listed()
            assert house.path("ada@mini") == paths["ada"]
            sync(house, MINI)
            assert house.listed() == {}
            kept = os.listdir(house.sockets)
            assert os.path.basename(paths["ada"]) in kept
            assert os.path.basename(paths["bob"]) not in kept
            assert house.path("ada@mini") == paths["ada"]

    run(main)

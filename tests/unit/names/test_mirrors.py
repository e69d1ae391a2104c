"""Names of other devices: which there are, and under which name each is listed."""

import json
from pathlib import Path

import pytest

from homi.address import Device, Name, parse_address
from homi.config import MIRRORS_MAX
from homi.errors import StorageFailed
from homi.names import Names
from tests.unit.names.test_names import NOW, FullDisk, names_at
from tests.unit.names.test_owners import Scene
from tests.unit.sessions.place import Registry

MINI, LAB = Device("mini"), Device("lab")


def listings(scene: Scene) -> dict[str, str | None]:
    """The local name of each mirror."""
    names = scene.names.mirrors
    return {each.to: names.listing(each, scene.owners.has).name for each in names.all()}


def notes(scene: Scene) -> list[str]:
    """Why mirrors are not listed under the names they have there."""
    names = scene.names.mirrors
    return [names.listing(each, scene.owners.has).note for each in names.all()]


def sync(names: Names, device: Device, *given: str) -> None:
    """Let a device have these names."""
    names.mirrors.sync(device, {Name(name): 1 for name in given}, NOW)


def test_a_mirror_keeps_its_number_and_session_id_over_a_restart(
    tmp_path: Path,
) -> None:
    """What stands in transcripts and lists goes on to mean the same."""
    names = names_at(tmp_path)
    sync(names, MINI, "reviewer", "ada")
    before = names.mirrors.all()
    again = names_at(tmp_path)
    sync(again, MINI, "reviewer", "ada", "new")
    assert again.mirrors.all()[:1] + again.mirrors.all()[2:] == before
    assert len({each.number for each in again.mirrors.all()}) == 3
    assert again.mirrors.leads_to("REVIEWER") == "reviewer@mini"
    assert again.mirrors.leads_to("reviewer.mini") == "reviewer@mini"
    assert again.mirrors.leads_to("other") is None


def test_what_is_the_same_is_not_written_again(tmp_path: Path) -> None:
    """A list that comes at each meeting costs a sync only where it says something."""
    names = names_at(tmp_path)
    sync(names, MINI, "ada")
    file = tmp_path / "names.json"
    before = file.stat().st_ino
    told: list[int] = []
    names.mirrors.subscribe(lambda: told.append(1))
    sync(names, MINI, "ada")
    assert (file.stat().st_ino, told) == (before, [])
    sync(names, MINI, "ada", "bob")
    assert file.stat().st_ino != before
    assert told == [1]


def test_of_a_device_only_what_a_claim_could_have_is_believed(tmp_path: Path) -> None:
    """Built-in names, paths and more than there is room for are left out."""
    names = names_at(tmp_path)
    many = [f"n{number:04}" for number in range(MIRRORS_MAX + 5)]
    sync(names, MINI, "owner", "../etc", "postmaster", "a..b", *many)
    assert [each.name for each in names.mirrors.of(MINI)] == many[:MIRRORS_MAX]
    assert json.loads((tmp_path / "names.json").read_text())["mirrors"].keys() == {
        f"{name}@mini" for name in many[:MIRRORS_MAX]
    }


def test_a_name_wanted_twice_or_taken_here_goes_by_its_device(
    registry: Registry, tmp_path: Path
) -> None:
    """And says why; what is free again has its own name again."""
    scene = Scene(registry, tmp_path)
    names = scene.names
    sync(names, MINI, "ada", "bob", "eve")
    assert listings(scene) == {"ada@mini": "ada", "bob@mini": "bob", "eve@mini": "eve"}
    sync(names, LAB, "ada")
    names.claim("bob", None, NOW)
    names.add_alias("eve", parse_address("bob"), NOW)
    assert listings(scene) == {
        "ada@lab": "ada.lab",
        "ada@mini": "ada.mini",
        "bob@mini": "bob.mini",
        "eve@mini": "eve.mini",
    }
    assert notes(scene) == [
        "ada@mini wants ada, too",
        "ada@lab wants ada, too",
        "bob is claimed here",
        "eve is an alias here",
    ]
    assert names.mirrors.leads_to("ada") is None
    assert names.mirrors.leads_to("ada.lab") == "ada@lab"
    sync(names, LAB)
    names.release("bob")
    names.aliases.remove("eve")
    assert listings(scene) == {"ada@mini": "ada", "bob@mini": "bob", "eve@mini": "eve"}


def test_a_session_of_the_name_comes_first(registry: Registry, tmp_path: Path) -> None:
    """While it lives the mirror goes by its device; one without a socket is nobody."""
    scene = Scene(registry, tmp_path)
    sync(scene.names, MINI, "ada")
    pid = registry.session("ada", messagingSocketPath=None)
    scene.look()
    assert listings(scene) == {"ada@mini": "ada"}
    registry.write(pid, name="ada")
    scene.look()
    assert listings(scene) == {"ada@mini": "ada.mini"}
    assert notes(scene) == ["a session here is called ada"]
    registry.path(pid).unlink()
    scene.look()
    assert listings(scene) == {"ada@mini": "ada"}


def test_a_session_that_lives_already_is_seen_by_a_mirror_that_comes(
    registry: Registry, tmp_path: Path
) -> None:
    """The order of the two does not matter."""
    scene = Scene(registry, tmp_path)
    registry.session("ada")
    scene.look()
    sync(scene.names, MINI, "ada")
    assert listings(scene) == {"ada@mini": "ada.mini"}
    sync(scene.names, MINI)
    assert not scene.owners.taken(Name("ada"))


def test_what_makes_no_name_with_its_device_is_not_listed(
    registry: Registry, tmp_path: Path
) -> None:
    """Its full address still leads there."""
    scene = Scene(registry, tmp_path)
    long = "n" * 64
    sync(scene.names, MINI, long)
    assert listings(scene) == {f"{long}@mini": long}
    scene.names.claim(long, None, NOW)
    assert listings(scene) == {f"{long}@mini": None}
    assert notes(scene) == [f"{long} is claimed here; with its device it makes no name"]


def test_a_mirror_takes_the_desk_number_of_its_address_and_gives_it_back(
    tmp_path: Path,
) -> None:
    """Replies to letters from before and after go where they went."""
    names = names_at(tmp_path)
    told: list[int] = []
    names.subscribe_desk(lambda number, _address: told.append(number))
    number = names.desk("ada@mini", NOW)
    sync(names, MINI, "ada", "bob")
    assert told == [number]  # its socket is not touched
    assert names.desk_numbers() == {}
    assert next(each.number for each in names.mirrors.all()) == number
    assert names.desk("ada@mini", NOW) == number
    bob = names.desk("bob@mini", NOW)  # as a sender it must outlive the mirror, too
    sync(names_at(tmp_path), MINI)
    again = names_at(tmp_path)
    assert again.desk_numbers() == {number: "ada@mini", bob: "bob@mini"}
    assert again.mirrors.all() == []


def test_numbers_that_nobody_replies_to_end_with_their_mirrors(tmp_path: Path) -> None:
    """A thousand mirrors that end must not push others from the desk."""
    names = names_at(tmp_path)
    sync(names, MINI, "ada")
    sync(names, MINI)
    assert names.desk_numbers() == {}


def test_a_disk_that_takes_nothing_leaves_mirrors_and_desk_as_they_were(
    tmp_path: Path,
) -> None:
    """Memory and file say the same."""
    disk = FullDisk()
    names = names_at(tmp_path, disk)
    names.desk("ada@mini", NOW)
    disk.full = True
    with pytest.raises(StorageFailed):
        sync(names, MINI, "ada")
    assert names.mirrors.all() == []
    assert len(names.desk_numbers()) == 1
    disk.full = False
    sync(names, MINI, "ada")
    assert len(names.mirrors.all()) == 1


def test_a_withdrawn_device_is_told_once_and_comes_back(tmp_path: Path) -> None:
    """Nothing is written for it."""
    names = names_at(tmp_path)
    sync(names, MINI, "ada")
    told: list[bool] = []
    names.mirrors.subscribe(lambda: told.append(names.mirrors.withdrawn(MINI)))
    for away in (True, True, False, False):
        names.mirrors.withdraw(MINI, away=away)
    assert told == [True, False]
    assert names.mirrors.leads_to("ada") == "ada@mini"

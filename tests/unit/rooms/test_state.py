"""rooms.json: what of it outlives the process, and what becomes of a broken one."""

import errno
import json
import os
from pathlib import Path

import pytest

from homi.address import Name
from homi.claims import State as Claims
from homi.errors import (
    CannotCreate,
    NoSuchName,
    StorageFailed,
    Usage,
    VersionMismatch,
)
from homi.names import Names
from homi.rooms import state
from homi.rooms.state import Rooms, State
from homi.store.disk import RealDisk
from homi.store.state import StateFile

TEAM = Name("team")


class Full(RealDisk):
    """A disk that takes no new file once it is full."""

    full = False

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        if self.full and flags & os.O_CREAT:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().open(path, flags, mode)


def opened(root: Path, disk: RealDisk | None = None) -> tuple[Rooms, Names]:
    """The rooms of a state root as a daemon finds them; disk: the one of rooms.json."""
    names = Names(StateFile(str(root / "names.json"), RealDisk(), Claims))
    file = StateFile(str(root / "rooms.json"), disk or RealDisk(), State)
    return Rooms(file, names), names


def made(root: Path) -> tuple[Rooms, Names]:
    rooms, names = opened(root)
    rooms.open(TEAM, 0, 1.0)
    rooms.join(TEAM, ["ada"], 3, 1.0, notify=False)
    rooms.join(TEAM, ["ci@mini"], 4, 1.0, notify=True)
    return rooms, names


def test_members_are_what_they_were_after_a_restart(tmp_path: Path) -> None:
    """With what each is to get, and how."""
    before, _ = made(tmp_path)
    after, _ = opened(tmp_path)
    assert after.all() == [TEAM]
    assert after.members(TEAM) == before.members(TEAM)
    assert [m.since for m in after.members(TEAM).values()] == [3, 4]
    assert after.members(TEAM)["ci@mini"].notify
    assert (tmp_path / "rooms.json.prev").exists()


def test_an_unreadable_file_is_set_aside_and_the_room_stays_a_room(
    tmp_path: Path,
) -> None:
    """Its claim says that it is one: no session gets its mail, and nobody is told of a
    name that is gone."""
    made(tmp_path)
    (tmp_path / "rooms.json").write_text('{"v":1,"rooms":{"team":{"members":7}}}')
    rooms, names = opened(tmp_path)
    assert [finding.path for finding in rooms.findings] == [
        str(tmp_path / "rooms.json")
    ]
    assert list((tmp_path / "quarantine").iterdir())
    assert rooms.has(TEAM)
    assert rooms.members(TEAM) == {}
    assert names.require("team").ownerless


def test_a_member_that_is_not_under_its_address_makes_the_file_unreadable(
    tmp_path: Path,
) -> None:
    """Of two that stand for one, one would get the other's mail."""
    made(tmp_path)
    file = tmp_path / "rooms.json"
    raw = json.loads(file.read_text())
    raw["rooms"]["team"]["members"]["bob"] = {"address": "ada", "at": "x"}
    file.write_text(json.dumps(raw))
    assert opened(tmp_path)[0].findings


def test_a_later_version_stops_the_start(tmp_path: Path) -> None:
    """It may mean something by what this homi would throw away."""
    made(tmp_path)
    (tmp_path / "rooms.json").write_text('{"v":2,"rooms":{}}')
    with pytest.raises(VersionMismatch):
        opened(tmp_path)


def test_a_room_that_ended_leaves_no_member_to_the_next(tmp_path: Path) -> None:
    """Nor where the process died between its claim and its members."""
    rooms, names = made(tmp_path)
    names.release("team", room=True)  # and no more
    assert rooms.members(TEAM) == {}
    rooms.open(TEAM, 0, 2.0)
    assert rooms.members(TEAM) == {}
    rooms.join(TEAM, ["bob"], 0, 2.0, notify=False)
    rooms.close(TEAM)
    assert not rooms.has(TEAM)
    assert opened(tmp_path)[0].all() == []


def test_a_claimed_name_is_no_room_and_a_room_is_not_claimed_or_released(
    tmp_path: Path,
) -> None:
    """One noun for a name; the control is a name that is neither."""
    rooms, names = made(tmp_path)
    names.claim("bob", None, 1.0)
    for name in ("bob", "team"):
        with pytest.raises(CannotCreate):
            rooms.open(Name(name), 0, 1.0)
    with pytest.raises(CannotCreate):
        names.claim("team", None, 1.0)
    with pytest.raises(CannotCreate):
        names.release("team")
    with pytest.raises(Usage):
        rooms.require("bob")
    with pytest.raises(NoSuchName):
        rooms.require("nobody")
    with pytest.raises(Usage):
        names.choose("team", ["digest=off"], ())
    assert rooms.require("TEAM") == TEAM
    assert len(rooms.members(TEAM)) == 2  # what was refused changed nothing
    rooms.open(Name("other"), 0, 1.0)
    assert rooms.all() == ["other", "team"]


def test_joining_again_changes_how_and_a_room_is_not_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each message is as many copies as there are members."""
    rooms, _ = made(tmp_path)
    assert not rooms.join(TEAM, ["ada"], 9, 1.0, notify=True)
    ada = rooms.members(TEAM)["ada"]
    assert (ada.notify, ada.since, ada.noticed) == (True, 3, 9)
    monkeypatch.setattr(state, "MEMBERS_MAX", 2)
    with pytest.raises(Usage):
        rooms.join(TEAM, ["bob"], 9, 1.0, notify=False)
    rooms.leave(TEAM, ["ada"])
    assert rooms.join(TEAM, ["bob"], 9, 1.0, notify=False)
    with pytest.raises(NoSuchName):
        rooms.leave(TEAM, ["ada"])


def test_of_several_members_all_come_and_go_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one write of the file; the control is as many as there may be."""
    rooms, names = made(tmp_path)
    monkeypatch.setattr(state, "MEMBERS_MAX", 3)
    with pytest.raises(Usage):
        rooms.join(TEAM, ["bob", "cyd"], 9, 1.0, notify=False)
    with pytest.raises(Usage):
        rooms.open(Name("big"), 0, 1.0, ["ada", "bob", "cyd", "eve"])
    with pytest.raises(NoSuchName):
        rooms.leave(TEAM, ["ada", "bob"])
    assert list(opened(tmp_path)[0].members(TEAM)) == ["ada", "ci@mini"]
    assert names.get("big") is None
    assert rooms.open(Name("big"), 0, 1.0, ["ada", "bob", "ada"]) == ["ada", "bob"]
    assert rooms.join(TEAM, ["ada", "bob", "bob"], 9, 1.0, notify=False) == ["bob"]
    assert rooms.leave(TEAM, ["ada", "ada"]) == ["ada"]
    after, _ = opened(tmp_path)
    assert list(after.members(TEAM)) == ["ci@mini", "bob"]
    assert list(after.members(Name("big"))) == ["ada", "bob"]


def test_a_room_whose_end_cannot_be_written_sends_to_nobody(tmp_path: Path) -> None:
    """Its claim is gone; who sends is told, as where it could be written."""
    made(tmp_path)
    disk = Full()
    rooms, _ = opened(tmp_path, disk)
    told: list[Name] = []
    rooms.subscribe(told.append)
    disk.full = True
    with pytest.raises(StorageFailed):
        rooms.close(TEAM)
    assert told == [TEAM]
    assert rooms.members(TEAM) == {}

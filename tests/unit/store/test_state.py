"""Typed state files: durable, whole, and tolerant of other versions' fields."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from homi.errors import StorageFailed, VersionMismatch
from homi.store.disk import RealDisk
from homi.store.state import StateFile, refuse_newer


class Claim(msgspec.Struct, omit_defaults=True):
    number: int
    cwd: str | None = None


class Claims(msgspec.Struct, omit_defaults=True):
    claims: dict[str, Claim] = {}
    instance: str = ""


class FailingDisk(RealDisk):
    """A disk on which one call fails once."""

    def __init__(self, call: str) -> None:
        real = getattr(self, call)

        def fail(*_args: object) -> None:
            setattr(self, call, real)
            raise OSError(5, "Input/output error")

        setattr(self, call, fail)


def state(tmp_path: Path, disk: RealDisk | None = None) -> StateFile[Claims]:
    return StateFile(str(tmp_path / "names.json"), disk or RealDisk(), Claims)


def quarantined(tmp_path: Path) -> list[bytes]:
    folder = tmp_path / "quarantine"
    return [p.read_bytes() for p in folder.iterdir()] if folder.exists() else []


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    """By another process, after a restart."""
    value = Claims(claims={"ada": Claim(number=7, cwd="/home/x")}, instance="i")
    state(tmp_path).save(value)
    assert state(tmp_path).load() == (value, [])
    assert json.loads((tmp_path / "names.json").read_bytes())["v"] == 1


def test_absent_file_is_no_finding(tmp_path: Path) -> None:
    """The first start has none."""
    assert state(tmp_path).load() == (None, [])


def test_previous_version_is_kept(tmp_path: Path) -> None:
    """A person can go back by one step."""
    file = state(tmp_path)
    file.save(Claims(instance="one"))
    first = (tmp_path / "names.json").read_bytes()
    file.save(Claims(instance="two"))
    assert (tmp_path / "names.json.prev").read_bytes() == first


def test_unknown_fields_survive_a_save(tmp_path: Path) -> None:
    """A newer homi's fields are kept by this one, inside objects as well."""
    raw = {
        "v": 1,
        "instance": "i",
        "later": [1, {"x": 2}],
        "claims": {
            "ada": {"number": 7, "front": True},
            "bob": {"number": 8, "front": {"deep": 1}},
        },
    }
    (tmp_path / "names.json").write_text(json.dumps(raw))
    file = state(tmp_path)
    value, _ = file.load()
    assert value is not None
    value.claims["ada"].number = 9
    del value.claims["bob"]
    file.save(value)
    assert json.loads((tmp_path / "names.json").read_bytes()) == {
        "v": 1,
        "instance": "i",
        "later": [1, {"x": 2}],
        "claims": {"ada": {"number": 9, "front": True}},
    }


def test_unknown_version_refuses_and_touches_nothing(tmp_path: Path) -> None:
    """Both versions are named; the file stays as it is."""
    data = b'{"v":2,"claims":{}}'
    (tmp_path / "names.json").write_bytes(data)
    with pytest.raises(VersionMismatch, match="version 2, this homi reads 1"):
        state(tmp_path).load()
    assert (tmp_path / "names.json").read_bytes() == data
    assert quarantined(tmp_path) == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'{"v":1,"cl',
        b"{}",
        b"[]",
        b'{"v":true}',
        b'{"v":1,"claims":7}',
        b"\xff\xfe",
        b"\0" * 40,
        b"[" * 100_000,
    ],
)
def test_unreadable_file_is_set_aside_and_reported(tmp_path: Path, data: bytes) -> None:
    """homi starts without it; no empty state is ever written over it."""
    (tmp_path / "names.json").write_bytes(data)
    (tmp_path / "names.json.prev").write_bytes(b"the version before")
    file = state(tmp_path)
    value, findings = file.load()
    assert value is None
    assert "set aside" in findings[0].text
    file.save(Claims(instance="new"))
    file.save(Claims(instance="newer"))
    assert sorted(quarantined(tmp_path)) == sorted([data, b"the version before"])
    assert state(tmp_path).load()[1] == []


@pytest.mark.parametrize("call", ["open", "pwrite", "sync", "rename", "sync_dir"])
def test_failed_save_is_told_and_the_file_stays_whole(
    tmp_path: Path, call: str
) -> None:
    """74, and whoever reads finds the old value or the new one."""
    state(tmp_path).save(Claims(instance="old"))
    with pytest.raises(StorageFailed, match="Input/output error"):
        state(tmp_path, FailingDisk(call)).save(Claims(instance="new"))
    value, findings = state(tmp_path).load()
    assert value is not None
    assert (value.instance in ("old", "new"), findings) == (True, [])
    state(tmp_path).save(Claims(instance="new"))
    assert state(tmp_path).load()[0] == Claims(instance="new")


def test_short_writes_are_finished(tmp_path: Path) -> None:
    """A write may take one byte at a time without an error."""

    class Slow(RealDisk):
        @staticmethod
        def pwrite(fd: int, data: bytes, offset: int) -> int:
            return os.pwrite(fd, data[:1], offset)

    state(tmp_path, Slow()).save(Claims(instance="whole"))  # type: ignore[arg-type]
    assert state(tmp_path).load()[0] == Claims(instance="whole")


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    """umask 000 opens nothing to others."""
    before = os.umask(0)
    try:
        file = state(tmp_path)
        file.save(Claims(instance="one"))
        file.save(Claims(instance="two"))
        (tmp_path / "names.json").write_bytes(b"?")
        file.load()
    finally:
        os.umask(before)
    modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.rglob("*")}
    assert modes.pop("quarantine") == 0o700
    assert set(modes.values()) == {0o600}


def test_state_behind_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    """Another's file must not become our state."""
    (tmp_path / "else").write_bytes(b'{"v":1}')
    assert StateFile(str(tmp_path / "else"), RealDisk(), Claims).load()[0] is not None
    (tmp_path / "names.json").symlink_to(tmp_path / "else")
    with pytest.raises(StorageFailed):
        state(tmp_path).load()


def test_a_file_taken_away_is_told_and_its_previous_version_kept(
    tmp_path: Path,
) -> None:
    """Two saves of the fresh state would write over the last copy of the old one."""
    file = state(tmp_path)
    file.save(Claims(instance="one"))
    file.save(Claims(instance="two"))
    before = (tmp_path / "names.json.prev").read_bytes()
    (tmp_path / "names.json").unlink()
    fresh = state(tmp_path)
    value, (finding,) = fresh.load()
    assert value is None
    assert "missing" in finding.text
    fresh.save(Claims(instance="three"))
    fresh.save(Claims(instance="four"))
    assert before in quarantined(tmp_path)


def renamed(fields: dict[str, Any]) -> dict[str, Any]:
    """From an invented version 1, where instance was called id."""
    return {**fields, "instance": fields.pop("id", "")}


def third(fields: dict[str, Any]) -> dict[str, Any]:
    """From an invented version 2."""
    return {**fields, "instance": fields["instance"].upper()}


def test_a_file_of_an_earlier_version_is_brought_to_todays_and_kept(
    tmp_path: Path,
) -> None:
    """Step by step; what later versions never heard of stays in it."""
    path = tmp_path / "names.json"
    old = b'{"v":1,"id":"i","more":7}\n'
    path.write_bytes(old)
    for _ in range(2):  # the second time it is today's already
        file = StateFile(str(path), RealDisk(), Claims, [renamed, third])
        assert file.load() == (Claims(instance="I"), [])
    fields = json.loads(path.read_bytes())
    assert (fields["v"], fields["instance"], fields["more"]) == (3, "I", 7)
    assert (tmp_path / "names.json.bak-v1").read_bytes() == old


def test_a_homi_that_cannot_keep_what_a_file_was_leaves_it_as_it_is(
    tmp_path: Path,
) -> None:
    """The earlier homi can still be started."""
    path = tmp_path / "names.json"
    old = b'{"v":1,"id":"i"}\n'
    path.write_bytes(old)
    disk = FailingDisk("rename")
    with pytest.raises(StorageFailed, match="from version 1 to 2"):
        StateFile(str(path), disk, Claims, [renamed]).load()
    assert path.read_bytes() == old
    value, _ = StateFile(str(path), disk, Claims, [renamed]).load()
    assert value == Claims(instance="i")


def test_a_newer_file_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    """What an upgrade must know before the old homi gives way; damage is no reason."""
    (tmp_path / "links.json").write_bytes(b"damaged")
    (tmp_path / "names.json").write_bytes(b'{"v":1}')
    refuse_newer(str(tmp_path), RealDisk())
    (tmp_path / "rooms.json").write_bytes(b'{"v":2}')
    with pytest.raises(
        VersionMismatch, match=r"rooms.json is of version 2, .* reads 1"
    ):
        refuse_newer(str(tmp_path), RealDisk())


def in_the_way(path: Path, kind: str) -> None:
    """Something at path that is no file."""
    if kind == "folder":
        path.mkdir()
        (path / "kept").write_text("x")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path.name)


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_file_is_moved_aside_and_told(tmp_path: Path, kind: str) -> None:
    """With the version before kept; then all is as at a first start."""
    state(tmp_path).save(Claims(instance="i"))
    file = state(tmp_path)
    file.load()
    file.save(Claims(instance="j"))
    for name in ("names.json", ".names.json.tmp"):
        (tmp_path / name).unlink(missing_ok=True)
        in_the_way(tmp_path / name, kind)
    file = state(tmp_path)
    value, found = file.load()
    assert value is None
    assert "moved aside as" in found[0].text
    assert "version before" in found[1].text
    assert b'"i"' in quarantined(tmp_path)[0]
    aside = tmp_path / "names.json.aside"
    assert aside.is_symlink() or not aside.is_file()
    assert kind != "folder" or (aside / "kept").read_text() == "x"
    (tmp_path / "names.json.prev").unlink()
    in_the_way(tmp_path / "names.json.prev", kind)
    file.save(Claims(instance="k"))
    file.save(Claims(instance="l"))
    assert state(tmp_path).load() == (Claims(instance="l"), [])


def test_a_link_to_the_file_itself_is_left_and_refused(tmp_path: Path) -> None:
    """It may lead to another disk: whoever made it knows."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text('{"v":1}')
    (tmp_path / "names.json").symlink_to(elsewhere)
    with pytest.raises(StorageFailed) as caught:
        state(tmp_path).load()
    assert "in its place" in caught.value.hint
    assert (tmp_path / "names.json").is_symlink()

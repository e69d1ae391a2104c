"""links.json: what is kept of other devices, and the ways over them."""

from pathlib import Path

import msgspec
import pytest

from homi.address import Device
from homi.errors import NoSuchDevice, Usage
from homi.links.book import Book, Peering, Peerings
from homi.store.disk import RealDisk
from homi.store.state import StateFile

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
MINI, ATTIC, LOFT = Device("mini"), Device("attic"), Device("loft")


def book(root: Path) -> Book:
    return Book(
        Device("laptop"), StateFile(str(root / "links.json"), RealDisk(), Peerings)
    )


def test_what_was_put_is_there_after_a_restart_and_gone_after_a_drop(
    tmp_path: Path,
) -> None:
    made, told = book(tmp_path), []
    made.subscribe(lambda device, peering: told.append((device, peering)))
    peering = Peering(device=MINI, key=KEY, host="me@mini")
    made.put(peering)
    assert book(tmp_path).get("mini") == peering
    made.drop(MINI)
    assert book(tmp_path).get("mini") is None
    assert told == [(MINI, peering), (MINI, None)]


def test_a_way_over_others_is_followed_and_one_that_ends_nowhere_is_refused(
    tmp_path: Path,
) -> None:
    made = book(tmp_path)
    made.put(Peering(device=MINI, key=KEY, host="mini"))
    made.put(Peering(device=ATTIC, via=MINI))
    made.put(Peering(device=LOFT, via=ATTIC))
    assert [made.route(device) for device in (MINI, ATTIC, LOFT)] == [MINI] * 3
    assert made.route(Device("nobody")) is None
    with pytest.raises(Usage, match="over attic itself"):
        made.put(Peering(device=ATTIC, via=LOFT))
    with pytest.raises(NoSuchDevice):
        made.put(Peering(device=Device("shed"), via=Device("nobody")))
    made.drop(MINI)
    assert made.route(LOFT) is None


@pytest.mark.parametrize(
    "bad",
    [
        Peering(device=Device("laptop"), key=KEY),
        Peering(device=MINI, key="ssh-rsa AAAA"),
        Peering(device=MINI, key=KEY, host="-oProxyCommand=evil"),
        Peering(device=MINI, key=KEY, host="a b"),
        Peering(device=MINI, key=KEY, host="a\nb"),
        Peering(device=MINI, host="mini"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(
    tmp_path: Path, bad: Peering
) -> None:
    made = book(tmp_path)
    with pytest.raises(Usage):
        made.put(bad)
    assert not (tmp_path / "links.json").exists()
    made.put(Peering(device=MINI, key=KEY, host="me@mini.example"))


@pytest.mark.parametrize("text", ["", "{", '{"v":1,"devices":{"mini":{"device":"x"}}}'])
def test_an_unreadable_file_is_set_aside_and_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "links.json").write_text(text)
    made = book(tmp_path)
    assert made.all() == []
    assert len(made.findings) == 1
    assert list((tmp_path / "quarantine").iterdir())


def test_a_device_that_is_not_linked_is_told_with_those_that_are(
    tmp_path: Path,
) -> None:
    made = book(tmp_path)
    made.put(Peering(device=MINI, key=KEY))
    with pytest.raises(NoSuchDevice) as error:
        made.need("minj")
    assert "mini" in error.value.hint
    assert made.need("MINI").device == "mini"


def test_without_a_daemon_the_file_is_read_and_left_alone(tmp_path: Path) -> None:
    assert Book.read(tmp_path) == []
    book(tmp_path).put(Peering(device=MINI, key=KEY))
    assert [one.device for one in Book.read(tmp_path)] == ["mini"]
    (tmp_path / "links.json").write_text("{")
    assert Book.read(tmp_path) == []
    assert (tmp_path / "links.json").read_text() == "{"


def test_fields_of_a_later_version_are_kept(tmp_path: Path) -> None:
    made = book(tmp_path)
    made.put(Peering(device=MINI, key=KEY))
    raw = msgspec.json.decode((tmp_path / "links.json").read_bytes())
    raw["devices"]["mini"]["colour"] = "red"
    (tmp_path / "links.json").write_bytes(msgspec.json.encode(raw))
    made = book(tmp_path)
    made.put(Peering(device=MINI, key=KEY, host="mini"))
    raw = msgspec.json.decode((tmp_path / "links.json").read_bytes())
    assert raw["devices"]["mini"]["colour"] == "red"

"""The ring's bytes: what counts, what is dead, what is reported."""

from pathlib import Path

import pytest

from homi.errors import VersionMismatch
from homi.store.disk import RealDisk
from homi.store.ring import PAGE, Redo, Ring, crc32, frame, pack_crc, resize
from tests.unit.store.commit_kit import MIB, FaultyDisk

NAME = b"mail/ada/inbox.jsonl"


def opened(root: Path, size: int = MIB, disk: RealDisk | None = None) -> Ring:
    """The ring of root; when it is new, with a first generation."""
    return Ring(disk or RealDisk(), str(root / "ring"), size)


def fresh(root: Path, size: int = MIB) -> Ring:
    """A ring that is open for records."""
    ring = opened(root, size)
    ring.renew()
    ring.renewed()
    return ring


def put(ring: Ring, *lines: bytes, first: int = 1) -> None:
    """One batch of these lines, synced."""
    generation = ring.generations[ring.half]
    parts = [
        frame(NAME, seq, line, generation) for seq, line in enumerate(lines, first)
    ]
    ring.write(parts, sum(map(len, parts)))
    ring.sync()


def found(ring: Ring) -> list[bytes]:
    """The lines that count."""
    return [record.line for record in ring.scan().records]


def damage(root: Path, offset: int, data: bytes) -> None:
    """Write over the file, as a bad disk does."""
    with (root / "ring").open("r+b") as file:
        file.seek(offset)
        file.write(data)


def test_synced_batches_come_back_in_order(tmp_path: Path) -> None:
    """A start has to find every record that was promised."""
    ring = fresh(tmp_path)
    put(ring, b"one\n", b"two\n")
    put(ring, b"x" * 9000 + b"\n", first=3)
    again = opened(tmp_path)
    assert found(again) == [b"one\n", b"two\n", b"x" * 9000 + b"\n"]
    assert again.scan().records[0] == Redo(NAME.decode(), 1, b"one\n", 1)


def test_batch_starts_on_a_page_of_its_own(tmp_path: Path) -> None:
    """A torn write of a later batch must not reach what was synced."""
    ring = fresh(tmp_path)
    put(ring, b"one\n")
    first = (tmp_path / "ring").read_bytes()[PAGE : 2 * PAGE]
    put(ring, b"two\n", first=2)
    assert (tmp_path / "ring").read_bytes()[PAGE : 2 * PAGE] == first
    assert ring.ends[0] == 3 * PAGE


def test_records_of_an_emptied_half_are_dead(tmp_path: Path) -> None:
    """What a checkpoint has synced must not be redone over later changes."""
    ring = fresh(tmp_path)
    put(ring, b"old\n")
    assert found(opened(tmp_path)) == [b"old\n"]
    ring.swap()
    put(ring, b"new\n", first=2)
    ring.put_header(0, 3)
    ring.sync_header()
    assert found(opened(tmp_path)) == [b"new\n"]


def test_damaged_record_is_reported_and_the_next_page_still_counts(
    tmp_path: Path,
) -> None:
    """One bad page costs its own records only."""
    ring = fresh(tmp_path)
    put(ring, b"one\n")
    put(ring, b"two\n", first=2)
    damage(tmp_path, PAGE + 40, b"!")
    scan = opened(tmp_path).scan()
    assert [r.line for r in scan.records] == [b"two\n"]
    assert [f.offset for f in scan.findings] == [PAGE]


def test_text_inside_a_damaged_record_is_never_a_record(tmp_path: Path) -> None:
    """A sender must not be able to write records: JSON text cannot hold the magic."""
    ring = fresh(tmp_path)
    forged = frame(NAME, 9, b"forged\n", 1)
    text = forged.decode("utf-8", "replace").encode()
    put(ring, b"x" * (PAGE - 54) + text * 3 + b"\n")
    damage(tmp_path, PAGE + 60, b"!")
    assert found(opened(tmp_path)) == []
    damage(tmp_path, 2 * PAGE, forged)  # the control: at a page start it would count
    assert found(opened(tmp_path)) == [b"forged\n"]


def test_damaged_header_kills_its_half_and_generations_go_on_above(
    tmp_path: Path,
) -> None:
    """A torn header means its half was being emptied; the other half is untouched."""
    ring = fresh(tmp_path)
    put(ring, b"dead\n")
    ring.swap()
    put(ring, b"alive\n", first=2)
    damage(tmp_path, 10, b"\xee\xee")
    again = opened(tmp_path)
    scan = again.scan()
    assert [r.line for r in scan.records] == [b"alive\n"]
    assert [f.offset for f in scan.findings] == [0]
    again.renew(scan.top)
    assert min(again.generations) > scan.top == 2


def test_stale_generation_counts_for_the_top_even_without_a_header(
    tmp_path: Path,
) -> None:
    """A reused generation would bring dead records back to life."""
    ring = fresh(tmp_path)
    ring.put_header(0, 41)
    put(ring, b"stale\n")
    damage(tmp_path, 0, bytes(PAGE))
    assert opened(tmp_path).scan().top == 41


def test_standing_stops_at_the_last_synced_batch(tmp_path: Path) -> None:
    """The records of a refused batch must not be redone: their ids are forgotten."""
    ring = fresh(tmp_path)
    put(ring, b"one\n")
    refused = frame(NAME, 2, b"refused\n", ring.generations[0])
    ring.write([refused], len(refused))
    assert [r.line for r in ring.standing()] == [b"one\n"]
    ring.sync()
    assert [r.line for r in ring.standing()] == [b"one\n", b"refused\n"]


def test_new_ring_is_whole_or_absent(tmp_path: Path) -> None:
    """A crash while it is made must not leave a short ring behind."""
    disk = FaultyDisk()
    disk.fail("write", "ring.new", after=0)
    with pytest.raises(OSError, match="Input/output"):
        opened(tmp_path, 2 * MIB, disk)
    assert not (tmp_path / "ring").exists()
    assert opened(tmp_path, 2 * MIB).size == 2 * MIB
    assert (tmp_path / "ring").stat().st_mode & 0o777 == 0o600


def test_other_size_is_taken_when_the_ring_is_empty(tmp_path: Path) -> None:
    """The setting is honoured at a start, generations going on."""
    ring = fresh(tmp_path)
    before = max(ring.generations)
    bigger = resize(ring, RealDisk(), str(tmp_path / "ring"), 2 * MIB)
    assert bigger.size == (tmp_path / "ring").stat().st_size == 2 * MIB
    assert min(bigger.generations) > before
    assert resize(bigger, RealDisk(), str(tmp_path / "ring"), 2 * MIB) is bigger


def test_size_of_a_ring_with_records_is_its_own(tmp_path: Path) -> None:
    """The second half must be found where it was written, whatever the setting."""
    ring = fresh(tmp_path, 2 * MIB)
    ring.swap()
    put(ring, b"second half\n")
    assert found(opened(tmp_path, MIB)) == [b"second half\n"]


def test_ring_of_another_version_is_refused_with_both(tmp_path: Path) -> None:
    """A later homi's records must not be taken for damage."""
    fresh(tmp_path).close()
    head = bytearray((tmp_path / "ring").read_bytes()[:28])
    head[8:12] = (7).to_bytes(4, "little")
    damage(tmp_path, 0, bytes(head) + pack_crc(crc32(bytes(head))))
    with pytest.raises(VersionMismatch, match=r"version 7.*knows 1"):
        opened(tmp_path)

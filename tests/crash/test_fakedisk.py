"""The fake disk is as unkind as it says, and no unkinder."""

import os
import random

import pytest

from tests.crash.fakedisk import JOURNAL_PAGE, Death, FakeDisk, Faults, Platter

OLD = b"o" * JOURNAL_PAGE
NEW = b"n" * JOURNAL_PAGE
ROUNDS = 60  # cuts tried: each outcome of a coin shows among them
FLAGS = os.O_RDWR | os.O_CREAT


class Broken(Faults):
    """The first sync fails."""

    def __init__(self) -> None:
        self.left = 1

    def fails(self, call: str, path: str) -> bool:
        self.left -= call == "sync"
        return call == "sync" and self.left == 0


def disk(platter: Platter, seed: int, faults: Faults | None = None) -> FakeDisk:
    return FakeDisk(platter, faults or Faults(), random.Random(seed))


def test_synced_bytes_under_a_synced_name_stay() -> None:
    """Whatever else is lost."""
    for seed in range(ROUNDS):
        platter = Platter("/h")
        one = disk(platter, seed)
        fd = one.open("/h/f", FLAGS)
        one.pwrite(fd, OLD, 0)
        one.sync(fd)
        one.sync_dir("/h")
        platter.cut(random.Random(seed))
        assert bytes(platter.names["/h/f"].mem) == OLD  # type: ignore[union-attr]


def test_unsynced_pages_are_old_new_or_in_between_each_alone() -> None:
    """A write over two pages may reach one of them."""
    seen = set()
    for seed in range(ROUNDS):
        platter = Platter("/h")
        one = disk(platter, seed)
        fd = one.open("/h/f", FLAGS)
        one.pwrite(fd, OLD + OLD, 0)
        one.sync(fd)
        one.sync_dir("/h")
        one.pwrite(fd, b"m" * len(OLD), 0)
        one.pwrite(fd, NEW + NEW, 0)
        platter.cut(random.Random(seed))
        data = bytes(platter.names["/h/f"].mem)  # type: ignore[union-attr]
        seen.add((data[:1], data[JOURNAL_PAGE : JOURNAL_PAGE + 1]))
    assert seen == {(a, b) for a in (b"o", b"m", b"n") for b in (b"o", b"n")}


def test_a_page_never_synced_may_be_nuls() -> None:
    """The size came through and the bytes did not."""
    seen = set()
    for seed in range(ROUNDS):
        platter = Platter("/h")
        one = disk(platter, seed)
        fd = one.open("/h/f", FLAGS)
        one.sync_dir("/h")
        one.pwrite(fd, NEW, 0)
        platter.cut(random.Random(seed))
        seen.add(bytes(platter.names["/h/f"].mem))  # type: ignore[union-attr]
    assert seen == {b"", bytes(JOURNAL_PAGE), NEW}


def test_unsynced_names_survive_or_not_each_alone() -> None:
    """A folder that is lost takes its files with it."""
    seen = set()
    for seed in range(ROUNDS):
        platter = Platter("/h")
        one = disk(platter, seed)
        one.mkdir("/h/d")
        one.open("/h/d/f", FLAGS)
        one.open("/h/a", FLAGS)
        one.sync_dir("/h")
        one.rename("/h/a", "/h/b")
        platter.cut(random.Random(seed))
        seen.add(frozenset(platter.names))
    base = {"/h", "/h/d"}
    assert seen == {
        frozenset(base | files | {name})
        for files in (set(), {"/h/d/f"})
        for name in ("/h/a", "/h/b")
    }


def test_failed_sync_is_forgotten() -> None:
    """The second one succeeds and proves nothing; only writing again helps."""
    lost = kept = 0
    for seed in range(ROUNDS):
        for again in (False, True):
            platter = Platter("/h")
            one = disk(platter, seed, Broken())
            fd = one.open("/h/f", FLAGS)
            one.sync_dir("/h")
            one.pwrite(fd, NEW, 0)
            with pytest.raises(OSError, match="Input/output"):
                one.sync(fd)
            if again:
                one.pwrite(fd, NEW, 0)
            one.sync(fd)
            platter.cut(random.Random(seed))
            same = bytes(platter.names["/h/f"].mem) == NEW  # type: ignore[union-attr]
            assert same or not again
            lost += not same
            kept += same and not again
    assert lost > 0
    assert kept > 0


def test_process_death_keeps_the_cache() -> None:
    """Only the power takes what was not synced."""
    platter = Platter("/h")
    one = disk(platter, 1)
    fd = one.open("/h/f", FLAGS)
    one.pwrite(fd, NEW, 0)
    one.dead = True
    with pytest.raises(Death):
        one.pwrite(fd, OLD, 0)
    other = disk(platter, 1)
    assert other.pread(other.open("/h/f", os.O_RDONLY), 999, 0) == NEW

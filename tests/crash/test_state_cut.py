"""A state file that was saved is there after any death or power cut, whole."""

import random

import msgspec

from homi.errors import StorageFailed
from homi.store.state import StateFile
from tests.crash.fakedisk import Death, FakeDisk, Faults, Platter

HISTORIES = 400
PATH = "/h/names.json"


class Value(msgspec.Struct):
    """What is saved: a number and enough text to lie over many pages."""

    number: int = 0
    text: str = ""


class Unkind(Faults):
    """Dies after some calls; some syncs fail; writes are short."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.fuse = 0
        self.may_fail = False

    def step(self, call: str, path: str) -> None:
        self.fuse -= 1
        if self.fuse == 0:
            raise Death

    def fails(self, call: str, path: str) -> bool:
        return self.may_fail and self.rng.random() < 0.1

    def taken(self, n: int) -> tuple[int, bool]:
        return self.rng.randrange(1, n + 1), False


def live(disk: FakeDisk, faults: Unkind, possible: set[int], saves: int) -> int:
    """One process: load, save some; the value it knows to be saved."""
    state = StateFile(PATH, disk, Value)
    value, findings = state.load()
    assert findings == []
    number = value.number if value is not None else 0
    assert number in possible, f"{number} is none of {possible}"
    assert value is None or value.text == "x" * (number * 37 % 500)
    for _ in range(saves):
        # From here until save() returns either is right.
        possible.clear()
        possible.update((number, number + 1))
        try:
            state.save(Value(number + 1, "x" * ((number + 1) * 37 % 500)))
        except StorageFailed:
            return number
        number += 1
        possible.clear()
        possible.add(number)
    return number


def test_saved_state_survives_random_histories() -> None:
    """Old or new in the middle of a save, new after it; never damaged or gone."""
    deaths = cuts = failures = 0
    for seed in range(HISTORIES):
        rng = random.Random(seed)
        platter, faults = Platter("/h"), Unkind(rng)
        possible = {0}
        for _ in range(6):
            disk = FakeDisk(platter, faults, rng)
            faults.fuse = rng.randrange(1, 60)
            faults.may_fail = rng.random() < 0.3
            try:
                live(disk, faults, possible, 3)
            except StorageFailed:
                failures += 1  # this start failed; the next may come through
            except Death:
                deaths += 1
            failures += len(possible) > 1
            if rng.random() < 0.5:
                cuts += 1
                platter.cut(rng)
        faults.fuse, faults.may_fail = 0, False
        live(FakeDisk(platter, faults, rng), faults, possible, 1)
    assert deaths > HISTORIES
    assert cuts > HISTORIES
    assert failures > HISTORIES


def test_state_saved_in_place_would_be_lost() -> None:
    """The positive control: without temporary name and sync the test fails."""
    broken = 0
    for seed in range(40):
        rng = random.Random(seed)
        platter = Platter("/h")
        disk = FakeDisk(platter, Faults(), rng)
        state = StateFile(PATH, disk, Value)
        state.save(Value(1, "x" * 37))
        fd = disk.open(PATH, 2)
        disk.pwrite(fd, msgspec.json.encode({"v": 1, "number": 2, "text": "y" * 99}), 0)
        platter.cut(rng)
        value, findings = StateFile(
            PATH, FakeDisk(platter, Faults(), rng), Value
        ).load()
        broken += bool(findings) or value not in (Value(1, "x" * 37),)
    assert broken > 0

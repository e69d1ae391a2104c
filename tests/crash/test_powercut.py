"""Nothing acknowledged is lost, doubled or damaged, whatever befalls the disk.

300 random histories; with -m soak HOMI_SOAK_HISTORIES of them (10,000).
HOMI_POWERCUT_SEED repeats what a failure names.
"""

import os
from collections import Counter

import pytest

from tests.crash.powercut import history

HISTORIES = 300
SOAK = int(os.environ.get("HOMI_SOAK_HISTORIES", "10000"))


def first_seed() -> int:
    """A new one each time, unless a person asks for one."""
    chosen = os.environ.get("HOMI_POWERCUT_SEED")
    return int(chosen) if chosen else int.from_bytes(os.urandom(4), "big")


def survive(histories: int) -> Counter[str]:
    """Run so many; fail with the whole story of the first that breaks a promise."""
    first = first_seed()
    print(f"{histories} histories from HOMI_POWERCUT_SEED={first}")
    met: Counter[str] = Counter()
    for seed in range(first, first + histories):
        broken, world = history(seed)
        met.update(world.met)
        if broken is not None:
            story = "\n".join(history(seed, trace=True)[1].log)
            pytest.fail(f"HOMI_POWERCUT_SEED={seed}: {broken}\n{story}")
    return met


def test_acknowledged_mail_survives_random_histories() -> None:
    """Deaths, power cuts, failed syncs, full rings, interrupted starts."""
    met = survive(HISTORIES)
    # Without these the histories would prove nothing.
    for what in (
        "power cut",
        "death",
        "death in a start",
        "start failed",
        "failed sync",
        "failed sync_dir",
        "reopen",
        "cut",
        "full ring",
        "checkpoint",
        "death in a checkpoint",
        "at rest",
    ):
        assert met[what] > 0, f"no history met: {what}"


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_acknowledged_mail_survives_many_random_histories() -> None:
    """The same, long enough for what is rare."""
    survive(SOAK)


def test_a_seed_decides_everything() -> None:
    """A failure that cannot be repeated cannot be mended."""
    for seed in range(5):
        assert history(seed, trace=True)[1].log == history(seed, trace=True)[1].log

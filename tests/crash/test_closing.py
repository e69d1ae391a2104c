"""A segment is closed whole or not at all, wherever the power goes."""

import contextlib
import random

import pytest

from homi.address import Name
from homi.envelope import Rung
from homi.store.base import Kept
from homi.store.batch import Batch
from homi.store.disk import Disk
from homi.store.quarantine import Quarantine
from homi.store.rotation import close_segment
from homi.store.start import Started, start
from tests.crash.fakedisk import Death, FakeDisk, Faults, Platter
from tests.unit.store.commit_kit import entry, mail

ROOT = "/h"
SIZE = 6 * 4096
FOLDER = f"{ROOT}/mail/ada"


class Fuse(Faults):
    """Death at the nth disk call; 0: never."""

    def __init__(self) -> None:
        self.left = 0

    def step(self, call: str, path: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise Death


def begin(platter: Platter, faults: Faults, rng: random.Random) -> Started:
    """A start over the platter."""
    disk = FakeDisk(platter, faults, rng)
    return start(disk, ROOT, SIZE, Quarantine(ROOT, disk).keep, lambda: 0.0)


def rest(started: Started) -> None:
    """A whole checkpoint."""
    committer = started.committer
    committer.checkpoint.wanted = True
    half = committer.between()
    assert half is not None
    committer.checkpoint.sync_dirty(half)
    committer.between()
    assert committer.checkpoint.at_rest


def names(disk: Disk) -> set[str]:
    """The journals of the mailbox, where they are."""
    found = {name for name in disk.listdir(FOLDER) if name.endswith("jsonl")}
    if disk.exists(f"{FOLDER}/archive"):
        found |= set(disk.listdir(f"{FOLDER}/archive"))
    return found


def attempt(fuse: int, seed: int, *, power: bool) -> set[str]:
    """Close a segment, die at that disk call, start again; what stands then."""
    rng, faults = random.Random(seed), Fuse()
    platter = Platter(ROOT)
    started = begin(platter, faults, rng)
    mails = [mail(text="x" * 20) for _ in range(3)]
    started.committer.commit(Batch(mails, [], []))
    ends = [entry(seq, Rung.DROPPED) for seq in (1, 2, 3)]
    started.committer.commit(Batch([], ends, []))
    rest(started)
    faults.left = fuse
    place = started.committer.place("ada")
    with contextlib.suppress(Death):
        close_segment(started.committer.journals, place)
    faults.left = 0
    if power:
        platter.cut(rng)
    again = begin(platter, faults, rng)
    assert again.findings == []
    assert again.mailboxes[Name("ada")].pending == {}
    repeats = [mail(text="x" * 20, message=one.id) for one in mails]
    fresh = mail(text="y")
    batch = Batch([*repeats, fresh], [], [])
    again.committer.commit(batch)
    assert [one.kept for one in batch.mails] == [Kept.KNOWN] * 3 + [Kept.STORED]
    assert fresh.seq == 4
    decided = entry(4, Rung.DROPPED)
    again.committer.commit(Batch([], [decided], []))
    assert decided.line.n == 4
    return names(again.committer.journals.disk)


OPEN = {"inbox.jsonl", "ledger.jsonl"}
CLOSED = {f"{kind}.0000000000000003.jsonl" for kind in ("inbox", "ledger")}


@pytest.mark.parametrize("power", [False, True], ids=["killed", "power cut"])
def test_death_at_any_call_leaves_one_of_two_states(power: bool) -> None:
    """Nothing is lost, nothing comes twice, sequences go on."""
    seen = [
        frozenset(attempt(fuse, seed, power=power))
        for fuse in range(1, 30)
        for seed in range(3 if power else 1)
    ]
    assert set(seen) == {frozenset(OPEN), frozenset(OPEN | CLOSED)}


def test_a_rename_that_fails_halfway_stops_the_mailbox_until_a_start() -> None:
    """It takes nothing in between two files, and the start makes it whole."""
    rng, platter = random.Random(1), Platter(ROOT)
    started = begin(platter, Faults(), rng)
    started.committer.commit(Batch([mail()], [], []))
    started.committer.commit(Batch([], [entry(1, Rung.DROPPED)], []))
    rest(started)
    journals = started.committer.journals
    renamed = journals.disk.rename

    def rename(a: str, b: str) -> None:
        if a.endswith("ledger.jsonl"):
            raise OSError(5, "Input/output error", a)
        renamed(a, b)

    journals.disk.rename = rename  # type: ignore[method-assign]
    place = started.committer.place("ada")
    with pytest.raises(OSError, match="Input/output"):
        close_segment(journals, place)
    journals.disk.rename = renamed  # type: ignore[method-assign]
    refused = mail()
    started.committer.commit(Batch([refused], [], []))
    assert refused.kept is Kept.FAILED
    again = begin(platter, Faults(), rng)
    later = mail()
    again.committer.commit(Batch([later], [], []))
    assert (later.kept, later.seq) == (Kept.STORED, 2)

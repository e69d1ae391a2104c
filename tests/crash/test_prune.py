"""Old segments are removed inbox first, wherever the power goes: nothing comes back."""

import contextlib
import random

import pytest

from homi.address import Name
from homi.envelope import Rung
from homi.store.base import Kept
from homi.store.batch import Batch
from homi.store.prune import Work
from homi.store.rotation import close_segment
from tests.crash.fakedisk import Faults, Platter
from tests.crash.test_closing import ROOT, Death, Fuse, begin, names, rest
from tests.unit.store.commit_kit import entry, mail

LATER = "2099-01-01T00:00:00.000Z"
OPEN = {"inbox.jsonl", "ledger.jsonl"}


def files(*numbers: int) -> set[str]:
    """The closed journals with these last seqs."""
    return {f"{k}.{n:016}.jsonl" for n in numbers for k in ("inbox", "ledger")}


def attempt(fuse: int, seed: int, *, power: bool) -> set[str]:
    """Prune one of two segments, die at that disk call, start again; what stands."""
    rng, faults = random.Random(seed), Fuse()
    platter = Platter(ROOT)
    started = begin(platter, faults, rng)
    mails = []
    for seq in (1, 2):
        mails.append(mail(text="x" * 20))
        started.committer.commit(Batch([mails[-1]], [], []))
        started.committer.commit(Batch([], [entry(seq, Rung.DROPPED)], []))
        rest(started)
        close_segment(started.committer.journals, started.committer.place("ada"))
    faults.left = fuse
    disk = started.committer.journals.disk
    with contextlib.suppress(Death):
        Work(disk, ROOT).run([Name("ada")], LATER)
    faults.left = 0
    if power:
        platter.cut(rng)
    again = begin(platter, Faults(), rng)
    assert again.findings == []
    assert again.mailboxes[Name("ada")].pending == {}
    stood = names(again.committer.journals.disk) - OPEN
    repeat, fresh = mail(text="x" * 20, message=mails[1].id), mail(text="y")
    again.committer.commit(Batch([repeat, fresh], [], []))
    assert (repeat.kept, fresh.kept, fresh.seq) == (Kept.KNOWN, Kept.STORED, 3)
    decided = entry(3, Rung.DROPPED)
    again.committer.commit(Batch([], [decided], []))
    assert decided.line.n == 3
    return stood


@pytest.mark.parametrize("power", [False, True], ids=["killed", "power cut"])
def test_death_at_any_call_leaves_all_or_a_ledger_or_nothing(power: bool) -> None:
    """Never an inbox whose ledger is gone: its mail would look pending."""
    seen = {
        frozenset(attempt(fuse, seed, power=power))
        for fuse in range(1, 30)
        for seed in range(3 if power else 1)
    }
    half = files(1, 2) - {f"inbox.{1:016}.jsonl"}
    assert seen == {frozenset(files(1, 2)), frozenset(half), frozenset(files(2))}

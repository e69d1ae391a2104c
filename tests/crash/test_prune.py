"""Old segments are removed inbox first, wherever the power goes: nothing comes back."""

import contextlib
import random

import pytest

from homi.address import Name
from homi.envelope import Rung
from homi.store.base import Kept
from homi.store.batch import Batch
from homi.store.disk import Disk
from homi.store.lines import chunks, split
from homi.store.prune import Work, plan
from homi.store.rotation import close_segment
from tests.crash.fakedisk import Faults, Platter
from tests.crash.test_closing import FOLDER, ROOT, Death, Fuse, begin, names, rest
from tests.unit.store.commit_kit import entry, mail

LATER = "2099-01-01T00:00:00.000Z"
OPEN = {"inbox.jsonl", "ledger.jsonl"}


def files(*numbers: int) -> set[str]:
    """The closed journals with these last seqs."""
    return {f"{k}.{n:016}.jsonl" for n in numbers for k in ("inbox", "ledger")}


def attempt(fuse: int, seed: int, *, power: bool) -> frozenset[tuple[str, int]]:
    """Prune two segments, die at that disk call, start again; what stands, and how
    many lines of it."""
    rng, faults = random.Random(seed), Fuse()
    platter = Platter(ROOT)
    started = begin(platter, faults, rng)
    mails = []
    for seq in (1, 2):
        mails.append(mail(text="x" * 20))
        started.committer.commit(Batch([mails[-1]], [], []))
        offered, dropped = entry(seq), entry(seq, Rung.DROPPED)
        started.committer.commit(Batch([], [dropped], [offered]))
        rest(started)
        close_segment(started.committer.journals, started.committer.place("ada"))
    faults.left = fuse
    disk = started.committer.journals.disk
    with contextlib.suppress(Death):
        Work(disk, ROOT).run(plan(disk, ROOT, [Name("ada")], LATER))
    faults.left = 0
    if power:
        platter.cut(rng)
    again = begin(platter, Faults(), rng)
    assert again.findings == []
    assert again.mailboxes[Name("ada")].pending == {}
    stood = names(again.committer.journals.disk) - OPEN
    stood = {name for name in stood if not name.startswith(".")}
    disk = again.committer.journals.disk
    lines = {name: count(disk, name) for name in stood}
    repeat, fresh = mail(text="x" * 20, message=mails[1].id), mail(text="y")
    again.committer.commit(Batch([repeat, fresh], [], []))
    there = lines[f"inbox.{2:016}.jsonl"] > 0
    assert (repeat.kept, fresh.kept) == (
        Kept.KNOWN if there else Kept.STORED,
        Kept.STORED,
    )
    assert fresh.seq == (3 if there else 4)
    decided = entry(fresh.seq, Rung.DROPPED)
    again.committer.commit(Batch([], [decided], []))
    assert decided.line.n == 5
    return frozenset(lines.items())


def count(disk: Disk, name: str) -> int:
    """The lines of a closed journal."""
    return len(list(split(chunks(f"{FOLDER}/archive/{name}", disk))))


@pytest.mark.parametrize("power", [False, True], ids=["killed", "power cut"])
def test_death_at_any_call_leaves_all_or_a_ledger_or_nothing(power: bool) -> None:
    """Never an inbox whose ledger is gone: its mail would look pending."""
    seen = {
        attempt(fuse, seed, power=power)
        for fuse in range(1, 80)
        for seed in range(3 if power else 1)
    }
    both = dict.fromkeys(files(1), 0) | dict.fromkeys(files(2), 0)
    for name in both:
        both[name] = 1 if name.startswith("inbox") else 2
    half = {name: n for name, n in both.items() if name != f"inbox.{1:016}.jsonl"}
    first = {name: n for name, n in both.items() if name in files(2)}
    inbox, ledger = (f"{kind}.{2:016}.jsonl" for kind in ("inbox", "ledger"))
    emptied = first | {inbox: 0}
    stages = [both, half, first, emptied, emptied | {ledger: 1}]
    assert seen == {frozenset(stage.items()) for stage in stages}

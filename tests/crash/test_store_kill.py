"""kill -9 at every durable step of the store, and at random: nothing lost."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from homi.address import Name
from homi.envelope import Envelope, LedgerLine, Rung, decode_msg
from homi.store.disk import RealDisk
from homi.store.fault import CHECKPOINT, COMMIT, RECOVERY, VARIABLE
from homi.store.places import inbox_of, ledger_of
from homi.store.quarantine import Quarantine
from homi.store.reading import iter_inbox, iter_ledger
from homi.store.start import start
from tests.unit.store.commit_kit import MIB, Core, mail

REPOSITORY = Path(__file__).parents[2]
CHILD = Path(__file__).with_name("store_child.py")
BOUND = 120  # s for a child to reach its fault


class Told(NamedTuple):
    """What a child said before it died: (place, id) each."""

    tried: set[tuple[str, str]]
    promised: set[tuple[str, str]]
    dropped: set[tuple[str, str]]


def child(root: Path, pad: int, fault: str = "") -> subprocess.Popen[bytes]:
    """Start a child over root."""
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    environment.pop(VARIABLE, None)
    if fault:
        environment[VARIABLE] = fault
    return subprocess.Popen(
        [sys.executable, str(CHILD), str(root), str(pad)],
        stdout=subprocess.PIPE,
        env=environment,
    )


def told(output: bytes) -> Told:
    """The child's lines."""
    words: dict[str, set[tuple[str, str]]] = {
        "try": set(),
        "ok": set(),
        "dropped": set(),
    }
    for line in output.decode().splitlines():
        word, place, message = line.split(" ")
        words.setdefault(word, set()).add((place, message))
    return Told(words["try"], words["ok"], words["dropped"])


def killed_at(root: Path, fault: str, pad: int = 300) -> Told:
    """Let a child run into its fault; it must have died of it."""
    process = child(root, pad, fault)
    try:
        output, _ = process.communicate(timeout=BOUND)
    finally:
        process.kill()
    assert process.returncode == -9
    return told(output)


def killed_after(root: Path, lines: int, pad: int = 300) -> Told:
    """Kill a child once it has said so many lines."""
    process = child(root, pad)
    assert process.stdout is not None
    output = b"".join(process.stdout.readline() for _ in range(lines))
    process.kill()
    # Not communicate(): it would pass over what readline() has read ahead.
    output += process.stdout.read()
    process.stdout.close()
    assert process.wait(BOUND) == -9
    return told(output)


def torn(root: Path) -> Told:
    """A life that ended with four promises and the last line torn."""
    core = Core(root)
    mails = [mail() for _ in range(4)]
    core.commit(*mails)
    core.close()
    inbox = root / "mail/ada/inbox.jsonl"
    inbox.write_bytes(inbox.read_bytes()[:-20])
    promised = {("ada", str(one.id)) for one in mails}
    return Told(promised, promised, set())


def check(root: Path, lives: list[Told]) -> None:
    """Start once more: all that was promised is there, once, in order."""
    disk = RealDisk()
    started = start(disk, str(root), MIB, Quarantine(str(root), disk).keep, lambda: 0.0)
    started.committer.close()
    tried = set().union(*(life.tried for life in lives))
    promised = set().union(*(life.promised for life in lives))
    dropped = set().union(*(life.dropped for life in lives))
    found: Counter[tuple[str, str]] = Counter()
    for place in ("ada", "bob", "@mini"):
        inbox, ledger = inbox_of(Name(place)), ledger_of(Name(place))
        order: dict[str, list[str]] = {}
        sequences = []
        for _, envelope in iter_inbox(root / inbox):
            if isinstance(envelope, Envelope):
                msg = decode_msg(envelope.msg)
                found[place, msg.id] += 1
                sequences.append(envelope.seq)
                order.setdefault(msg.from_, []).append(msg.text.partition(" ")[0])
        assert sequences == sorted(set(sequences))
        if len(lives) == 1:
            for lane in order.values():
                numbers = [int(text.partition("/")[2]) for text in lane]
                assert numbers == sorted(numbers)
        entries = [x for _, x in iter_ledger(root / ledger)]
        lines = [x for x in entries if isinstance(x, LedgerLine)]
        assert [x.n for x in lines] == sorted({x.n for x in lines})
        decided = {(place, x.id) for x in lines if x.rung is Rung.DROPPED}
        assert {d for d in dropped if d[0] == place} <= decided
    assert promised <= set(found)
    assert set(found) <= tried
    assert max(found.values(), default=1) == 1


@pytest.mark.parametrize(
    "count", [3, *(pytest.param(n, marks=pytest.mark.soak) for n in (1, 2, 5, 9))]
)
@pytest.mark.parametrize("point", COMMIT + CHECKPOINT)
def test_kill_at_each_step_loses_nothing_promised(
    tmp_path: Path, point: str, count: int
) -> None:
    """Acknowledged means stored, wherever the process dies; the next life goes on."""
    first = killed_at(tmp_path, f"{point}:{count}")
    second = killed_after(tmp_path, 200)
    assert second.promised
    check(tmp_path, [first, second])


@pytest.mark.parametrize("point", RECOVERY)
def test_kill_during_the_start_after_a_kill(tmp_path: Path, point: str) -> None:
    """A start may be interrupted at each of its steps and repeated."""
    first = torn(tmp_path)
    second = killed_at(tmp_path, f"{point}:1")
    assert not second.tried
    third = killed_after(tmp_path, 100)
    assert third.promised
    check(tmp_path, [first, second, third])


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(n, marks=pytest.mark.soak) for n in range(2, 60))]
)
def test_kill_at_random_again_and_again(tmp_path: Path, seed: int) -> None:
    """Five lives over one root, each ended without warning."""
    chance = random.Random(seed)
    lives = [
        killed_after(
            tmp_path, chance.randrange(1, 900), chance.choice((10, 300, 20_000))
        )
        for _ in range(5)
    ]
    assert sum(len(life.promised) for life in lives) > 0
    check(tmp_path, lives)


def test_check_notices_what_is_missing(tmp_path: Path) -> None:
    """The control: a promise that was not kept fails the check."""
    life = killed_after(tmp_path, 100)
    check(tmp_path, [life])
    lost = life._replace(promised=life.promised | {("ada", "never-stored")})
    with pytest.raises(AssertionError):
        check(tmp_path, [lost])

"""SIGKILL of the daemon at each durable step and at random, under traffic by all doors.

Every promised id is in its inbox exactly once and in the order of its lane; a sender
that was cut off saw an error, never a clean close over mail that is not there.
"""

import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from homi.store import fault
from tests.crash.steps import steps
from tests.crash.traffic import Traffic, seed, spooled
from tests.standin.place import Place, until

NAMES = ["ada", "bob", "cyd"]
KILLS = 20  # of make test, beside those at every fault point
SOAK = 1000
# s: three checkpoints of half a MiB of traffic each took over ten on a busy machine.
REACHED = 90
# Every run takes these with a whole daemon; the store alone is killed at each step in
# every run, and the soak takes them all here too.
WRITING = ["before-ring", "after-ring-sync", "mid-lines", "before-answer", "evidence"]
WRITING += ["checkpoint-swapped", "before-header", "after-header"]
STARTING = ["recover-rewrite", "recover-cut", "recover-append", "recover-header"]


@pytest.fixture
def place() -> Iterator[Place]:
    """A private machine whose ring is small enough to fill."""
    with Place('device = "here"\nring = 1\nreserve = 1\n') as made:
        yield made


def ready(place: Place) -> Traffic:
    """The daemon up, the names claimed and planted, nobody sending yet."""
    place.start()
    for name in [*NAMES, "svc"]:
        place.ok("claim", name)
        place.listed(name)
    return Traffic(place, NAMES)


def settle(place: Place, traffic: Traffic) -> Counter[str]:
    """Stop sending, let pickup empty itself, hold everything against the promises."""
    traffic.stop()
    until(lambda: not spooled(place.state), "pickup is empty")
    return traffic.verify()


def died(place: Place) -> None:
    """The daemon was killed by its own fault point, and by nothing else."""
    assert place.daemon is not None
    assert place.daemon.wait(REACHED) == -signal.SIGKILL


@pytest.mark.parametrize("point", steps(fault.COMMIT + fault.CHECKPOINT, WRITING))
def test_a_kill_at_a_step_of_commit_or_checkpoint_loses_no_promise(
    place: Place, point: str
) -> None:
    """Whatever was promised before the step is there after the start."""
    traffic = ready(place)
    assert place.stop() == 0
    place.run_daemon(HOMI_FAULT=f"{point}:3")
    traffic.start()
    if point == "evidence":
        place.session("ada", "--auto")
    died(place)
    place.start()
    assert traffic.more(20), "the senders go on"
    found = settle(place, traffic)
    assert found["cut"], "the kill cut someone off"


@pytest.mark.parametrize("point", steps(fault.RECOVERY, STARTING))
def test_a_kill_at_a_step_of_the_start_loses_no_promise(
    place: Place, point: str
) -> None:
    """A start that is interrupted is repeated, and ends where one start would."""
    traffic = ready(place)
    assert place.stop() == 0
    place.run_daemon(HOMI_FAULT="mid-lines:5")
    traffic.start()
    died(place)
    daemon = place.run_daemon(HOMI_FAULT=f"{point}:1")
    until(lambda: daemon.poll() is not None or place.answers(), "the start ends")
    if daemon.poll() is None:
        # This death left nothing for that step to do; the next kill is plain.
        assert traffic.more(5)
        place.kill()
    place.start()
    assert traffic.more(20), "the senders go on"
    settle(place, traffic)


def kill_at_random(place: Place, kills: int, dice: random.Random) -> Counter[str]:
    """Kill under traffic again and again, sometimes in the start itself."""
    traffic = ready(place)
    traffic.start()
    wait = threading.Event()
    for _ in range(kills):
        if dice.random() < 0.8:
            assert traffic.more(dice.randrange(1, 40)), "the senders go on"
            wait.wait(dice.random() * 0.01)
            place.kill()
            place.run_daemon()
        else:
            place.kill()
            place.run_daemon()
            wait.wait(dice.random() * 0.3)
    until(place.answers, "the daemon answers")
    assert traffic.more(20), "the senders go on"
    return settle(place, traffic)


def test_kills_at_random_lose_no_promise(place: Place) -> None:
    """No step was forgotten by whoever named the steps."""
    found = kill_at_random(place, KILLS, seed())
    assert found["cut"], "the kills cut someone off"


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_thousand_kills_at_random_lose_no_promise(place: Place) -> None:
    """The same, long enough for what is rare."""
    dice = seed()
    total: Counter[str] = Counter()
    for _ in range(SOAK // 50):
        with Place('device = "here"\nring = 1\nreserve = 1\n') as fresh:
            total += kill_at_random(fresh, 50, dice)
    print(dict(total))

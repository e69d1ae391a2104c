"""Whatever happens in whatever order: nothing lost, in order, repeats marked."""

import pytest

from homi.address import Name
from homi.envelope import FINISHED, Rung
from tests.unit.courier.histories import EVE, History
from tests.unit.courier.twins import ADA, replayed, turn

SEEDS = 40
STEPS = 60


def check(history: History, name: Name) -> None:
    """What must hold of a mailbox at the end of any history."""
    world = history.world
    assert world.pending(name) == [], "lost: never finished"
    # By intents: a crash may come between one and its bytes.
    lanes: dict[str, list[int]] = {}
    for line in world.ledger(name):
        lane = lanes.setdefault(history.senders[line.id], [])
        if line.rung is Rung.INTENT and line.seq not in lane:
            lane.append(line.seq)
    for lane in lanes.values():
        assert lane == sorted(lane), "out of order"
    ends = [line for line in world.ledger(name) if line.rung in FINISHED]
    assert len({line.seq for line in ends}) == world.store.mailbox(name).last_seq
    for line in ends:
        assert line.rung is Rung.EXPIRED or line.id in history.street.arrived
    assert not replayed(world.store).mailbox(name).pending


def live(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """One history, and what must hold of it.

    The leg checks at every offer that the process does not have the letter, that
    one that may have been read carries the mark, and that none was answered.
    """
    history = History(seed)
    try:
        turn(history.live(STEPS))
        assert history.street.wrong == []
        assert [record for record in caplog.records if record.exc_info] == []
        for name in (ADA, EVE):
            check(history, name)
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise
    caplog.clear()


@pytest.mark.parametrize("block", range(4))
def test_random_histories_lose_nothing_and_double_nothing(
    block: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Deaths, restarts, receipts, evidence and refusals in any order."""
    for seed in range(block * SEEDS // 4, (block + 1) * SEEDS // 4):
        live(seed, caplog)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_many_random_histories_lose_nothing_and_double_nothing(
    block: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The same, for as long as it takes to meet the rare ones."""
    for seed in range(1000 + block * 100, 1100 + block * 100):
        live(seed, caplog)

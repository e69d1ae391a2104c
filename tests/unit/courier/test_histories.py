"""Whatever happens in whatever order: nothing lost, in order, repeats marked."""

import pytest

from homi.address import Name
from homi.envelope import FINISHED, Rung
from tests.unit.courier.histories import EVE, History
from tests.unit.courier.twins import ADA, replayed, turn

SEEDS = 300
STEPS = 60


def check(history: History, name: Name) -> None:
    """What must hold of a mailbox at the end of any history."""
    world = history.world
    assert world.pending(name) == [], "lost: never finished"
    lanes: dict[str, list[int]] = {}
    first: set[str] = set()
    order = {line.id: line.seq for line in world.ledger(name)}
    for offer in history.street.offers:
        if offer.letter.place == name and offer.id not in first:
            first.add(offer.id)
            lanes.setdefault(offer.sender, []).append(order[offer.id])
    for lane in lanes.values():
        assert lane == sorted(lane), "out of order"
    ends = [line for line in world.ledger(name) if line.rung in FINISHED]
    assert len({line.seq for line in ends}) == world.store.mailbox(name).last_seq
    for line in ends:
        assert line.rung is Rung.EXPIRED or line.id in history.street.arrived
    assert not replayed(world.store).mailbox(name).pending


@pytest.mark.parametrize("block", range(10))
def test_random_histories_lose_nothing_and_double_nothing(
    block: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Deaths, restarts, receipts, evidence and refusals in any order.

    The leg checks at every offer that the process does not have the letter, and
    that a letter that may have been read carries the mark.
    """
    for seed in range(block * SEEDS // 10, (block + 1) * SEEDS // 10):
        history = History(seed)
        try:
            turn(history.live(STEPS))
            assert history.street.wrong == []
            assert [r for r in caplog.records if r.exc_info] == []
            for name in (ADA, EVE):
                check(history, name)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise

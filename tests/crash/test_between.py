"""Mail between two real daemons over a line that loses, doubles, turns and cuts
frames, both killed at random, one state root taken back to an old copy.

Each message is stored once on the far side, in the order of its lane, and no queue
holds anything in the end.
"""

import pytest

from tests.crash.between import kill_at_random
from tests.crash.traffic import seed
from tests.standin import sshd

COUNT, KILLS = 1_000, 10
SOAK_COUNT, SOAK_KILLS = 20_000, 200
ONE_IN = 500  # frames: a window is 256, and of one that is broken all comes again


def test_a_bad_line_and_deaths_lose_nothing_and_double_nothing() -> None:
    """The control is in the numbers: the line was bad, and senders were cut off."""
    sshd.need()
    found = kill_at_random(COUNT, KILLS, ONE_IN, seed())
    print(dict(found))
    assert found["lost"] + found["doubled"] + found["turned"] + found["cut"]
    assert found["cut off"]


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_so_it_is_with_many_messages_and_deaths() -> None:
    """Long enough for what is rare."""
    sshd.need()
    found = kill_at_random(SOAK_COUNT, SOAK_KILLS, ONE_IN, seed())
    print(dict(found))
    assert all(found[kind] for kind in ("lost", "doubled", "turned", "cut"))

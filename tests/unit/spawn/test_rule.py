"""When a name may be started by itself."""

from dataclasses import dataclass

import pytest

from homi.address import Name
from homi.spawn.rule import Failing, Go, Verdict, Wait, judge
from homi.spawn.state import Spawned

NOW = 10_000.0


@dataclass
class Case:
    """What was counted, and what follows."""

    starts: list[float]
    verdict: Verdict
    failures: int = 0
    others: int = 0  # starts of other names, just now


CASES = {
    "never started": Case([], Go()),
    "three in the hour": Case([NOW - 30, NOW - 20, NOW - 10], Go()),
    "four in the hour": Case(
        [NOW - 3000, NOW - 30, NOW - 20, NOW - 10], Wait(NOW - 3000 + 3600)
    ),
    "four, one of them too old": Case([NOW - 3600, NOW - 3, NOW - 2, NOW - 1], Go()),
    "a start in the future": Case([NOW + 50, NOW - 3, NOW - 2, NOW - 1], Go()),
    "the device is at it": Case([], Wait(NOW + 3600), others=12),
    "the device is nearly at it": Case([], Go(), others=11),
    "one failure": Case([NOW - 59], Wait(NOW + 1), failures=1),
    "one failure, a minute ago": Case([NOW - 60], Go(), failures=1),
    "two failures": Case([NOW - 60], Wait(NOW + 60), failures=2),
    "three failures": Case([NOW - 3000], Failing(), failures=3),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_name_is_started_within_its_bounds(case: Case) -> None:
    spawned = Spawned(
        name=Name("ada"),
        client="claude",
        cwd="/",
        starts=case.starts,
        failures=case.failures,
    )
    every = case.starts + [NOW] * case.others
    assert judge(spawned, every, NOW) == case.verdict

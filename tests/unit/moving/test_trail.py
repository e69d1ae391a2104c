"""How long older mail is waited for, over restarts."""

import asyncio

import pytest

from homi.claims import Waited
from homi.moving import trail
from homi.moving.trail import LAPSE, MOST, Trail


class Watch:
    """A clock that a test sets, and what a daemon leaves for the next one."""

    def __init__(self) -> None:
        """Nothing was waited for."""
        self.now = 0.0
        self.kept = Waited()
        self.saves = 0

    def wall(self) -> float:
        """Not asked for."""
        raise NotImplementedError

    def boot(self) -> float:
        """Not asked for."""
        raise NotImplementedError

    def monotonic(self) -> float:
        """As it is set."""
        return self.now

    def keep(self, waited: Waited) -> None:
        """What the next daemon reads."""
        self.kept = waited
        self.saves += 1

    def runs(self, seconds: int, seen: str = "away", *, killed: bool = False) -> bool:
        """A daemon that looks each second; whether the wait is over then."""

        async def life() -> bool:
            one = Trail(self, self.kept, self.keep)
            for _ in range(seconds):
                self.now += 1
                try:
                    await one.look(seen)
                except TimeoutError:
                    return True
            if not killed:
                one.keep()
            return False

        self.now += 40_000  # what passes while no daemon runs does not count
        return asyncio.run(life())


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    """No look takes time."""
    monkeypatch.setattr(trail, "SOONEST", 0.0)
    return Watch()


def test_twenty_restarts_make_no_wait_longer(watch: Watch) -> None:
    """Nothing moves: ten minutes of daemons that ran are ten minutes."""
    each = int(LAPSE) // 20
    assert [watch.runs(each) for _ in range(19)] == [False] * 19
    assert watch.runs(each + 1)  # the first look of all only begins it


def test_what_moves_begins_the_ten_minutes_anew_over_a_restart_too(
    watch: Watch,
) -> None:
    assert not watch.runs(500, "9 on lab")
    assert not watch.runs(500, "8 on lab")
    assert watch.runs(101, "8 on lab")


def test_a_day_is_over_whatever_moves(watch: Watch) -> None:
    watch.kept = Waited(s=MOST - 2)
    assert not watch.runs(1, "2 on lab")
    assert watch.runs(1, "1 on lab")


@pytest.mark.parametrize("each", [2, 7, 90])
def test_a_daemon_that_is_killed_again_and_again_still_comes_to_the_end(
    watch: Watch, each: int
) -> None:
    """At most half of what one waited is lost with it."""
    lives = int(2 * LAPSE) // each + 1
    assert any(watch.runs(each, killed=True) for _ in range(lives))


def test_it_is_kept_seldom(watch: Watch) -> None:
    """Each time is a write of all names."""
    assert not watch.runs(int(LAPSE) - 1, killed=True)
    assert watch.saves < 20

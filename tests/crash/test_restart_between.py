"""Daemons that restart in place amid their mail for each other, and amid a move."""

import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from tests.crash.between import Between, Lane
from tests.crash.test_move_kill import COMING, LEAVING, again, claimed, moving
from tests.crash.traffic import seed
from tests.integration.linked import Pair, linked_pair
from tests.integration.restarting import restart, stands_still
from tests.standin import sshd
from tests.standin.place import Place, homi_command, until

PART = 20  # letters before a move, while it is on, and after


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two devices whose link is up."""
    yield from linked_pair(["svc"])


def at_once(*places: Place) -> None:
    """Restart all of them."""
    threads = [threading.Thread(target=restart, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def streaming(count: int, rounds: int) -> None:
    """Restart one, the other, then both, while each sends so many to the other."""
    with Between(count, seed()) as world:
        laptop, mini = (side.place for side in world.sides)
        world.start()
        for turn in range(rounds):
            world.more((turn + 0.5) / rounds)
            at_once(*([laptop], [mini], [laptop, mini])[(turn + 2) % 3])
            world.pair.both_up()
        found = world.settle()
        assert found["stored"] == 2 * count


def test_two_devices_that_restart_lose_repeat_and_mix_nothing() -> None:
    """The link comes up again by itself each time."""
    sshd.need()
    streaming(90, 1)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_restarts_between_two_devices() -> None:
    """The same, again and again."""
    sshd.need()
    streaming(3000, 12)


@pytest.mark.soak
@pytest.mark.parametrize("point", [*COMING, *LEAVING])
def test_a_restart_in_a_move_leaves_one_owner_and_every_letter_once(
    pair: Pair, point: str
) -> None:
    """Of the device that waits for the other one, which has come to that point."""
    laptop, mini = pair.laptop, pair.mini
    laptop.ok("claim", point)
    lane = Lane(laptop, point, 3 * PART)
    lane.until = PART
    lane.start()
    until(lambda: lane.next >= PART, "the first are promised")
    stops, restarts = (mini, laptop) if point in COMING else (laptop, mini)
    daemon = again(stops, HOMI_FAULT=f"{point}:1:stop")
    pair.both_up()
    lane.until = 2 * PART
    move = subprocess.Popen(
        [*homi_command(), "move", point, "mini"],
        env=laptop.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until(lambda: stands_still(daemon.pid), "it came to that point")
    restart(restarts)
    daemon.send_signal(signal.SIGCONT)
    _, err = move.communicate(timeout=60)
    assert move.returncode == 0 or "homi: hint: " in err
    lane.until = 3 * PART
    until(lambda: not moving(laptop) and not moving(mini), "the move ended")
    assert (claimed(laptop, point), claimed(mini, point)) == (False, True)
    until(lambda: lane.done, "all are promised")
    lane.stop()

    def arrived() -> list[str]:
        found = [line["msg"]["id"] for line in mini.lines(point)]
        return found if len(found) >= 3 * PART else []

    assert until(arrived, "all arrived") == lane.ids
    assert lane.wrong == []

"""SIGKILL of either daemon, or of both, at each step of a move.

A name has one owner afterwards, and what was sent meanwhile arrives there once, in
order.
"""

import itertools
import json
import signal
import subprocess
from collections.abc import Iterator

import pytest

from homi.store.fault import MOVING
from tests.crash.between import Lane
from tests.crash.steps import steps
from tests.integration.linked import Pair, linked_pair
from tests.standin.place import PATIENCE, Place, until

LEAVING = [
    "move-begun",
    "move-packed",
    "move-copied",
    "move-claimed",
    "move-there",
    "move-forwarded",
    "move-left",
]
COMING = ["move-arrived", "move-history", "move-settled"]
ORDERING = ["move-older", "move-behind", "move-ordered"]
CASES = [
    *itertools.product(LEAVING, ("laptop", "both")),
    *itertools.product(COMING, ("mini", "both")),
]
SMALL = [
    ("move-copied", "laptop"),
    ("move-forwarded", "both"),
    ("move-arrived", "mini"),
]
# Letters that are sent before, while it moves, and after: each of these.
FEW, MANY = 17, 167


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two devices whose link is up."""
    yield from linked_pair(["svc"])


def claimed(place: Place, name: str) -> bool:
    """Whether a device has the name."""
    return name in claims(place)


def moving(place: Place) -> bool:
    """Whether something is on its way from there."""
    return any("moving" in claim for claim in claims(place).values())


def claims(place: Place) -> dict[str, dict[str, object]]:
    """What a device has, as its file says."""
    found = json.loads((place.state / "names.json").read_text())
    return dict(found["claims"])


def blobs(place: Place) -> list[str]:
    """What of a move is kept by a device."""
    folder = place.state / "blobs"
    return [one.name for one in folder.iterdir()] if folder.is_dir() else []


def again(place: Place, **env: str) -> subprocess.Popen[bytes]:
    """A new life of its daemon."""
    if place.daemon is not None and place.daemon.poll() is None:
        place.kill()
    return place.start(**env)


def test_every_point_of_a_move_is_killed_at() -> None:
    """A new one comes into these lists."""
    assert {*LEAVING, *COMING, *ORDERING} == {*MOVING}


@pytest.mark.parametrize(("point", "who"), steps(CASES, SMALL))
def test_a_kill_in_a_move_leaves_one_owner_and_every_letter_once(
    pair: Pair, point: str, who: str
) -> None:
    part = FEW if (point, who) in SMALL else MANY
    laptop, mini = pair.laptop, pair.mini
    name = f"{point}-{who}"
    laptop.ok("claim", name)
    lane = Lane(laptop, name, 3 * part)
    lane.until = part
    lane.start()
    until(lambda: lane.next >= part, "the first are promised")
    dies = laptop if point in LEAVING else mini
    daemon = again(dies, HOMI_FAULT=f"{point}:1")
    pair.both_up()
    lane.until = 2 * part
    laptop.homi("move", name, "mini")
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    if who == "both":
        other = mini if dies is laptop else laptop
        again(other)
    again(dies)
    pair.both_up()
    lane.until = 3 * part
    until(lambda: not moving(laptop) and not moving(mini), "the move ended")
    assert claimed(laptop, name) + claimed(mini, name) == 1
    if claimed(laptop, name):
        laptop.ok("move", name, "mini")
    until(lambda: lane.next >= 3 * part, "all are promised")
    lane.stop()

    def arrived() -> list[str]:
        found = [line["msg"]["id"] for line in mini.lines(name)]
        return found if len(found) >= 3 * part else []

    assert until(arrived, "all arrived") == lane.ids
    assert lane.wrong == []
    until(lambda: not laptop.json("queue", "@mini"), "nothing waits any more")
    assert len(mini.json("queue", name)) == 3 * part
    if point != "move-settled":  # what lies there then, homi prune removes
        until(lambda: not blobs(laptop) and not blobs(mini), "nothing else is left")

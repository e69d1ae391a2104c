"""SIGKILL of either daemon while a name comes back to the device that it left.

What was sent before goes there and back, what is newer waits for it: each message is
there once, and in the order of its lane.
"""

import itertools
import signal
from collections.abc import Iterator

import pytest

from tests.crash.between import Lane
from tests.crash.steps import steps
from tests.crash.test_move_kill import FEW, MANY, ORDERING, again, claims, moving
from tests.integration.linked import Pair
from tests.standin import sshd
from tests.standin.place import PATIENCE, Place, until

# Where mini dies, and then laptop, to which the name comes back.
CASES = [
    ("move-there", ""),
    ("move-left", ""),
    ("", "move-arrived"),
    *itertools.product(("move-there", "move-forwarded"), ORDERING),
]
SMALL = [("move-there", "move-behind")]


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Two devices whose link is up."""
    sshd.need()
    with Pair() as made:
        made.link()
        made.both_up()
        for place, name in ((made.laptop, "svc"), (made.laptop, "bob")):
            place.ok("claim", name)
        made.mini.ok("claim", "svc")
        yield made


class Other(Lane):
    """A second sender on a device."""

    sender = "bob"


class Senders:
    """Two on the device that a name comes back to, and one on the other."""

    def __init__(self, pair: Pair, name: str, part: int) -> None:
        """Each sends a fourth at first."""
        self.part = part
        near = (pair.laptop, name, 4 * part)
        self.near = [Lane(*near), Other(*near)]
        self.all = [*self.near, Lane(pair.mini, f"{name}@laptop", 4 * part)]
        for lane in self.all:
            lane.start()

    def send(self, lanes: list[Lane], parts: int) -> None:
        """Up to so many fourths of all that these have."""
        for lane in lanes:
            lane.until = parts * self.part

    def promised(self, lanes: list[Lane]) -> None:
        """Wait until that is stored."""
        until(lambda: all(lane.done for lane in lanes), "all are promised")

    def came(self, place: Place, name: str) -> list[str]:
        """What waits for the name, once that is everything."""
        count = sum(len(lane.ids) for lane in self.all)

        def arrived() -> list[str]:
            found = [row["id"] for row in place.json("queue", name)]
            return found if len(found) >= count else []

        return until(arrived, "all arrived", 30)


def in_order(place: Place) -> bool:
    """Whether no name of a device waits for older mail."""
    came = (claim.get("came") for claim in claims(place).values())
    return not any("older" in one for one in came if isinstance(one, dict))


@pytest.mark.parametrize(("there", "here"), steps(CASES, SMALL))
def test_a_name_that_comes_back_has_every_letter_once_and_in_order(
    pair: Pair, there: str, here: str
) -> None:
    small = (there, here) in SMALL
    laptop, mini = pair.laptop, pair.mini
    name = f"{there}-{here}".strip("-")
    laptop.ok("claim", name)
    senders = Senders(pair, name, FEW if small else MANY)
    senders.send(senders.all, 1)
    senders.promised(senders.all)
    laptop.ok("move", name, "mini")
    senders.send(senders.all, 2)
    senders.promised(senders.all)
    far = again(mini, HOMI_FAULT=f"{there}:1") if there else None
    near = again(laptop, HOMI_FAULT=f"{here}:1") if here else None
    pair.both_up()
    laptop.homi("move", f"{name}@mini")
    if far is not None:
        assert far.wait(PATIENCE) == -signal.SIGKILL
        senders.send(senders.near, 3)
        if small:
            senders.promised(senders.near)
            assert len(laptop.json("queue", "@laptop")) == 2 * senders.part
        again(mini)
    if near is not None:
        assert near.wait(PATIENCE) == -signal.SIGKILL
        again(laptop)
    pair.both_up()
    senders.send(senders.all, 4)
    senders.promised(senders.all)
    until(lambda: not moving(laptop) and not moving(mini), "the move ended", 30)
    if name in claims(mini):
        laptop.ok("move", f"{name}@mini")
    found = senders.came(laptop, name)
    for lane in senders.all:
        lane.stop()
        assert [one for one in found if one in {*lane.ids}] == lane.ids
        assert lane.wrong == []
    until(lambda: in_order(laptop), "nothing waits for older mail")

"""SIGKILL of either daemon while a name comes back to the device that it left.

What was sent before goes there and back, what is newer waits for it: each message is
there once, and in the order of its lane.
"""

import itertools
import re
import signal
from collections.abc import Iterator

import pytest

from tests.crash.between import Lane
from tests.crash.steps import steps
from tests.crash.test_move_kill import FEW, MANY, ORDERING, again, claims, moving
from tests.integration.linked import Pair, key_of, linked_pair
from tests.integration.test_move import ids
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
    yield from linked_pair(["svc", "bob"], ["svc"])


class Other(Lane):
    """A second sender on a device."""

    sender = "bob"


class Senders:
    """Two on the device that a name comes back to, and one on each other."""

    def __init__(self, place: Place, others: list[Place], name: str, part: int) -> None:
        """Each has four parts to send."""
        self.part = part
        self.near = [Lane(place, name, 4 * part), Other(place, name, 4 * part)]
        far = f"{name}@{place.device}"
        self.all = [*self.near, *(Lane(one, far, 4 * part) for one in others)]
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

        return until(arrived, "all arrived")

    def settle(self, place: Place, name: str) -> None:
        """All is there, once and in the order of each lane."""
        until(lambda: in_order(place), "nothing waits for older mail")
        found = self.came(place, name)
        for lane in self.all:
            lane.stop()
            assert [one for one in found if one in {*lane.ids}] == lane.ids
            assert lane.wrong == []


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
    senders = Senders(laptop, [mini], name, FEW if small else MANY)
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
            waits = laptop.json("queue", "@laptop")
            assert len(waits) == 2 * senders.part
            assert [row for row in laptop.json("queue", name) if row in waits] == waits
            assert {row["reason"] for row in waits} == {"moving"}
        again(mini)
    if near is not None:
        assert near.wait(PATIENCE) == -signal.SIGKILL
        again(laptop)
    pair.both_up()
    senders.send(senders.all, 4)
    senders.promised(senders.all)
    until(lambda: not moving(laptop) and not moving(mini), "the move ended")
    if name in claims(mini):
        laptop.ok("move", f"{name}@mini")
    senders.settle(laptop, name)


@pytest.mark.soak
def test_a_name_that_comes_back_over_a_third_device_keeps_each_lane_in_order(
    pair: Pair,
) -> None:
    """What is under way went from device to device; the third sends, too."""
    laptop, mini = pair.laptop, pair.mini
    with pair.place("hub", 15) as hub, sshd.Sshd(hub) as server:
        hub.state.mkdir(mode=0o700)
        key_of(hub)
        hub.start()
        server.authorize("".join(pair.forced(one, hub) for one in (laptop, mini)))
        for one in (laptop, mini):
            server.reach(one)
            hub.ok("link", "add", one.device, "--key", key_of(one))
            one.ok("link", "add", "hub", "--key", key_of(hub), "--host", "hub")
            pair.is_(one, "hub", "up")
        hub.ok("claim", "svc")
        laptop.ok("claim", "fay")
        senders = Senders(laptop, [mini, hub], "fay", MANY)
        senders.send(senders.all, 1)
        laptop.ok("move", "fay", "mini")
        senders.send(senders.all, 2)
        mini.ok("move", "fay", "hub")
        senders.send(senders.all, 4)
        laptop.ok("move", "fay@hub")
        senders.promised(senders.all)
        senders.settle(laptop, "fay")
        for one in (laptop, mini):
            one.ok("link", "rm", "hub")


@pytest.mark.soak
def test_a_person_lets_newer_mail_go_on_where_the_other_device_is_away(
    pair: Pair,
) -> None:
    """Until then it shows, the name does not move on, and a restart changes nothing."""
    laptop, mini = pair.laptop, pair.mini
    laptop.ok("claim", "gus")
    laptop.ok("move", "gus", "mini")
    gone = again(mini, HOMI_FAULT="move-there:1")
    pair.both_up()
    laptop.homi("move", "gus@mini")
    assert gone.wait(PATIENCE) == -signal.SIGKILL
    sent = laptop.send("gus", "newer", sender="bob")
    again(laptop)
    assert re.search("newer mail of gus waits for .*older mail", laptop.ok("ls"))
    assert laptop.lines("gus") == []
    assert "\tmoving\t" in laptop.ok("queue", "gus")
    assert laptop.homi("trace", sent).stderr == ""
    refused = laptop.homi("move", "gus", "mini")
    assert (refused.returncode, "older mail" in refused.stderr) == (75, True)
    assert laptop.ok("move", "gus", "--abort") == "gus stays here\n"
    assert ids(laptop, "gus") == [sent]
    assert laptop.homi("move", "gus", "--abort").returncode == 64
    again(mini)
    pair.both_up()
    until(lambda: not moving(mini), "the move ended there, too")

"""SIGKILL of the daemon while mail for one device goes into the queue for another.

A letter is in the old queue, in the new one or in both; the order given again puts
each into the new one once, in the order of its lane.
"""

import itertools
import json
import signal
from collections.abc import Iterator

import pytest

from homi.links.identity import Identity
from homi.store.fault import COMMIT
from tests.crash.steps import steps
from tests.standin.place import PATIENCE, Place

COUNT = 5
# A stop and a start in between: which batch of a life is the order is known.
POINTS = [point for point in COMMIT if point != "evidence"]


@pytest.fixture
def place() -> Iterator[Place]:
    """A private machine, linked to two that cannot be reached."""
    with Place() as made:
        made.start()
        key = Identity.load(made.state).public
        for device in ("old", "new"):
            made.ok("link", "add", device, "--key", key)
        made.ok("claim", "svc")
        yield made


def waiting(place: Place, device: str) -> list[str]:
    """The ids that wait for a device, in order."""
    out = place.ok("queue", "--json", f"@{device}")
    return [json.loads(line)["id"] for line in out.splitlines()]


@pytest.mark.parametrize(
    ("point", "batch"),
    steps(
        itertools.product(POINTS, (1, 2)), [("after-ring-sync", 1), ("mid-lines", 2)]
    ),
)
def test_a_kill_in_a_reroute_loses_and_doubles_no_letter(
    place: Place, point: str, batch: int
) -> None:
    """While the letters are stored in the new queue, and while the old one is told
    that they moved."""
    sent = [place.send("gds@old", f"letter {n}", sender="svc") for n in range(COUNT)]
    assert place.stop() == 0
    daemon = place.start(HOMI_FAULT=f"{point}:{batch}")
    done = place.homi("queue", "reroute", "--to", "new", "--name", "@old")
    assert done.returncode == 69
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    place.start()
    left, there = waiting(place, "old"), waiting(place, "new")
    assert set(left) | set(there) == set(sent)
    assert there == sent[: len(there)]
    if left:
        place.ok("queue", "reroute", "--to", "new", "--name", "@old")
    assert waiting(place, "old") == []
    assert waiting(place, "new") == sent
    queue = place.state / "out" / "new" / "queue.jsonl"
    assert len(place.journal(queue)) == COUNT


@pytest.mark.parametrize("point", steps(POINTS, ["after-ring-sync"]))
def test_a_kill_while_mail_is_sent_back_ends_none_untold(
    place: Place, point: str
) -> None:
    """Each sender has one bounce for what ended, and the rest can be sent back."""
    sent = [place.send("gds@old", f"letter {n}", sender="svc") for n in range(COUNT)]
    assert place.stop() == 0
    daemon = place.start(HOMI_FAULT=f"{point}:2")
    order = ("queue", "bounce", "--name", "@old", "--yes")
    assert place.homi(*order).returncode == 69
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    place.start()
    told = {line["msg"]["reply_to"] for line in place.lines("svc")}
    assert set(sent) - set(waiting(place, "old")) <= told
    place.homi(*order)
    assert waiting(place, "old") == []
    assert sorted(line["msg"]["reply_to"] for line in place.lines("svc")) == sorted(
        sent
    )

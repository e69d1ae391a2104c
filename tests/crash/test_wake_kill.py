"""kill -9 around a firing: each slot has one envelope, whichever step was the last."""

import json
import time

import pytest

from homi.clock import rfc3339
from tests.crash.steps import steps
from tests.standin.place import PATIENCE, Place, until

POINTS = (
    *("before-ring", "after-ring-write", "after-ring-sync"),
    *("mid-lines", "after-lines"),
)


@pytest.mark.parametrize("point", steps(POINTS, {"before-ring", "after-lines"}))
def test_a_daemon_that_is_killed_while_it_fires_sends_each_slot_once(
    point: str,
) -> None:
    """It dies before the time comes, dies in the firing, and starts again."""
    with Place() as place:
        place.start()
        for name in ("ada", "ci"):
            place.ok("claim", name)
        added = place.json("wake", "add", "--from", "ci", "--at", "+1h", "ada", "go")
        place.kill()
        # The hour is over before the next start.
        file = place.state / "wakes.json"
        state = json.loads(file.read_text())
        state["wakes"][added["wake"]["id"]]["trigger"]["value"] = rfc3339(time.time())
        file.write_text(json.dumps(state))
        daemon = place.run_daemon(HOMI_FAULT=f"{point}:1")
        assert daemon.wait(PATIENCE) == -9
        place.start()
        wake = added["wake"]["id"]
        until(lambda: row(place, wake)["state"] == "done", "it is noted")
        place.kill()
        place.start()
        assert len(place.lines("ada")) == 1
        assert row(place, wake)["fired"] == 1


def row(place: Place, wake: str) -> dict[str, object]:
    """The wake as it is listed."""
    found: dict[str, object] = place.json("wake", "ls", wake, "--json")
    return found

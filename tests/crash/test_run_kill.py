"""The daemon is killed at each step of a run: its letter is given once and answered."""

import pytest

from homi.store.fault import RUNS
from tests.crash.steps import steps
from tests.standin.place import Place, until

SMALL = ("run-planned", "run-answered")


@pytest.mark.parametrize("point", steps(RUNS, SMALL))
def test_a_letter_is_given_once_and_answered_once(point: str) -> None:
    """Whatever the daemon had done of it by then."""
    with Place() as place:
        place.start()
        place.ok("claim", "svc")
        script = "echo once >>count; cat >/dev/null; echo well"
        place.ok("command", "bind", "ada", "--", "sh", "-c", script)
        assert place.stop() == 0
        daemon = place.start(HOMI_FAULT=f"{point}:1")
        place.homi("ask", "--from", "svc", "--timeout", "2", "ada", "a question?")
        until(lambda: daemon.poll() is not None, "the daemon was killed")
        place.start()
        (line,) = place.lines("ada")
        place.reached("ada", line["msg"]["id"], "seen")
        assert place.stored("svc", "well")["msg"]["reply_to"] == line["msg"]["id"]
        assert [a["msg"]["text"] for a in place.lines("svc")].count("well") == 1
        assert (place.work / "count").read_text() == "once\n"

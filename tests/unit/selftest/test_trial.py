"""What the test of a machine says where something fails, and what it leaves."""

import os
from collections.abc import Iterator

import pytest

from homi.errors import Bug
from homi.selftest.place import Place
from homi.selftest.trial import steps


class Broken(Place):
    """A homi that cannot do one verb."""

    verb = "run"

    def homi(self, *argv: str) -> tuple[str, ...]:
        """As of every place, but for that one."""
        if argv[0] == self.verb:
            return ("sh", "-c", "echo it is broken >&2; exit 7")
        return super().homi(*argv)


@pytest.fixture
def broken() -> Iterator[Broken]:
    """A place that is closed, and looked at then."""
    place = Broken()
    with place:
        yield place
    assert not place.folder.exists()
    for process in place.started:
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)


def test_a_daemon_that_does_not_start_is_told_with_its_last_word(
    broken: Broken,
) -> None:
    """And no step follows; nothing is left, which the fixture looks at."""
    (step,) = steps(broken)
    assert (step.step, step.ok) == ("start", False)
    assert "it is broken" in step.text


def test_an_agent_whose_command_fails_is_told_with_the_command(
    broken: Broken,
) -> None:
    """The daemon and both agents are ended all the same."""
    broken.verb = "claim"
    last = list(steps(broken))[-1]
    assert (last.step, last.ok) == ("claim", False)
    assert last.text == "homi claim by ada: status 7: it is broken"
    assert len(broken.started) == 3


def test_an_agent_that_dies_is_told(broken: Broken) -> None:
    """Not waited for."""
    broken.environment["CLAUDE_CONFIG_DIR"] = "/dev/null"
    with pytest.raises(Bug, match="an agent ended with status"):
        broken.session("ada")

"""Agents on two devices that answer each other: one count, whichever device they are
on, and one person who lets them go on."""

from collections.abc import Iterator

import pytest

from tests.cli.run import at_terminal
from tests.integration.linked import Pair
from tests.standin import sshd
from tests.standin.place import PATIENCE, Place, homi_command, until


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A link, with ada on the laptop and bob on mini."""
    sshd.need()
    with Pair() as made:
        for one, name in ((made.laptop, "ada"), (made.mini, "bob")):
            one.ok("claim", name)
            one.ok("claim", "svc")
        made.link()
        made.both_up()
        yield made


def _turns(pair: Pair) -> int:
    """How many messages of sessions there are, each once."""
    return len(
        {
            line["msg"]["id"]
            for one, name in ((pair.laptop, "ada"), (pair.mini, "bob"))
            for line in one.lines(name) + _queued(one)
            if line["msg"]["from"] in ("ada", "bob")
        }
    )


def _queued(one: Place) -> list[dict[str, object]]:
    """What ever waited at a device for the other."""
    out = one.state / "out"
    return [line for path in out.glob("*/queue.jsonl") for line in one.journal(path)]


def _parked(pair: Pair) -> list[tuple[Place, dict[str, object]]]:
    """What was parked, and where."""
    return [
        (one, line)
        for one, name in ((pair.laptop, "ada"), (pair.mini, "bob"))
        for line in one.lines(name) + _queued(one)
        if "parked" in line["via"]
    ]


def _comes(pair: Pair, count: int) -> Place:
    """Wait for so many parked ones; where the last is."""
    until(lambda: len(_parked(pair)) >= count, f"{count} are parked", 4 * PATIENCE)
    found = sorted(_parked(pair), key=lambda each: str(each[1]["at"]))
    assert len(found) == count
    return found[-1][0]


def _warnings(one: Place) -> int:
    """How often the person of a device was told."""
    return sum(
        line["msg"]["text"].startswith("Agents were stopped")
        for line in one.lines("owner")
    )


def test_they_stop_at_the_same_bound_as_on_one_and_one_person_lets_them_go_on(
    pair: Pair,
) -> None:
    """One by its client's replies, one by new messages that name nothing; over a
    kill -9."""
    pair.laptop.session("ada", "--auto", "--reply", "point {n} of ada")
    send = " ".join([*homi_command(), "send", "ada@laptop"])
    pair.mini.session("bob", "--auto", "--reply", "bob, {n}", "--forward", send)
    begun = pair.mini.send("ada@laptop", "go", sender="bob")
    at = _comes(pair, 1)
    count = _turns(pair)
    assert count == 14  # with the one that began it
    until(lambda: _warnings(at) == 1, "a person is told")
    at.kill()
    at.start()
    pair.both_up()
    done = at_terminal(at.env(), at.work, ["continue", begun], screen=False)
    assert (done.returncode, b"1 released" in done.stdout) == (0, True), done
    again = _comes(pair, 2)
    assert _turns(pair) == 14 + 12
    until(lambda: _warnings(again) == 1 + (again is at), "and told once more")
    assert _warnings(pair.laptop) + _warnings(pair.mini) == 2

"""Agents that answer at once, among themselves: they stop, and a person is told."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.run import at_terminal
from tests.standin.place import PATIENCE, Place, homi_command, until

Lines = list[dict[str, Any]]


@pytest.fixture
def place() -> Iterator[Place]:
    """As the usual one, without a pace of its own to wait for."""
    with Place() as made:
        made.start()
        made.ok("claim", "svc")
        yield made


def _person(place: Place, *argv: str) -> str:
    done = at_terminal(place.env(), place.work, argv, screen=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def _parked(place: Place, *names: str) -> Lines:
    """Every line that came in parked."""
    return [
        line for name in names for line in place.lines(name) if "parked" in line["via"]
    ]


def _comes(place: Place, count: int, *names: str) -> dict[str, Any]:
    """Wait for the last of so many parked ones."""
    until(
        lambda: len(_parked(place, *names)) >= count,
        f"{count} are parked",
        4 * PATIENCE,
    )
    found = sorted(_parked(place, *names), key=lambda line: line["at"])
    assert len(found) == count
    return found[-1]


def _turns(place: Place, *names: str) -> int:
    """How many messages of sessions there are."""
    return sum("session" in line["via"] for name in names for line in place.lines(name))


def _warnings(place: Place) -> Lines:
    return [
        line
        for line in place.lines("owner")
        if line["msg"]["text"].startswith("Agents were stopped")
    ]


def _told(place: Place, times: int) -> None:
    until(lambda: len(_warnings(place)) >= times, f"the person is told {times} times")
    assert len(_warnings(place)) == times


def _kept(place: Place, *names: str) -> None:
    """Nothing is lost: all was read but what is parked, in sight of a person."""
    for name in names:
        parked = [row["id"] for row in place.json("queue") if row["rung"] == "parked"]
        for line in place.lines(name):
            message = line["msg"]["id"]
            if message not in parked:
                _read(place, name, message)


def _read(place: Place, name: str, message: str) -> None:
    until(
        lambda: {"seen", "answered"} & {*place.rungs(name, message)},
        f"{message} in {name} is read",
    )


def test_two_instant_echoes_stop_and_go_on_when_a_person_lets_them(
    place: Place,
) -> None:
    """The same text again from both sides is a loop; the person hears of it once."""
    for name in ("ada", "bob"):
        place.ok("claim", name)
        place.session(name, "--auto", "--reply", "you are right")
    begun = place.send("ada", "go", sender="bob")
    first = _comes(place, 1, "ada", "bob")
    assert first["via"]["parked"] == "loop"
    assert _turns(place, "ada", "bob") == 3
    _told(place, 1)
    (row,) = [row for row in place.json("limits") if row["kind"] == "chain"]
    assert (row["about"], row["used"], row["state"]) == (begun, 3, "parked")
    assert row["reason"] == "loop"
    assert begun in _warnings(place)[0]["msg"]["text"]
    assert "1 released" in _person(place, "continue", begun)
    second = _comes(place, 2, "ada", "bob")
    assert second["msg"]["id"] != first["msg"]["id"]
    _told(place, 2)
    _kept(place, "ada", "bob")


def test_two_that_always_say_something_new_stop_after_twelve_also_over_a_crash(
    place: Place,
) -> None:
    """The counters stand in the file before a message is answered."""
    for name in ("ada", "bob"):
        place.ok("claim", name)
        place.session(name, "--auto", "--reply", f"point {{n}} of {name}")
    begun = place.send("ada", "go", sender="bob")
    assert _comes(place, 1, "ada", "bob")["via"]["parked"] == "budget"
    assert _turns(place, "ada", "bob") == 13
    _told(place, 1)
    place.kill()
    (row,) = [row for row in place.json("limits") if row["kind"] == "chain"]
    assert (row["used"], row["limit"], row["state"]) == (13, 12, "parked")
    place.start()
    assert place.homi("continue", begun).returncode == 77
    done = json.loads(_person(place, "continue", "--json", begun[24:32]))
    assert (done["chain"], done["limit"], len(done["rows"])) == (begun, 24, 1)
    _comes(place, 2, "ada", "bob")
    assert _turns(place, "ada", "bob") == 25
    _told(place, 2)
    _kept(place, "ada", "bob")


@pytest.mark.parametrize(
    "ring",
    [
        pytest.param(("ada", "bob"), id="pair", marks=pytest.mark.soak),
        pytest.param(("ada", "bob", "cleo"), id="ring"),
    ],
)
def test_a_ring_and_a_pair_that_open_a_new_thread_each_turn_stop_too(
    place: Place, ring: tuple[str, ...]
) -> None:
    """What a session was given causes what it sends, whatever it names."""
    for name, following in zip(ring, (*ring[1:], ring[0]), strict=True):
        place.ok("claim", name)
        command = " ".join([*homi_command(), "send", following])
        place.session(
            name, "--auto", "--reply", f"point {{n}} of {name}", "--forward", command
        )
    begun = place.send("ada", "go")
    assert _comes(place, 1, *ring)["via"]["parked"] == "budget"
    assert _turns(place, *ring) == 13
    _told(place, 1)
    # Other work still gets through, beside what is parked.
    other = place.send("ada", "another thing")
    place.reached("ada", other, "seen")
    _comes(place, 2, *ring)
    _told(place, 2)
    assert "1 released" in _person(place, "continue", begun)
    _comes(place, 3, *ring)
    _kept(place, *ring)

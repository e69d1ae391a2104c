"""Seats of another device, over a real sshd: by a person's grant, and only those."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from homi.seats.server import Server
from homi.seats.view import State
from tests.cli.run import at_terminal
from tests.integration.linked import Pair
from tests.integration.seatkit import Stand, argv, needs_tmux
from tests.standin.place import Place

pytestmark = needs_tmux

SECRET = "sk-ant-" + "api03-ab3de6gh9jk2mn5pq8st1vw4xy7za0"


class There(Stand):
    """A seat of mini that draws as Claude Code does."""

    def __init__(self, place: Place) -> None:
        """Open, and ready for a line."""
        self.server = Server.of(place.state)
        self.log = place.work / "ada.log"
        self.log.touch()
        place.ok("seat", "spawn", "ada", "--client", "claude", "--", *argv(self.log))
        self.seat = self.server.find("ada")
        self.becomes(State.IDLE)


def person(at: Place, *argv: str) -> tuple[int, str, str]:
    """A command of a person at a terminal: status, what it prints, what it says."""
    done = at_terminal(at.env(), at.work, list(argv), screen=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def told(at: Place, *argv: str) -> dict[str, Any]:
    """What a person is told by --json."""
    status, out, err = person(at, *argv, "--json")
    assert status == 0, err
    return dict(json.loads(out))


@pytest.fixture
def pair() -> Iterator[Pair]:
    """laptop and mini, linked."""
    with Pair() as made:
        made.link()
        made.both_up()
        yield made


def test_seats_of_another_device_are_driven_by_a_persons_grant_alone(
    pair: Pair,
) -> None:
    """Nothing before it and nothing after; while it holds a person looks, types and
    answers, everybody else looks."""
    laptop, mini, ada = pair.laptop, pair.mini, There(pair.mini)
    try:
        for argv in (("ls", "mini"), ("read", "ada@mini"), ("send", "ada@mini", "x")):
            status, out, err = person(laptop, "seat", *argv)
            assert (status, out) == (77, ""), err
            assert "laptop is not granted seats here" in err
        done = mini.homi("link", "add", "laptop", "--allow-seats")
        assert (done.returncode, "only a person says" in done.stderr) == (77, True)
        assert not pair.row(mini, "laptop").get("seats")
        status, _, err = person(mini, "link", "add", "laptop", "--allow-seats")
        assert status == 0, err
        assert pair.row(mini, "laptop")["seats"]
        assert not pair.row(laptop, "mini").get("seats")

        row = json.loads(laptop.ok("seat", "ls", "mini", "--json"))
        assert (row["seat"], row["state"], row["device"]) == ("ada", "idle", "mini")
        assert told(laptop, "seat", "send", "ada@mini", "hello there")["gone"]
        assert ada.got("line") == ["hello there"]
        mini.ok("seat", "send", "ada", f"key {SECRET}")
        shown = laptop.ok("seat", "read", "ada@mini", "--lines", "50")
        assert "[masked: " in shown
        assert SECRET not in shown
        assert told(laptop, "seat", "send", "ada@mini", "ask")["gone"]
        ada.becomes(State.APPROVAL)
        state = laptop.json("seat", "state", "ada@mini")
        assert state["row"]["device"] == "mini"
        number = len(state["asked"]["options"])
        assert person(laptop, "seat", "respond", "ada@mini", "2")[0] == 77
        assert ada.state() is State.APPROVAL
        answered = told(laptop, "seat", "respond", "ada@mini", str(number))
        assert answered["did"] == "answered"
        ada.becomes(State.IDLE)

        for argv in (("send", "ada@mini", "x"), ("interrupt", "ada@mini")):
            assert laptop.homi("seat", *argv).returncode == 77
        assert person(laptop, "seat", "send", "ada@mini", f"key {SECRET}")[0] == 65
        for given in ("ada@mini@laptop", "ada@mini@attic"):
            status, _, err = person(laptop, "seat", "send", given, "x")
            assert status == 64, err
        assert person(laptop, "seat", "kill", "ada@mini")[0] == 77
        assert person(laptop, "seat", "read", "bob@mini")[0] == 66
        mini.logged("seat ada by=@laptop status=sent")

        person(mini, "link", "add", "laptop", "--no-allow-seats")
        assert person(laptop, "seat", "send", "ada@mini", "x")[0] == 77
        assert ada.got("line") == ["hello there", f"key {SECRET}", "ask"]
    finally:
        mini.homi("seat", "kill", "ada")

"""Rooms with a real daemon: sessions, one of them dead, kills, and two devices."""

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.crash.steps import steps
from tests.integration.linked import Pair
from tests.standin.place import PATIENCE, Place, homi_command, until

MEMBERS = ("ada", "bob", "cyd")


@pytest.fixture
def place() -> Iterator[Place]:
    """A daemon and the room team of ada, bob and cyd."""
    with Place() as made:
        made.start()
        for name in ("svc", *MEMBERS):
            made.ok("claim", name)
        made.ok("room", "create", "team", *MEMBERS)
        yield made


def copies(place: Place, name: str, message: str) -> list[dict[str, Any]]:
    """The inbox lines of a message in a mailbox."""
    return [line for line in place.lines(name) if line["msg"]["id"] == message]


def owned(place: Place, name: str) -> bool:
    """Whether a live session has the name."""
    rows = place.json("ls", "--no-probe")
    return any(row["name"] == name and row["owner"] for row in rows)


def parked(place: Place) -> list[dict[str, Any]]:
    """The room's lines that came in parked."""
    return [line for line in place.lines("team") if "parked" in line["via"]]


def ended(place: Place, message: str) -> None:
    place.reached("team", message, "relayed")


def test_each_live_member_has_a_turn_a_dead_one_waits_and_the_writer_has_none(
    place: Place,
) -> None:
    """A session writes natively to the room, whose name its client lists; one answers
    by its client's tool, which goes to the writer, one to all."""
    place.listed("team")
    with (
        place.session("ada", "--auto") as ada,
        place.session("bob", "--auto") as bob,
        place.session("cyd", "--auto") as cyd,
    ):
        until(lambda: owned(place, "cyd"), "cyd is owned")
        cyd.kill()
        until(lambda: not owned(place, "cyd"), "cyd is dead")
        ada.send("team", "who has the lock?")
        turn = bob.letter("who has the lock?")
        head = turn["text"].splitlines()[0]
        assert " from ada for bob, in room team; " in head
        line = place.stored("team", "who has the lock?")
        message = line["msg"]["id"]
        ended(place, message)
        assert f"homi send team --reply-to {message} -" in head
        assert copies(place, "ada", message) == []
        assert [len(copies(place, name, message)) for name in ("bob", "cyd")] == [1, 1]
        place.reached("bob", message, "seen")
        assert place.rungs("cyd", message) == []
        rows = place.json("queue", "cyd")
        assert (rows["rung"], rows["reason"]) == ("held", "no-owner")
        bob.tool(*homi_command(), "reply", message, "I have it")
        ada.letter("I have it")
        place.stored("ada", "I have it")
        bob.tool(
            *homi_command(), "send", "--reply-to", message, "team", "all: I have it"
        )
        assert "in room team" in ada.letter("all: I have it")["text"]
    told = place.ok("trace", message).splitlines()
    assert [row.split("\t")[1:3] for row in told if "team/" in row] == [
        ["team/bob", "stored"],
        ["team/cyd", "stored"],
    ]


@pytest.mark.parametrize(
    ("point", "batch"),
    steps(
        [("before-answer", 1), ("mid-lines", 2), ("before-ring", 3)], {"mid-lines-2"}
    ),
)
def test_a_kill_anywhere_on_the_way_gives_each_member_one_copy(
    place: Place, point: str, batch: int
) -> None:
    """The message is stored, some have their copy, all have it and it is not ended."""
    assert place.stop() == 0
    daemon = place.start(HOMI_FAULT=f"{point}:{batch}")
    msg = "0190aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee"
    place.homi("send", "--from", "svc", "team", "hello", "--key", msg)
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    place.start()
    line = place.stored("team", "hello")
    message = line["msg"]["id"]
    ended(place, message)
    for name in MEMBERS:
        assert len(copies(place, name, message)) == 1, name
    assert place.json("queue", "team") == []


def test_echoes_in_a_room_stop_at_the_bound(place: Place) -> None:
    """Each word of each is another, and all answer all; nothing is lost."""
    for name in MEMBERS:
        command = " ".join([*homi_command(), "send", "team"])
        place.session(
            name, "--auto", "--reply", f"point {{n}} of {name}", "--forward", command
        )
    place.send("team", "go")
    until(lambda: parked(place), "a bound parks what they say", 4 * PATIENCE)

    def answered() -> bool:
        """Each letter was answered once, and no answer is under way."""
        letters = sum(len(place.lines(name)) for name in MEMBERS)
        return len(place.lines("team")) == 1 + letters

    until(answered, "all that they were given is answered", 4 * PATIENCE)
    went = [line for line in place.lines("team") if line not in parked(place)]
    assert len(went) <= 1 + 12 + len(MEMBERS)
    for line in went:
        ended(place, line["msg"]["id"])


def test_members_on_two_devices_and_a_writer_on_the_other() -> None:
    """A copy says of which room it is; what the other device writes comes back to no
    one who wrote it; a room there takes nothing from this one."""
    with Pair() as pair:
        pair.link()
        laptop, mini = pair.laptop, pair.mini
        for name in ("ada", "svc"):
            laptop.ok("claim", name)
        mini.ok("claim", "eve")
        mini.ok("room", "create", "hall", "eve")
        laptop.ok("room", "create", "team", "ada", "eve@mini", "hall@mini")
        refused = mini.homi("room", "rm", "team@laptop")
        assert refused.returncode == 68
        pair.both_up()
        _joined_from_there(pair)
        sent = laptop.send("team", "from here")
        line = mini.stored("eve", "from here")
        assert line["via"]["room"] == "team@laptop"
        bounce = laptop.notice("svc", sent)
        assert "no member of another" in bounce["msg"]["text"]
        assert mini.lines("hall") == []
        with mini.session("eve", "--auto") as eve:
            eve.letter("from here")
            eve.tool(*homi_command(), "send", "team@laptop", "from there")
            laptop.stored("ada", "from there")
        back = laptop.stored("team", "from there")["msg"]["id"]
        until(
            lambda: (
                "relayed" in laptop.rungs("team", back)
                or any("from there" in str(x) for x in mini.lines("hall"))
            ),
            "the room is done with it",
        )
        assert copies(mini, "eve", back) == []
        assert json.loads(laptop.ok("room", "ls", "team", "--json"))["members"]


def _joined_from_there(pair: Pair) -> None:
    """A name of mini joins and leaves the room of the laptop; it gets a notice."""
    laptop, mini = pair.laptop, pair.mini
    mini.ok("claim", "zoe")
    done = mini.ok("room", "join", "team@laptop", "--notify", "zoe")
    assert done == "zoe@mini joined team@laptop\n"
    (row,) = [
        json.loads(one)
        for one in mini.ok("room", "ls", "@laptop", "--json").splitlines()
    ]
    members = [one["member"] for one in row["members"]]
    assert members == ["ada@laptop", "eve@mini", "hall@mini", "zoe@mini"]
    assert "zoe@mini\t" in mini.ok("room", "ls", "team@laptop")
    ghost = mini.homi("room", "leave", "team@laptop", "ghost")
    told = "homi: laptop says: ghost@mini is no member of team\n"
    assert (ghost.returncode, ghost.stderr.partition("homi: hint")[0]) == (67, told)
    assert "hint: homi room ls @laptop" in ghost.stderr
    laptop.send("team", "for zoe")
    told = mini.stored("zoe", "homi inbox --all team on laptop")
    assert told["msg"]["from"] == "team"
    assert (
        mini.ok("room", "leave", "team@laptop", "zoe") == "zoe@mini left team@laptop\n"
    )
    assert "zoe" not in laptop.ok("room", "ls", "team")
    mini.ok("room", "join", "team@laptop", "zoe")
    mini.ok("release", "zoe")
    mini.ok("room", "leave", "team@laptop", "zoe")

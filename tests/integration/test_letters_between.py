"""Letters between sessions of two devices, each by its own tool, and what is known
of them at the other end."""

import json
from collections.abc import Iterator

import pytest

from tests.integration.linked import Pair
from tests.standin.place import until


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """laptop lists the names of mini; svc writes on both."""
    with Pair() as made:
        made.mini.ok("claim", "reviewer")
        made.laptop.ok("claim", "svc")
        made.link()
        made.both_up()
        made.laptop.ok("link", "add", "mini", "--mirror")
        made.both_up()
        made.laptop.listed("reviewer")
        yield made


def test_sessions_of_two_devices_write_and_answer_by_their_own_tools(
    pair: Pair,
) -> None:
    """A mirrored name one way, the reply desk the other; both arrive as turns."""
    with (
        pair.laptop.session("writer", "--auto") as writer,
        pair.mini.session("reviewer", "--auto", "--reply", "an answer") as reviewer,
    ):
        pair.laptop.ok("claim", "writer")
        assert writer.send("reviewer", "a question")["ok"]
        asked = reviewer.letter("a question")
        assert asked["name"] == "writer@laptop"
        answer = writer.letter("an answer")
        assert answer["name"] == "reviewer@mini"
        line = pair.laptop.stored("writer", "an answer")
        assert line["via"]["device"] == "mini"
        assert line["via"]["verified"]


def test_how_far_a_letter_got_there_is_known_here(pair: Pair) -> None:
    """send waits for it, trace shows the steps of both devices."""
    with pair.mini.session("reviewer", "--auto"):
        done = pair.laptop.homi(
            *("send", "--json", "--from", "svc", "--wait-for", "seen"),
            *("--timeout", "60", "reviewer@mini", "wait for me"),
        )
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert (report["rung"], report["to"]) == ("seen", "reviewer@mini")
    steps = pair.laptop.json("trace", report["id"])
    here = [one["rung"] for one in steps if "device" not in one]
    assert here[:2] == ["stored", "relayed"]
    assert here[-1] == "seen"
    there = [(one["device"], one["name"]) for one in steps if "device" in one]
    assert set(there) == {("mini", "reviewer")}
    assert [one["rung"] for one in steps if "device" in one][-1] == "seen"
    foreign = pair.mini.homi("trace", report["id"])
    assert "svc@laptop" in foreign.stdout


def test_what_happened_while_the_link_was_down_is_asked_at_the_next_meeting(
    pair: Pair,
) -> None:
    """And trace says how old it is what it knows until then."""
    message = pair.laptop.send("reviewer@mini", "read this while we are apart")
    pair.mini.stored("reviewer", "read this while we are apart")

    def rungs() -> list[str]:
        steps = pair.laptop.homi("trace", "--json", message)
        lines = map(json.loads, steps.stdout.splitlines())
        return [one["rung"] for one in lines if "device" not in one]

    until(lambda: "relayed" in rungs(), "it is relayed")
    pair.laptop.ok("link", "pause", "mini")
    pair.is_(pair.laptop, "mini", "paused")
    pair.mini.ok("ack", "--name", "reviewer", message)
    done = pair.laptop.homi("trace", message)
    assert "homi: mini (the link is paused): known as of 20" in done.stderr
    assert rungs()[-1] == "relayed"
    pair.laptop.ok("link", "resume", "mini")
    pair.both_up()
    until(lambda: rungs()[-1] == "seen", "what happened is learned")


def test_a_mailbox_that_is_elsewhere_is_refused_with_what_to_do(pair: Pair) -> None:
    """68 by every verb that reads or changes one; its queue is here."""
    for argv in (
        ("inbox", "reviewer@mini"),
        ("wait", "--timeout", "0", "reviewer@mini"),
        ("legs", "reviewer@mini"),
        ("set", "reviewer@mini"),
        ("read", "--name", "reviewer@mini", "7c10"),
    ):
        done = pair.laptop.homi(*argv)
        assert done.returncode == 68, (argv, done.stderr)
        assert "reviewer@mini is on another device" in done.stderr
        assert "homi queue @mini" in done.stderr
    assert pair.laptop.homi("queue", "@mini").returncode == 0
    pair.laptop.ok("alias", "add", "rv", "reviewer@mini")
    message = pair.laptop.send("rv", "by an alias")
    assert pair.mini.stored("reviewer", "by an alias")["msg"]["id"] == message
    mirrored = pair.laptop.send("reviewer", "by a mirror")
    assert pair.mini.stored("reviewer", "by a mirror")["msg"]["id"] == mirrored
    owner = pair.laptop.send("owner@mini", "to the person")
    assert pair.mini.stored("owner", "to the person")["msg"]["id"] == owner

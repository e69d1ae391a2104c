"""Two real daemons on two machines: what a network does, and homi about it."""

import json
import time

from homi.clock import rfc3339
from tests.integration import netns
from tests.standin.place import until

SENT = ("first", "second", "third")


def test_dropped_packets_are_found_and_mail_goes_when_the_network_is_back() -> None:
    """The far end's interface is down: nothing refuses, nothing answers.  Then ours:
    when that is back it is dialled at once, not at the time that was planned behind
    many failures."""
    with netns.Apart(0.5) as pair:
        pair.mini.ok("claim", "ada")
        pair.laptop.ok("claim", "bob")
        pair.wire.set(pair.wire.mini, "down")
        until(
            lambda: pair.row(pair.laptop, "mini")["state"] != "up",
            "the silence is found",
        )
        pair.is_(pair.mini, "laptop", "unreachable")
        for text in SENT:
            pair.laptop.send("ada@mini", text, sender="bob")
            pair.mini.send("bob@laptop", text, sender="ada")
        assert pair.row(pair.laptop, "mini")["pending"] == len(SENT)
        assert pair.row(pair.mini, "laptop")["pending"] == len(SENT)

        pair.wire.set(pair.wire.mini, "up")
        pair.both_up()
        for one, name in ((pair.mini, "ada"), (pair.laptop, "bob")):
            one.stored(name, SENT[-1])
            assert [line["msg"]["text"] for line in one.lines(name)] == list(SENT)

        pair.wire.set(pair.wire.laptop, "down")
        until(
            lambda: pair.row(pair.laptop, "mini")["state"] != "up",
            "the silence is found",
        )
        planned = until(lambda: _far_off(pair), "the next try is far off", 60)
        pair.wire.set(pair.wire.laptop, "up")
        pair.both_up()
        assert pair.row(pair.laptop, "mini")["since"] < planned


def test_a_slow_line_is_measured_and_carries_mail_in_order() -> None:
    """Many are under way at once."""
    with netns.Apart(5, delay=0.1) as pair:
        pair.mini.ok("claim", "ada")
        pair.laptop.ok("claim", "bob")
        measured = until(lambda: _measured(pair), "an answer came in time")
        assert measured >= 200
        lines = [f"number {n}" for n in range(300)]
        given = "".join(f"{line}\n" for line in lines)
        pair.laptop.ok("send", "--lines", "--from", "bob", "ada@mini", given=given)
        pair.mini.stored("ada", lines[-1])
        assert [line["msg"]["text"] for line in pair.mini.lines("ada")] == lines


def _measured(pair: netns.Apart) -> float:
    """The milliseconds of an answer over the line; 0 where none came in time."""
    row = json.loads(pair.laptop.ok("link", "ls", "--json"))
    return float(row.get("ms") or 0)


def _far_off(pair: netns.Apart) -> str:
    """The time of the next try, once it is later than this test takes; a person who
    asks for one meanwhile makes it fail again."""
    pair.laptop.ok("link", "resume", "mini")
    row = pair.row(pair.laptop, "mini")
    far = rfc3339(time.time() + 20)
    return str(row["next_try"]) if row["next_try"] > far else ""

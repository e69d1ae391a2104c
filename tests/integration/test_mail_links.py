"""Mail between two real daemons over a real sshd."""

import json
from collections.abc import Iterator

import pytest

from tests.integration.linked import Pair, key_of
from tests.standin import sshd
from tests.standin.place import Place, until


@pytest.fixture
def pair() -> Iterator[Pair]:
    """ada is a name on mini, bob one on the laptop; they are linked."""
    sshd.need()
    with Pair() as made:
        made.mini.ok("claim", "ada")
        made.laptop.ok("claim", "bob")
        made.link()
        yield made


def test_mail_goes_both_ways_over_one_connection(pair: Pair) -> None:
    """The one that is dialled writes first, too."""
    pair.both_up()
    one = pair.laptop.send("ada@mini", "hello ada", sender="bob")
    other = pair.mini.send("bob@laptop", "hello bob", sender="ada")
    there = pair.mini.stored("ada", "hello ada")
    here = pair.laptop.stored("bob", "hello bob")
    assert (there["msg"]["id"], here["msg"]["id"]) == (one, other)
    assert (there["via"]["device"], here["via"]["device"]) == ("laptop", "mini")
    assert len(pair.sshd.pids()) >= 1


def test_mail_waits_for_a_link_and_arrives_in_order_when_it_heals(pair: Pair) -> None:
    """It says what it waits for."""
    pair.both_up()
    pair.mini.stop()
    pair.is_(pair.laptop, "mini", "unreachable")
    sent = [pair.laptop.send("ada@mini", f"number {n}", sender="bob") for n in range(5)]
    assert pair.row(pair.laptop, "mini")["pending"] == 5
    rows = [json.loads(line) for line in pair.laptop.ok("queue", "--json").splitlines()]
    assert [row["id"] for row in rows] == sent
    assert {row["reason"] for row in rows} == {"link-down"}
    pair.mini.start()
    pair.laptop.ok("link", "resume", "mini")
    pair.mini.stored("ada", "number 4")
    assert [line["msg"]["id"] for line in pair.mini.lines("ada")] == sent
    _emptied(pair, pair.laptop, "mini")
    assert pair.laptop.ok("queue", "--json") == ""


def test_mail_for_a_device_that_is_gone_is_rerouted_and_answered(pair: Pair) -> None:
    """In order, and as if it had been written to the other device."""
    pair.laptop.ok("link", "add", "gone", "--key", key_of(pair.mini))
    sent = [pair.laptop.send("ada@gone", f"number {n}", sender="bob") for n in range(3)]
    pair.laptop.ok("link", "rm", "gone")
    pair.both_up()
    pair.laptop.ok("queue", "reroute", "--to", "mini", "--name", "@gone")
    pair.mini.stored("ada", "number 2")
    assert [line["msg"]["id"] for line in pair.mini.lines("ada")] == sent
    _emptied(pair, pair.laptop, "mini")
    pair.mini.ok("send", "--from", "ada", "--reply-to", sent[0], "bob@laptop", "yes")
    pair.laptop.stored("bob", "yes")
    ledger = pair.laptop.state / "out" / "mini" / "ledger.jsonl"

    def answered() -> bool:
        lines = pair.laptop.journal(ledger)
        return (sent[0], "answered") in {(one["id"], one["rung"]) for one in lines}

    until(answered, "the first is answered")


def test_cuts_and_deaths_lose_nothing_and_repeat_nothing(pair: Pair) -> None:
    """Each once over there, in the order of its lane, the queues empty at the end."""
    pair.both_up()
    for turn in range(4):
        lines = "".join(f"{turn} {n}\n" for n in range(50))
        pair.laptop.ok("send", "--lines", "--from", "bob", "ada@mini", given=lines)
        pair.mini.ok("send", "--lines", "--from", "ada", "bob@laptop", given=lines)
        if turn == 0:
            pair.sshd.cut()
        if turn == 1:
            pair.mini.kill()
            pair.mini.start()
        if turn == 2:
            pair.laptop.kill()
            pair.laptop.start()
    pair.laptop.ok("link", "resume", "mini")
    wanted = [f"{turn} {n}" for turn in range(4) for n in range(50)]
    for one, name in ((pair.mini, "ada"), (pair.laptop, "bob")):
        assert _texts(one, name, len(wanted)) == wanted
    for one, device in ((pair.laptop, "mini"), (pair.mini, "laptop")):
        _emptied(pair, one, device)


def _texts(one: Place, name: str, count: int) -> list[str]:
    """What came to name, once there is so much of it."""
    until(lambda: len(one.lines(name)) >= count, f"all came to {name}", 30)
    return [line["msg"]["text"] for line in one.lines(name)]


def _emptied(pair: Pair, one: Place, device: str) -> None:
    """Wait until nothing waits for device any more."""
    until(lambda: not pair.row(one, device)["pending"], "the queue is empty")

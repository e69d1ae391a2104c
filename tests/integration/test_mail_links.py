"""Mail between two real daemons over a real sshd."""

import json
import uuid
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.integration.linked import Pair, key_of, linked_pair
from tests.standin.place import Place, until


@pytest.fixture(scope="module")
def shared() -> Iterator[Pair]:
    """They are linked."""
    yield from linked_pair()


class Mail(NamedTuple):
    """A name on each device; nobody has written to it before."""

    pair: Pair
    ada: str  # on mini
    bob: str  # on the laptop


@pytest.fixture
def mail(shared: Pair) -> Mail:
    """Names of this test, and a link that is up and has nothing to carry."""
    mark = uuid.uuid4().hex[:8]
    made = Mail(shared, f"ada-{mark}", f"bob-{mark}")
    shared.both_up()
    _emptied(shared, shared.laptop, "mini")
    _emptied(shared, shared.mini, "laptop")
    shared.mini.ok("claim", made.ada)
    shared.laptop.ok("claim", made.bob)
    return made


def test_mail_goes_both_ways_over_one_connection(mail: Mail) -> None:
    """The one that is dialled writes first, too."""
    pair, ada, bob = mail
    one = pair.laptop.send(f"{ada}@mini", "hello ada", sender=bob)
    other = pair.mini.send(f"{bob}@laptop", "hello bob", sender=ada)
    there = pair.mini.stored(ada, "hello ada")
    here = pair.laptop.stored(bob, "hello bob")
    assert (there["msg"]["id"], here["msg"]["id"]) == (one, other)
    assert (there["via"]["device"], here["via"]["device"]) == ("laptop", "mini")
    assert len(pair.sshd.pids()) >= 1


def test_mail_waits_for_a_link_and_arrives_in_order_when_it_heals(mail: Mail) -> None:
    """It says what it waits for."""
    pair, ada, bob = mail
    pair.mini.stop()
    pair.is_(pair.laptop, "mini", "unreachable")
    sent = [
        pair.laptop.send(f"{ada}@mini", f"number {n}", sender=bob) for n in range(5)
    ]
    assert pair.row(pair.laptop, "mini")["pending"] == 5
    listed = pair.laptop.ok("queue", "@mini", "--json")
    rows = [json.loads(line) for line in listed.splitlines()]
    assert [row["id"] for row in rows] == sent
    assert {row["reason"] for row in rows} == {"link-down"}
    pair.mini.start()
    pair.laptop.ok("link", "resume", "mini")
    pair.mini.stored(ada, "number 4")
    assert [line["msg"]["id"] for line in pair.mini.lines(ada)] == sent
    _emptied(pair, pair.laptop, "mini")
    assert pair.laptop.ok("queue", "@mini", "--json") == ""


def test_mail_for_a_device_that_is_gone_is_rerouted_and_answered(mail: Mail) -> None:
    """In order, and as if it had been written to the other device."""
    pair, ada, bob = mail
    pair.laptop.ok("link", "add", "gone", "--key", key_of(pair.mini))
    sent = [
        pair.laptop.send(f"{ada}@gone", f"number {n}", sender=bob) for n in range(3)
    ]
    pair.laptop.ok("link", "rm", "gone")
    pair.laptop.ok("queue", "reroute", "--to", "mini", "--name", "@gone")
    pair.mini.stored(ada, "number 2")
    assert [line["msg"]["id"] for line in pair.mini.lines(ada)] == sent
    _emptied(pair, pair.laptop, "mini")
    pair.mini.ok("send", "--from", ada, "--reply-to", sent[0], f"{bob}@laptop", "yes")
    pair.laptop.stored(bob, "yes")
    ledger = pair.laptop.state / "out" / "mini" / "ledger.jsonl"

    def answered() -> bool:
        lines = pair.laptop.journal(ledger)
        return (sent[0], "answered") in {(one["id"], one["rung"]) for one in lines}

    until(answered, "the first is answered")


def test_cuts_and_deaths_lose_nothing_and_repeat_nothing(mail: Mail) -> None:
    """Each once over there, in the order of its lane, the queues empty at the end."""
    pair, ada, bob = mail
    for turn in range(4):
        lines = "".join(f"{turn} {n}\n" for n in range(50))
        pair.laptop.ok("send", "--lines", "--from", bob, f"{ada}@mini", given=lines)
        pair.mini.ok("send", "--lines", "--from", ada, f"{bob}@laptop", given=lines)
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
    for one, name in ((pair.mini, ada), (pair.laptop, bob)):
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

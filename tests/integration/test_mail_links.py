"""Mail between two real daemons over a real sshd."""

from collections.abc import Iterator

import pytest

from tests.integration.linked import Pair
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
    pair.mini.start()
    pair.laptop.ok("link", "resume", "mini")
    pair.mini.stored("ada", "number 4")
    assert [line["msg"]["id"] for line in pair.mini.lines("ada")] == sent
    _emptied(pair, pair.laptop, "mini")


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

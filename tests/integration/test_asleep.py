"""Daemons that stand still for longer than silence is borne: a laptop that slept."""

import signal
import threading
from collections.abc import Iterator

import pytest

from tests.integration.linked import Pair
from tests.standin import sshd
from tests.standin.place import Place, until

KEEPALIVE = 0.4  # s
ASLEEP = 3.0  # s: six times what ends a connection


@pytest.fixture
def pair() -> Iterator[Pair]:
    """ada is a name on mini, bob one on the laptop; the link is up."""
    sshd.need()
    with Pair(KEEPALIVE) as made:
        made.mini.ok("claim", "ada")
        made.laptop.ok("claim", "bob")
        made.link()
        made.both_up()
        yield made


def test_both_asleep_wake_up_to_one_link_and_each_message_once(pair: Pair) -> None:
    """What was under way as they fell asleep is neither lost, doubled nor returned."""
    lines = "".join(f"{n}\n" for n in range(100))
    pair.laptop.ok("send", "--lines", "--from", "bob", "ada@mini", given=lines)
    pair.mini.ok("send", "--lines", "--from", "ada", "bob@laptop", given=lines)
    for one in (pair.laptop, pair.mini):
        _signal(one, signal.SIGSTOP)
    threading.Event().wait(ASLEEP)  # the time itself is what is tried
    for one in (pair.mini, pair.laptop):
        _signal(one, signal.SIGCONT)
    pair.both_up()
    for one, name, back in ((pair.mini, "ada", "bob"), (pair.laptop, "bob", "ada")):
        one.stored(name, "99")
        until(lambda: not _waiting(pair), "the queues are empty")
        texts = [line["msg"]["text"] for line in one.lines(name)]
        assert texts == [str(n) for n in range(100)], back
    for one in (pair.laptop, pair.mini):
        assert not one.lines("owner")


def test_a_daemon_that_stands_still_is_noticed_and_its_mail_kept(pair: Pair) -> None:
    """Its sshd answers as ever; when it goes on, so does the mail, once."""
    _signal(pair.mini, signal.SIGSTOP)
    until(
        lambda: pair.row(pair.laptop, "mini")["state"] != "up", "the silence is noticed"
    )
    sent = [pair.laptop.send("ada@mini", f"{n}", sender="bob") for n in range(3)]
    assert pair.row(pair.laptop, "mini")["pending"] == len(sent)
    _signal(pair.mini, signal.SIGCONT)
    pair.laptop.ok("link", "resume", "mini")
    pair.both_up()
    pair.mini.stored("ada", "2")
    until(lambda: not _waiting(pair), "the queues are empty")
    assert [line["msg"]["id"] for line in pair.mini.lines("ada")] == sent


def _waiting(pair: Pair) -> int:
    """What is kept for the other device, on both."""
    rows = (pair.row(pair.laptop, "mini"), pair.row(pair.mini, "laptop"))
    return sum(int(row["pending"]) for row in rows)


def _signal(one: Place, number: int) -> None:
    """To its daemon."""
    assert one.daemon is not None
    one.daemon.send_signal(number)

"""The plain story with a real daemon: held, handed over, read, answered, held again."""

import signal
import uuid
from collections.abc import Iterator

import pytest

from tests.standin.place import PATIENCE, Place, until


@pytest.fixture(scope="module")
def machine() -> Iterator[Place]:
    """A daemon that no test ends."""
    with Place() as made:
        made.start()
        made.ok("claim", "svc")
        yield made


@pytest.fixture
def shared(machine: Place) -> Iterator[Place]:
    """It, without the sessions of other tests."""
    yield machine
    while machine.sessions:
        machine.sessions.pop().close()


@pytest.fixture
def name() -> str:
    """Nobody had it before."""
    return f"ada-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def other() -> str:
    """Another one."""
    return f"bob-{uuid.uuid4().hex[:8]}"


def test_mail_for_nobody_is_stored_and_given_to_the_session_that_comes(
    shared: Place, name: str
) -> None:
    """The first promise: any hour, whether or not somebody is home."""
    shared.ok("claim", name)
    message = shared.send(name, "hello at night")
    assert [line["msg"]["id"] for line in shared.lines(name)] == [message]
    ada = shared.session(name, "--auto")
    assert ada.letter("hello at night")["msg_id"] == message
    shared.reached(name, message, "seen")
    rungs = shared.rungs(name, message)
    assert rungs.index("offered") < rungs.index("seen")


def test_a_session_mails_a_held_name_by_its_own_tool(
    shared: Place, name: str, other: str
) -> None:
    """Its model is told success when, and only when, the line is durable."""
    shared.ok("claim", name)
    shared.listed(name)
    bob = shared.session(other)
    bob.do("list")
    assert name in bob.wait("listed")["peers"]
    assert bob.send(name, "native hello")["ok"]
    line = shared.stored(name, "native hello")
    assert line["msg"]["from"] == other
    assert line["via"]["door"] == "peer"
    assert line["via"]["verified"] is True
    assert line["via"]["session"] == bob.session_id


def test_a_reply_by_the_sessions_own_tool_reaches_the_living_sender(
    shared: Place, name: str, other: str
) -> None:
    """The tag's address is homi's, so the answer is stored, then handed over."""
    shared.ok("claim", name)
    shared.listed(name)
    bob = shared.session(other, "--auto")
    bob.send(name, "a question")
    ada = shared.session(name)
    ada.letter("a question")
    ada.do("reply", text="an answer")
    assert ada.wait("sent")["ok"]
    letter = bob.letter("an answer")
    assert letter["name"] == name


def test_a_reply_to_a_sender_that_left_waits_in_its_mailbox(
    shared: Place, name: str, other: str
) -> None:
    """Nothing depends on both being there at once."""
    for one in (name, other):
        shared.ok("claim", one)
        shared.listed(one)
    bob = shared.session(other, "--auto")
    until(lambda: not shared.planted(other), "homi steps aside for bob")
    assert bob.send(name, "a question")["ok"]
    bob.exit()
    shared.listed(other)
    ada = shared.session(name)
    ada.letter("a question")
    ada.do("reply", text="an answer")
    assert ada.wait("sent")["ok"]
    assert shared.stored(other, "an answer")["msg"]["from"] == name


def test_homi_steps_aside_for_the_owner_and_takes_the_name_back(
    shared: Place, name: str
) -> None:
    """Two records of one name would make every send by name fail."""
    shared.ok("claim", name)
    shared.listed(name)
    ada = shared.session(name)
    until(lambda: not shared.planted(name), "the record is withdrawn")
    ada.kill()
    record = shared.listed(name)
    assert record["pid"] != ada.pid


def test_mail_is_held_again_when_the_session_is_killed(
    shared: Place, name: str
) -> None:
    """A SIGKILL leaves its record behind; the name must not stay with the dead."""
    shared.ok("claim", name)
    shared.listed(name)
    ada = shared.session(name, "--auto")
    until(lambda: not shared.planted(name), "homi steps aside")
    ada.kill()
    shared.listed(name)
    message = shared.send(name, "after the kill")
    heir = shared.session(name, "--auto")
    assert heir.letter("after the kill")["msg_id"] == message
    shared.reached(name, message, "seen")


def test_unread_mail_of_a_killed_session_goes_to_its_successor_marked(
    shared: Place, name: str
) -> None:
    """Offered is not read: what waited in the dead session's queue is offered again."""
    shared.ok("claim", name)
    ada = shared.session(name)
    ada.do("tool")
    message = shared.send(name, "queued in a busy session")
    ada.wait("queued")
    shared.reached(name, message, "offered")
    ada.kill()
    heir = shared.session(name, "--auto")
    again = heir.letter("queued in a busy session")
    assert again["msg_id"] == message
    shared.reached(name, message, "seen")
    offers = [
        line
        for line in shared.lines(name, "ledger")
        if line["id"] == message and line["rung"] == "offered"
    ]
    assert [line.get("repeat", False) for line in offers] == [False, True]
    assert "repeat" in again["text"].partition("\n")[0].lower()


def test_read_mail_of_a_killed_session_is_not_offered_again(
    shared: Place, name: str
) -> None:
    """Seen is final; the control to the test above."""
    shared.ok("claim", name)
    ada = shared.session(name, "--auto")
    first = shared.send(name, "read before the kill")
    shared.reached(name, first, "seen")
    ada.kill()
    second = shared.send(name, "only this one")
    heir = shared.session(name, "--auto")
    shared.reached(name, second, "seen")
    assert [letter["msg_id"] for letter in heir.letters()] == [second]


def test_a_killed_daemon_loses_nothing_and_repeats_nothing_to_a_living_session(
    place: Place,
) -> None:
    """The ledger says what the session was given; while it lives it is not repeated."""
    place.ok("claim", "ada")
    ada = place.session("ada")
    ada.do("tool")
    first = place.send("ada", "in flight")
    ada.wait("queued")
    place.reached("ada", first, "offered")
    place.kill()
    place.start()
    second = place.send("ada", "after the restart")
    ada.wait("queued")
    ada.do("tool_done")
    ada.do("answer")
    for message in (first, second):
        place.reached("ada", message, "seen")
    assert [letter["msg_id"] for letter in ada.letters()] == [first, second]


def test_held_mail_outlives_five_kills_of_the_daemon(place: Place) -> None:
    """The same ids in the same order, each time."""
    place.ok("claim", "ada")
    sent = [place.send("ada", f"mail {count}") for count in range(3)]
    for _ in range(5):
        place.kill()
        place.start()
        assert [line["msg"]["id"] for line in place.lines("ada")] == sent
        place.listed("ada")
    ada = place.session("ada", "--auto")
    for message in sent:
        place.reached("ada", message, "seen")
    assert [letter["msg_id"] for letter in ada.letters()] == sent


def test_mail_sent_while_the_daemon_is_down_is_taken_in_at_its_start(
    place: Place,
) -> None:
    """send works without a daemon, and says spooled, not stored."""
    place.ok("claim", "ada")
    place.kill()
    done = place.homi("send", "--from", "svc", "ada", "while it is down")
    assert done.returncode == 0, done
    assert "spooled" in done.stdout
    assert not place.lines("ada")
    place.start()
    assert place.stored("ada", "while it is down")["via"]["door"] == "pickup"


def test_a_session_and_the_daemon_killed_together_still_end_in_one_reading(
    place: Place,
) -> None:
    """After both deaths the ledger alone tells what is open."""
    place.ok("claim", "ada")
    ada = place.session("ada")
    ada.do("tool")
    message = place.send("ada", "the only copy")
    ada.wait("queued")
    place.reached("ada", message, "offered")
    place.kill()
    ada.kill()
    place.start()
    heir = place.session("ada", "--auto")
    assert heir.letter("the only copy")["msg_id"] == message
    place.reached("ada", message, "seen")


def test_a_stop_ends_in_order_and_leaves_no_record(place: Place) -> None:
    """A name nobody serves must not stay listed."""
    place.ok("claim", "ada")
    place.listed("ada")
    assert place.daemon is not None
    place.daemon.send_signal(signal.SIGTERM)
    assert place.daemon.wait(PATIENCE) == 0
    assert not list(place.registry.glob("*"))
    assert not list((place.run / "cc-socks").glob("*"))

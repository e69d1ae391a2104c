"""SIGKILL of the daemon in the middle of handing mail to a session.

What was promised is read by somebody in the end; what may have been read before
carries the mark of a repeat; what was surely read is not offered again.
"""

import random
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.crash.traffic import seed
from tests.standin.driver import Standin
from tests.standin.place import PATIENCE, Place, until

ROUNDS = 6  # of make test
SOAK_ROUNDS = 150
PROOF = 90.0  # s: a letter the session never got is concluded from its silence


@pytest.fixture
def place() -> Iterator[Place]:
    """A private machine with its daemon up and two names claimed."""
    with Place() as made:
        made.start()
        for name in ("ada", "svc"):
            made.ok("claim", name)
        yield made


def given(sessions: list[Standin]) -> dict[str, list[str]]:
    """Each message's hand-overs to models, as the first lines they began with."""
    found: dict[str, list[str]] = {}
    for session in sessions:
        for letter in session.letters():
            head = letter["text"].partition("\n")[0]
            found.setdefault(letter["msg_id"], []).append(head)
    return found


def check(place: Place, sent: list[str]) -> None:
    """Every promised message was read; each hand-over after the first is marked."""
    until(lambda: given(place.sessions).keys() >= {*sent}, "all promised mail was read")
    heads = given(place.sessions)
    for message in sent:
        for head in heads[message][1:]:
            assert "repeat" in head.lower(), f"{message} came again unmarked: {head}"


@pytest.mark.parametrize("line", range(1, 5))
def test_a_kill_at_each_line_of_evidence_ends_in_one_reading_or_a_marked_one(
    place: Place, line: int
) -> None:
    """Intent, offered, taken, seen: whichever is the last the ledger has."""
    ada = place.session("ada", "--auto")
    control = place.send("ada", "the channel works")
    place.reached("ada", control, "seen")
    assert place.stop() == 0
    daemon = place.start(HOMI_FAULT=f"evidence:{line}")
    sent = [control, place.send("ada", "handed over")]
    assert daemon.wait(PATIENCE) == -signal.SIGKILL
    place.start()
    # Another letter moves the session on: silence about the first then says something.
    sent.append(place.send("ada", "and another"))
    for message in sent:
        place.reached("ada", message, "seen", PROOF)
    check(place, sent)
    assert ada.process.poll() is None


def rounds(place: Place, count: int, dice: random.Random) -> None:
    """Mail, and a kill of the daemon, of the session or of both somewhere in it."""
    wait = threading.Event()
    session = place.session("ada", "--auto")
    sent: list[str] = []
    for number in range(count):
        sender = f"s{number}"  # a fresh one: pacing is not what this is about
        place.ok("claim", sender)
        new = [place.send("ada", f"{sender} {n}", sender=sender) for n in range(3)]
        sent += new
        wait.wait(dice.random() * 0.15)
        victims = dice.choice(["daemon", "daemon", "session", "both"])
        if victims != "session":
            place.kill()
        if victims != "daemon":
            session.kill()
        if victims != "session":
            place.start()
        if victims != "daemon":
            session = place.session("ada", "--auto")
        last = place.send("ada", f"{sender} last", sender=sender)
        sent.append(last)
        for message in [*new, last]:
            place.reached("ada", message, "seen", PROOF)
    check(place, sent)


def test_kills_at_random_leave_nothing_unread(place: Place) -> None:
    """Between the named lines as well."""
    rounds(place, ROUNDS, seed())


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_kills_at_random_leave_nothing_unread(place: Place) -> None:
    """The same, long enough for what is rare."""
    rounds(place, SOAK_ROUNDS, seed())


def test_a_restart_does_not_repeat_what_a_living_session_was_given(
    place: Place,
) -> None:
    """The control: without a death of the session nothing comes twice."""
    ada = place.session("ada")
    ada.do("tool")
    message = place.send("ada", "only once")
    ada.wait("queued")
    place.reached("ada", message, "offered")
    for _ in range(3):
        place.kill()
        place.start()
    ada.do("tool_done")
    ada.do("answer")
    place.reached("ada", message, "seen")
    until(lambda: not place.lines("owner"), "no notice")
    assert len(given(place.sessions)[message]) == 1

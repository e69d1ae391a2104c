"""Questions and their answers with a real daemon: by the commands, by the sessions' own
tools, over a crash, and by the wrong party."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.standin.driver import Standin
from tests.standin.place import Place, homi_command, until


@pytest.fixture
def place() -> Iterator[Place]:
    """A daemon with the names svc, ada and bob."""
    with Place() as made:
        made.start()
        for name in ("svc", "ada", "bob"):
            made.ok("claim", name)
        yield made


class Asking:
    """A `homi ask` that waits."""

    def __init__(self, place: Place, to: str, text: str, *options: str) -> None:
        command = [*homi_command(), "ask", "--from", "svc", *options, to, text]
        pipe = subprocess.PIPE
        self._run = subprocess.Popen(
            command,
            env=place.env(),
            cwd=place.work,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        self.text = text
        self.place = place

    def asked(self, name: str) -> str:
        """Wait until the question is in the mailbox of name; its id."""
        return str(self.place.stored(name, self.text)["msg"]["id"])

    def end(self) -> tuple[int, str, str]:
        """Status, stdout and stderr."""
        out, err = self._run.communicate(timeout=120)
        return self._run.returncode, out, err


def tool(session: Standin, *argv: str) -> dict[str, Any]:
    """A homi command by a tool of the session."""
    return session.tool(*homi_command(), *argv)


def test_the_answer_of_who_was_asked_is_printed_alone(place: Place) -> None:
    """And it is recorded as read: it comes in no turn."""
    asking = Asking(place, "ada", "is it green?")
    ask = asking.asked("ada")
    place.ok("reply", "--from", "ada", ask, "yes, it is")
    assert asking.end() == (0, "yes, it is\n", "")
    line = place.stored("svc", "yes, it is")
    assert line["msg"]["kind"] == "reply"
    assert line["msg"]["reply_to"] == ask
    place.reached("svc", line["msg"]["id"], "seen")
    place.reached("ada", ask, "answered")


def test_nobody_else_answers(place: Place) -> None:
    """Neither by reply, which is refused, nor by mail that says so, which is kept."""
    asking = Asking(place, "ada", "who has the lock?")
    ask = asking.asked("ada")
    wrong = place.homi("reply", "--from", "bob", ask, "me!")
    assert wrong.returncode == 77, wrong.stderr
    assert f"{ask} was sent to ada, not to bob" in wrong.stderr
    false = place.send("svc", "me, really", "--reply-to", ask, sender="bob")
    place.stored("svc", "me, really")
    place.ok("reply", "--from", "ada", ask[-12:], "ada has")
    assert asking.end() == (0, "ada has\n", "")
    assert place.rungs("svc", false) == []
    place.reached("ada", ask, "answered")


def test_a_question_survives_the_daemon(place: Place) -> None:
    """kill -9 while it waits: the same question is asked again and stored once; an
    answer that came while nobody asked is found."""
    asking = Asking(place, "ada", "still there?")
    ask = asking.asked("ada")
    place.kill()
    spooled = place.homi("reply", "--from", "ada", ask, "after the crash")
    assert spooled.returncode == 0, spooled.stderr
    assert spooled.stdout.startswith("spooled")
    place.start()
    assert asking.end() == (0, "after the crash\n", "")
    assert len([one for one in place.lines("ada") if one["msg"]["id"] == ask]) == 1


def test_a_late_answer_is_kept_for_who_asked(place: Place) -> None:
    """124 says that it is not there yet; then it is mail like any other."""
    asking = Asking(place, "ada", "in a hurry?", "--timeout", "0.2")
    status, out, err = asking.end()
    assert (status, out) == (124, "")
    assert "no answer in time" in err
    ask = asking.asked("ada")
    with place.session("svc", "--auto") as session:
        place.ok("reply", "--from", "ada", ask, "now I know")
        letter = session.letter("now I know")
        assert f"reply to {ask}" in letter["text"]
    place.reached("ada", ask, "answered")


def test_a_session_that_waits_is_not_given_the_answer_as_a_turn_too(
    place: Place,
) -> None:
    """Other mail of who answers comes meanwhile; the control is the late answer."""
    with place.session("svc", "--auto") as session:
        asking = Asking(place, "ada", "which one?")
        ask = asking.asked("ada")
        place.ok("reply", "--from", "ada", ask, "the answer it waits for")
        place.send("svc", "something else", sender="ada")
        assert asking.end()[:2] == (0, "the answer it waits for\n")
        session.letter("something else")
        texts = [one["text"] for one in session.letters()]
        assert not any("the answer it waits for" in text for text in texts)


def test_who_goes_away_gets_the_answer_as_mail(place: Place) -> None:
    """An answer that nobody printed is not lost with who waited for it."""
    asking = Asking(place, "ada", "are you sure?")
    ask = asking.asked("ada")
    asking._run.kill()
    asking.end()
    with place.session("svc", "--auto") as session:
        place.ok("reply", "--from", "ada", ask, "quite sure")
        session.letter("quite sure")


def test_a_native_reply_to_a_question_answers_that_one(place: Place) -> None:
    """Two questions of one sender at once, answered by the client's own tool in the
    other order: each by the address its turn names."""
    with place.session("ada", "--auto") as ada:
        first, second = (
            Asking(place, "ada", "the first question"),
            Asking(place, "ada", "the second question"),
        )
        one, two = ada.letter("the first question"), ada.letter("the second question")
        assert one["from"] != two["from"]
        assert (
            "answer once: SendMessage to the from= address, or homi reply"
            in (one["text"])
        )
        assert ada.send(two["from"], "to the second")["ok"]
        assert ada.send(one["from"], "to the first")["ok"]
        assert second.end() == (0, "to the second\n", "")
        assert first.end() == (0, "to the first\n", "")


def test_several_are_asked_at_once_and_named(place: Place) -> None:
    """The answers come as they come; what is enough ends it."""
    asking = Asking(place, "ada,bob", "who is up?", "--gather", "1", "--json")
    place.ok("reply", "--from", "bob", asking.asked("bob"), "I am\nbob")
    status, out, _ = asking.end()
    said = json.loads(out)
    assert (status, said["to"], said["text"]) == (0, "bob", "I am\nbob")
    assert (said["from"], said["default"]) == ("bob", False)
    both = Asking(place, "ada,bob", "and now?")
    place.ok("reply", "--from", "bob", both.asked("bob"), "me\nada:")
    until(lambda: len(place.lines("svc")) == 2, "the first answer is there")
    place.ok("reply", "--from", "ada", both.asked("ada"), "me too")
    assert both.end() == (0, "bob:\n  me\n  ada:\n\nada:\n  me too\n\n", "")


def test_of_several_what_cannot_be_asked_is_told_and_the_rest_goes_on(
    place: Place,
) -> None:
    """67 for the one; the answer of the other is printed."""
    asking = Asking(place, "ada,nobody", "hello?")
    place.ok("reply", "--from", "ada", asking.asked("ada"), "hello")
    status, out, err = asking.end()
    assert (status, out) == (67, "ada:\n  hello\n\n")
    assert "homi: nobody: no name nobody on this device" in err
    assert "in time" not in err
    late = Asking(place, "ada,nobody", "anybody?", "--timeout", "0.1")
    status, out, err = late.end()
    assert (status, out) == (67, "")
    assert "0 of 2 answers in time; open: ada" in err

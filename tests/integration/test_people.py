"""What is for a person: parked, shown to no agent, answered by a person alone; and mail
whose address is gone."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import at_terminal
from tests.integration.test_ask import Asking, tool
from tests.standin.driver import Standin
from tests.standin.place import Place, until

TOLD = """#!{python}
import sys
with open("{log}", "a") as log:
    log.write(repr(sys.argv[1:]) + "\\n")
"""


@pytest.fixture
def place() -> Iterator[Place]:
    """A daemon with svc and ada, and a notifier that notes what it is told."""
    config = 'device = "here"\nring = 8\nreserve = 1\nnotify = ["tell", "--"]\n'
    with Place(config) as made:
        made.bin.mkdir()
        script = made.bin / "tell"
        script.write_text(TOLD.format(python=sys.executable, log=made.root / "told"))
        script.chmod(0o755)
        made.start()
        for name in ("svc", "ada"):
            made.ok("claim", name)
        yield made


def person(place: Place, *argv: str) -> tuple[int, str, str]:
    """A command of a person at a terminal."""
    done = at_terminal(place.env(), place.work, list(argv), screen=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def tool_python(session: Standin, program: str) -> dict[str, Any]:
    """A program by a tool of the session."""
    return session.tool(sys.executable, "-c", program)


def told(place: Place) -> list[str]:
    """What the notifier was told."""
    log = place.root / "told"
    return log.read_text().splitlines() if log.exists() else []


def test_what_needs_a_person_is_given_to_no_agent_and_answered_by_a_person(
    place: Place,
) -> None:
    """The control: other mail of the same sender is a turn at once."""
    with place.session("ada", "--auto") as ada:
        asking = Asking(place, "ada", "may I deploy?", "--needs", "human")
        ask = asking.asked("owner")
        place.reached("owner", ask, "parked")
        place.send("ada", "plain mail")
        ada.letter("plain mail")
        assert not [one for one in ada.letters() if "may I deploy" in one["text"]]
        assert not place.lines("ada") or all(
            one["msg"]["id"] != ask for one in place.lines("ada")
        )
        hidden = tool(ada, "inbox", "--all", "--brief", "owner")
        assert ask[-8:] not in hidden["out"]
        look = (
            "from homi import Mailbox; print([*map(str, Mailbox('owner').pending())])"
        )
        assert tool_python(ada, look)["out"] == "[]\n"
        for argv in (
            ("read", ask),
            ("reply", ask, "yes"),
            ("answer", ask, "yes"),
            ("ack", "--name", "owner", ask),
        ):
            ran = tool(ada, *argv)
            assert ran["rc"] == 77, (argv, ran)
            assert "may I deploy" not in ran["out"] + ran["err"]
        forged = tool(ada, "send", "svc", "--reply-to", ask, "yes, deploy")
        assert forged["rc"] == 0
    assert place.homi("answer", ask, "yes").returncode == 77
    status, out, _ = person(place, "inbox", "--brief")
    assert status == 0
    assert "may I deploy?" in out
    assert person(place, "answer", ask[-12:], "not today")[0] == 0
    assert asking.end() == (0, "not today\n", "")
    line = place.stored("svc", "not today")
    assert (line["msg"]["from"], line["via"]["verified"]) == ("owner", True)


def test_who_asked_is_told_that_a_person_answered(place: Place) -> None:
    """The turn of a late answer names the person."""
    with place.session("svc", "--auto") as session:
        ran = tool(session, "send", "--needs", "human", "--json", "owner", "a decision")
        ask = json.loads(ran["out"])["id"]
        assert json.loads(ran["out"])["rung"] == "parked"
        assert person(place, "answer", ask, "go ahead")[0] == 0
        letter = session.letter("go ahead")
        assert "from owner (a person) for svc, reply to" in letter["text"]


def test_a_question_that_expires_answers_itself(place: Place) -> None:
    """Once, over a crash; without a default it ends unanswered."""
    deadline = ("--needs", "human", "--deadline", "1")
    asking = Asking(place, "owner", "now?", *deadline, "--default", "no")
    assert asking.end() == (
        0,
        "no\n",
        "homi: nobody answered in time: this is the default\n",
    )
    ask = asking.asked("owner")
    place.reached("owner", ask, "expired")
    assert person(place, "answer", ask, "too late")[0] == 0
    status, out, err = Asking(place, "owner", "and now?", *deadline).end()
    assert (status, out) == (75, "")
    assert "is expired, it will not be answered" in err


def test_an_answer_of_a_person_in_time_is_no_default(place: Place) -> None:
    """The control of the test before."""
    asking = Asking(place, "owner", "ok?", "--deadline", "60", "--default", "no")
    ask = asking.asked("owner")
    assert person(place, "answer", ask, "yes")[0] == 0
    assert asking.end() == (0, "yes\n", "")


def test_a_person_is_notified_without_the_text_and_not_too_often(place: Place) -> None:
    """Title and body are arguments of their own; mail of others tells nothing."""
    place.send("owner", 'x"; touch /tmp/never; "')
    place.send("ada", "not for a person")
    until(lambda: told(place), "the notifier ran")
    first = told(place)[0]
    assert first.startswith("['--', 'mail from svc', 'homi read ")
    assert "touch" not in first
    # At once: each ten seconds one more may be told of.
    lines = "".join(f"message {number}\n" for number in range(40))
    place.ok("send", "--lines", "--from", "svc", "owner", given=lines)
    until(lambda: len(told(place)) >= 5, "five were told")
    assert len(told(place)) < 10


def test_a_reply_to_a_released_name_goes_to_who_began_it_or_the_postmaster(
    place: Place,
) -> None:
    """And its writer is told; plain mail to the name is refused as before."""
    place.ok("claim", "bob")
    begin = place.send("ada", "it begins", sender="bob")
    ask = place.send("ada", "between", "--reply-to", begin, sender="svc")
    place.ok("release", "svc")
    place.ok("reply", "--from", "ada", ask, "to nobody")
    assert place.stored("bob", "to nobody")["msg"]["to"] == "svc"
    notice = place.notice("ada", place.stored("bob", "to nobody")["msg"]["id"])
    assert "is no address any more: it went to bob" in notice["msg"]["text"]
    assert place.homi("send", "--from", "ada", "svc", "plain").returncode == 67


def test_a_spooled_message_for_a_name_released_since_is_kept(place: Place) -> None:
    """It goes to the postmaster; one for a name that never was comes back."""
    place.kill()
    place.ok("send", "--from", "svc", "ada", "spooled for ada")
    names = Path(place.state / "names.json")
    state = json.loads(names.read_text())
    gone = state["claims"].pop("ada")
    state.setdefault("released", {})["ada"] = {
        "number": gone["number"],
        "generation": 1,
    }
    names.write_text(json.dumps(state))
    place.start()
    line = place.stored("postmaster", "spooled for ada")
    assert (
        "it went to postmaster" in place.notice("svc", line["msg"]["id"])["msg"]["text"]
    )

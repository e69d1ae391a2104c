"""What answers a question, as the files tell it to who asks again."""

import json
from pathlib import Path

import pytest

from homi.address import Name
from homi.envelope import MessageId
from homi.errors import NoInput
from homi.mail.asked import answer_to, whom
from homi.mail.mail import Mail
from tests.unit.mail.kit import Root, letter, message

SVC = Name("svc")


def asked(root: Root, **question: object) -> None:
    """A question of svc to ada@mini went there."""
    folder = root.path / "out" / "mini"
    folder.mkdir(parents=True, mode=0o700)
    sent = letter(1, "svc", "may I?", to="ada@mini", kind="ask", **question)
    (folder / "queue.jsonl").write_text(json.dumps({"v": 1, "seq": 1, **sent}) + "\n")


def reply(number: int, sender: str, *, verified: bool = True) -> dict[str, object]:
    """Somebody on mini answers it."""
    line = letter(number, sender, sender, to="svc", kind="reply", reply_to=message(1))
    via = {"door": "link", "device": "mini", "key": "k"}
    return line | {"via": via | ({"verified": True} if verified else {})}


def answer(root: Root) -> str:
    """What is found; the texts are their senders."""
    with Mail(root.path, print) as mail:
        return answer_to(mail, MessageId(message(1)), SVC).text


@pytest.fixture
def root(tmp_path: Path) -> Root:
    made = Root(tmp_path / "root")
    made.claim("svc")
    return made


def test_what_needs_a_person_is_answered_by_the_person_of_that_device(
    root: Root,
) -> None:
    """Not by the name it was sent to, and by no program that writes as the person."""
    asked(root, needs="human")
    root.inbox("svc", reply(2, "ada"), reply(3, "owner", verified=False))
    with pytest.raises(NoInput):
        answer(root)
    root.inbox("svc", reply(4, "owner"))
    assert answer(root) == "owner"


def test_any_other_question_is_answered_by_that_very_name(root: Root) -> None:
    asked(root)
    root.inbox("svc", reply(2, "bob"), reply(3, "owner"))
    with pytest.raises(NoInput):
        answer(root)
    root.inbox("svc", reply(4, "ada", verified=False))
    assert answer(root) == "ada"


@pytest.mark.parametrize(
    ("needs", "who"), [({}, "ada@mini"), ({"needs": "human"}, "owner@mini")]
)
def test_whose_answer_mail_to_a_device_waits_for(
    root: Root, needs: dict[str, str], who: str
) -> None:
    """The name it was sent to, or the person there; of what it never had, nobody."""
    asked(root, **needs)
    with Mail(root.path, print) as mail:
        assert whom(mail, MessageId(message(1)), Name("@mini")).to == who
        with pytest.raises(NoInput):
            whom(mail, MessageId(message(2)), Name("@mini"))

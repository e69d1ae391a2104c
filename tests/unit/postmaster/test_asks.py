"""Who waits for which answer, and what is one."""

import pytest

from homi import ids
from homi.asks import Asks, answers
from homi.envelope import Kind, MessageId, Msg, Via
from homi.gate import answerer
from homi.reports import Answered
from homi.store.base import Mail
from homi.store.mailbox import Item

ASK = MessageId(ids.new())


def answer(from_: str, **more: bool) -> Answered:
    return Answered(ASK, ids.new(), "svc", from_, "yes", **more)


@pytest.mark.parametrize(
    ("to", "from_", "default", "is_one"),
    [
        ("ada", "ada", False, True),
        ("ada@mini", "ada@mini", False, True),
        ("ada@mini", "eve@mini", False, False),
        ("ada@mini", "ada@pi", False, False),
        ("ada@mini", "ada", False, False),
        ("ada@mini", "postmaster@mini", True, True),
        ("ada@mini", "postmaster", True, True),
        ("ada@mini", "postmaster@pi", True, False),
        ("ada", "postmaster", True, True),
        ("ada", "postmaster@pi", True, False),
    ],
)
def test_an_answer_comes_from_who_was_asked(
    to: str, from_: str, default: bool, is_one: bool
) -> None:
    """What expires is answered by the postmaster of where it was."""
    assert answers(to, answer(from_, default=default)) is is_one


@pytest.mark.parametrize(("verified", "is_one"), [(True, True), (False, False)])
def test_no_program_answers_for_the_person_of_another_device(
    verified: bool, is_one: bool
) -> None:
    """Nor does the agent whose name the question bore; of a name it may be a script."""
    to = answerer("ada@mini", "human")
    assert answers(to, answer("owner@mini", verified=verified)) is is_one
    assert not answers(to, answer("ada@mini", verified=True))
    assert answers(answerer("ada@mini", None), answer("ada@mini", verified=verified))


def test_who_answers_here_is_whose_mailbox_has_the_question() -> None:
    """The postmaster has led it to the person already."""
    assert answerer("owner", "human") == "owner"


def test_the_first_answer_counts_and_only_while_somebody_holds_the_question() -> None:
    asks = Asks()
    asks.found(ASK, answer("ada"))
    assert asks.find(ASK) is None
    asks.hold(ASK)
    asks.asked(ASK, "ada")
    first = answer("ada")
    asks.found(ASK, first)
    asks.found(ASK, answer("ada"))
    assert asks.find(ASK) is first
    asks.hold(ASK)  # a second connection asks the same
    assert not asks.let_go(ASK)
    assert asks.find(ASK) is first
    assert asks.let_go(ASK)
    assert asks.find(ASK) is None


def test_what_answers_a_held_question_goes_to_no_session() -> None:
    """Until it is let go; what answers another one goes on."""
    asks = Asks()
    msg = Msg(id=MessageId(ids.new()), from_="ada", to="svc", text="x", reply_to=ASK)
    item = Item(1, 0, 1, msg, Via(door="control"), "2026-01-01T00:00:00.000Z")
    assert not asks.awaited(item)
    asks.hold(ASK)
    assert asks.awaited(item)
    item.reply_to = MessageId(ids.new())
    assert not asks.awaited(item)


@pytest.mark.parametrize(("device", "from_"), [(None, "ada"), ("mini", "ada@mini")])
def test_a_stored_reply_is_told_with_the_device_it_came_from(
    device: str | None, from_: str
) -> None:
    """And one that answers nothing held is passed over."""
    asks = Asks()
    head = Msg(
        id=MessageId(ids.new()),
        from_="ada",
        to="svc",
        text="yes",
        kind=Kind.REPLY,
        reply_to=ASK,
    )
    via = Via(door="link" if device else "control", device=device, verified=True)
    tail = b'"at":"2026-01-01T00:00:00.000Z","msg":{}}\n'
    mail = Mail("svc", "uid:0", head, via, b"{}", tail, lambda _mail: None)  # type: ignore[arg-type]
    asks.replied(mail)
    assert asks.find(ASK) is None
    asks.hold(ASK)
    asks.asked(ASK, from_)
    asks.replied(mail)
    found = asks.find(ASK)
    assert found is not None
    assert (found.from_, found.text, found.verified) == (from_, "yes", True)
    assert found.at == "2026-01-01T00:00:00.000Z"

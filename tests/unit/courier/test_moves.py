"""What outcomes and evidence make of a letter."""

from typing import Any

import pytest

from homi.courier.moves import RETRY_MAX, Moment, of_evidence, of_outcome
from homi.envelope import MessageId, Reason, Rung, SessionRef
from homi.legs.base import (
    Blocked,
    Deferred,
    Evidence,
    GivenBack,
    Held,
    Ignored,
    ModelFailed,
    NoProof,
    Offered,
    Receipt,
    Refused,
    Seen,
    Taken,
)
from homi.store.mailbox import Item
from tests.unit.courier.test_rules import HERE, item

ID = MessageId("i")
NOW = Moment(1000.0, 50.0)
THERE = HERE.ref
OTHER = SessionRef(99, "1", "x")


def receipt(status: str, reason: str = "") -> Receipt:
    return Receipt(ID, status, reason)


def after(handed: Item, evidence: Evidence, **fields: object) -> tuple[Any, ...] | None:
    moment = Moment(1000.0, 50.0, **fields)
    move = of_evidence(handed, THERE, evidence, moment)
    return None if move is None else (move.rung, move.reason, move.until)


def test_each_outcome_has_its_line() -> None:
    """Temporary and permanent are told apart here and nowhere else."""
    offered = of_outcome(Offered(), THERE, "slot", NOW)
    assert (offered.rung, offered.session, offered.leg) == (
        Rung.OFFERED,
        THERE,
        "slot",
    )
    held = of_outcome(Held(Reason.DRAFT, 60.0), THERE, "slot", NOW)
    assert (held.rung, held.reason, held.until) == (Rung.HELD, Reason.DRAFT, 1010.0)
    event = of_outcome(Held(Reason.DRAFT), THERE, "slot", NOW)
    assert event.until is None
    refused = of_outcome(Refused(Reason.TOO_LARGE), THERE, "slot", NOW)
    assert (refused.rung, refused.reason) == (Rung.REFUSED, Reason.TOO_LARGE)
    assert refused.tell
    assert not offered.tell


def test_a_failing_try_is_repeated_ever_more_seldom() -> None:
    """Five minutes at the most: the ledger takes two lines for each."""
    waits = [
        of_outcome(
            Deferred(Reason.UNREACHABLE, 1.0), THERE, "slot", Moment(0.0, 0.0, tries)
        ).until
        for tries in (0, 1, 2, 20)
    ]
    assert waits == [1.0, 2.0, 4.0, RETRY_MAX]


@pytest.mark.parametrize("status", ["denied", "expired", "refused"])
def test_a_terminal_receipt_refuses_and_tells_the_sender(status: str) -> None:
    """It stays in the store; the sender must not wait for an answer."""
    for handed in (item(Rung.OFFERED), item(Rung.HELD, reason=Reason.HOST_HELD)):
        move = of_evidence(handed, THERE, receipt(status), NOW)
        assert move is not None
        assert (move.rung, move.reason) == (Rung.REFUSED, Reason.HOST_REFUSED)
        assert status in move.tell


def test_held_then_delivered_is_a_way_back_to_offered() -> None:
    """The client's own pair for kept and then handed over."""
    assert after(item(Rung.OFFERED), receipt("held")) == (
        Rung.HELD,
        Reason.HOST_HELD,
        None,
    )
    held = item(Rung.HELD, reason=Reason.HOST_HELD)
    assert after(held, receipt("delivered")) == (Rung.OFFERED, None, None)
    assert after(item(Rung.OFFERED), receipt("delivered")) is None


def test_each_kind_of_drop_has_its_own_way_back() -> None:
    """By the client's rule for each: time, another text, or an empty queue."""
    offered = item(Rung.OFFERED)
    rate = after(offered, receipt("dropped", "rate-limited"))
    assert rate == (Rung.DEFERRED, Reason.PACED, 1002.1)
    again = after(offered, receipt("dropped", "rate-limited"), tries=2)
    assert again == (Rung.DEFERRED, Reason.PACED, 1008.4)
    full = after(offered, receipt("dropped", "queue-full"))
    assert full == (Rung.DEFERRED, Reason.BUSY, 1002.1)
    unknown = after(offered, receipt("dropped", "new-fashion"))
    assert unknown == (Rung.DEFERRED, Reason.PACED, 1030.0)
    loop = after(offered, receipt("dropped", "hop-loop"))
    assert loop == (Rung.REFUSED, Reason.LOOP, None)
    move = of_evidence(offered, THERE, receipt("dropped", "duplicate"), NOW)
    assert move is not None
    assert move.repeat  # the mark alters the text


def test_taken_and_seen_are_two_things() -> None:
    """In the conversation is not yet answered."""
    assert after(item(Rung.OFFERED), Taken(ID)) == (Rung.TAKEN, None, None)
    seen = of_evidence(item(Rung.TAKEN, taken=True), THERE, Seen(ID), NOW)
    assert seen is not None
    assert (seen.rung, seen.proof) == (Rung.SEEN, "transcript")
    assert after(item(Rung.TAKEN, taken=True), Taken(ID)) is None


def test_taken_outweighs_a_loss_told_before_or_after() -> None:
    """What stands in the conversation was not lost."""
    back = item(Rung.DEFERRED, reason=Reason.PACED)
    assert after(back, Taken(ID)) == (Rung.TAKEN, None, None)
    assert after(item(Rung.TAKEN, taken=True), receipt("dropped", "x")) is None
    assert after(item(Rung.OFFERED), receipt("dropped", "x")) is not None


def test_ignored_earns_one_more_try_and_no_third() -> None:
    """A second silence says only that there is no proof to be had."""
    assert after(item(Rung.OFFERED), Ignored(ID)) == (
        Rung.DEFERRED,
        Reason.UNREACHABLE,
        1000.0,
    )
    assert after(item(Rung.OFFERED), Ignored(ID), offered_again=True) == (
        Rung.OFFERED,
        Reason.NO_PROOF,
        None,
    )
    assert after(item(Rung.TAKEN, taken=True), Ignored(ID)) is None


def test_weak_evidence_raises_nothing() -> None:
    """No proof leaves an intent an intent, and is said once."""
    assert after(item(Rung.OFFERED), NoProof(ID)) == (
        Rung.OFFERED,
        Reason.NO_PROOF,
        None,
    )
    assert after(item(Rung.INTENT), NoProof(ID)) == (
        Rung.INTENT,
        Reason.NO_PROOF,
        None,
    )
    assert after(item(Rung.OFFERED, reason=Reason.NO_PROOF), NoProof(ID)) is None


def test_a_failed_model_keeps_the_letter_where_it_is() -> None:
    """Another request will hold it; sending it again would make two of it."""
    taken = item(Rung.TAKEN, taken=True)
    assert after(taken, ModelFailed(ID)) == (
        Rung.OFFERED,
        Reason.MODEL_UNAVAILABLE,
        None,
    )
    # Not known to be taken: the line itself says that it is.
    assert after(item(Rung.OFFERED), ModelFailed(ID))[0] is Rung.TAKEN


def test_a_letter_given_back_goes_again_ever_more_seldom_and_is_told_once() -> None:
    """Marked, unless it never began; of one that was seen nothing is given back."""
    handed = item(rung=Rung.OFFERED, session=THERE)
    back = GivenBack(ID, Reason.SPAWN_FAILING, 60.0, "exit 3", "it failed")
    failing = Reason.SPAWN_FAILING
    assert after(handed, back) == (Rung.DEFERRED, failing, 1060.0)
    assert after(handed, back, tries=2) == (Rung.DEFERRED, failing, 1240.0)
    assert after(handed, back, tries=99) == (Rung.DEFERRED, failing, 1000 + RETRY_MAX)
    move = of_evidence(handed, THERE, back, NOW)
    assert move is not None
    assert (move.repeat, move.by, move.tell) == (True, "exit 3", "it failed")
    unbegun = GivenBack(ID, Reason.UNREACHABLE, 30.0, "no", repeat=False)
    move = of_evidence(item(rung=Rung.INTENT, session=THERE), THERE, unbegun, NOW)
    assert move is not None
    assert not move.repeat
    assert after(item(rung=Rung.DEFERRED, session=THERE), back) is None


def test_a_hook_that_blocks_is_a_policy() -> None:
    """That session will never read it; the sender is told."""
    move = of_evidence(item(Rung.OFFERED), THERE, Blocked(ID), NOW)
    assert move is not None
    assert (move.rung, move.reason) == (Rung.REFUSED, Reason.POLICY)
    assert move.tell


EVIDENCE = [
    Taken(ID),
    Blocked(ID),
    Ignored(ID),
    NoProof(ID),
    ModelFailed(ID),
    receipt("held"),
    receipt("delivered"),
    receipt("denied"),
    receipt("dropped", "rate-limited"),
]


@pytest.mark.parametrize("evidence", EVIDENCE, ids=repr)
def test_evidence_of_another_process_moves_nothing(evidence: Evidence) -> None:
    """Only the process that has the letter can say what became of it there."""
    for handed in (item(Rung.OFFERED), item()):
        assert of_evidence(handed, OTHER, evidence, NOW) is None
    # The control: a proof is a proof, whoever had it; and the right process.
    assert of_evidence(item(Rung.OFFERED), OTHER, Seen(ID), NOW) is not None
    held = item(Rung.HELD, reason=Reason.HOST_HELD)
    moved = [of_evidence(i, THERE, evidence, NOW) for i in (item(Rung.OFFERED), held)]
    assert any(move is not None for move in moved)


def test_an_unknown_word_of_the_client_changes_nothing() -> None:
    """A newer client may say more than this homi knows."""
    assert after(item(Rung.OFFERED), receipt("reconsidered")) is None
    assert after(item(Rung.OFFERED), receipt("denied")) is not None

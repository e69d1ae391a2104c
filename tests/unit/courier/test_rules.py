"""The rules of going out, again or not, one by one."""

from typing import Any

import pytest

from homi.clock import rfc3339
from homi.courier.rules import (
    Expire,
    Facts,
    Offer,
    Return,
    Wait,
    Where,
    expires_at,
    in_hands,
    next_step,
)
from homi.envelope import MessageId, Msg, Reason, Rung, Via
from homi.store.mailbox import Item
from tests.unit.courier.twins import START, session

HERE = session(5)
HEAD = Msg(id=MessageId("i"), from_="bob", to="ada", text="hello")


def item(rung: Rung = Rung.STORED, **fields: object) -> Item:
    head = HEAD if "ttl_s" not in fields else Msg(**_head(fields.pop("ttl_s")))
    made = Item(1, 0, 10, head, Via(door="control"), rfc3339(START))
    made.rung = rung
    if rung is not Rung.STORED:
        made.session = HERE.ref
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _head(ttl_s: int) -> dict[str, Any]:
    return {"id": HEAD.id, "from_": "bob", "to": "ada", "text": "x", "ttl_s": ttl_s}


def facts(where: Where = Where.NOBODY, **fields: object) -> Facts:
    given = {"now": START, "owner": HERE} | fields
    return Facts(where=where, **given)


HANDED = [
    item(Rung.INTENT),
    item(Rung.OFFERED),
    item(Rung.OFFERED, reason=Reason.NO_PROOF),
    item(Rung.TAKEN, taken=True),
    item(Rung.OFFERED, taken=True, reason=Reason.MODEL_UNAVAILABLE),
    item(Rung.HELD, reason=Reason.HOST_HELD),
]


def test_fresh_mail_goes_to_the_owner_and_waits_without_one() -> None:
    """Nobody home is no ledger line, only a reason that can be shown."""
    assert next_step(item(), facts()) == Offer(repeat=False)
    assert next_step(item(), facts(owner=None)) == Wait(Reason.NO_OWNER)


@pytest.mark.parametrize("handed", HANDED, ids=lambda i: f"{i.rung}-{i.reason}")
def test_a_living_session_keeps_what_it_was_given(handed: Item) -> None:
    """Never again on time alone, be it a year, here or under another name."""
    for where in (Where.HERE, Where.ELSEWHERE, Where.ENDING):
        for owner in (HERE, None):
            step = next_step(handed, facts(where, owner=owner, now=START + 3e7))
            assert isinstance(step, Wait)
            assert step.until is None
    # The control: the same letter, its process gone.
    assert next_step(handed, facts(Where.GONE)) == Offer(repeat=True)
    assert next_step(handed, facts(Where.GONE, owner=None)) == Return()


def test_only_an_offered_letter_lets_the_next_of_its_lane_out() -> None:
    """An intent without outcome, a held one, one being read out: their lane waits."""
    stops = {
        (str(i.rung), i.reason): next_step(i, facts(Where.HERE)).lane for i in HANDED
    }
    assert stops == {
        ("intent", None): True,
        ("offered", None): False,
        ("offered", Reason.NO_PROOF): False,
        ("taken", None): False,
        ("offered", Reason.MODEL_UNAVAILABLE): False,
        ("held", Reason.HOST_HELD): True,
    }
    assert next_step(item(Rung.OFFERED), facts(Where.ENDING)).lane
    assert not next_step(
        item(Rung.INTENT, reason=Reason.NO_PROOF), facts(Where.HERE)
    ).lane


def test_clear_loses_what_was_taken_and_nothing_else() -> None:
    """The queue belongs to the process, the conversation does not outlive /clear."""
    cleared = facts(Where.HERE, owner=session(5, session_id="new"))
    assert next_step(item(Rung.TAKEN, taken=True), cleared) == Offer(repeat=True)
    assert isinstance(next_step(item(Rung.OFFERED), cleared), Wait)
    assert isinstance(next_step(item(Rung.INTENT), cleared), Wait)


def test_a_fresh_clear_is_given_time_for_the_last_answer() -> None:
    """The old conversation's answer may still be on its way to the disk."""
    owner = session(5, session_id="new")
    taken = item(Rung.TAKEN, taken=True)
    early = facts(Where.HERE, owner=owner, settles=START + 1)
    assert next_step(taken, early) == Wait(None, START + 1, lane=True)
    late = facts(Where.HERE, owner=owner, settles=START + 1, now=START + 1)
    assert next_step(taken, late) == Offer(repeat=True)


def test_a_refusal_holds_for_that_session_and_frees_the_lane() -> None:
    """One letter nobody lets in must not stand in front of all others."""
    refused = item(Rung.REFUSED, reason=Reason.HOST_REFUSED)
    assert next_step(refused, facts(Where.HERE)) == Wait(Reason.HOST_REFUSED)
    other = facts(Where.ELSEWHERE, owner=session(6))
    assert next_step(refused, other) == Offer(repeat=False)
    cleared = facts(Where.HERE, owner=session(5, session_id="new"))
    assert next_step(refused, cleared) == Offer(repeat=False)


def test_a_deferral_ends_by_its_time_or_with_its_session() -> None:
    """Another session need not wait for what the first one could not take."""
    deferred = item(Rung.DEFERRED, reason=Reason.PACED, until=START + 2, repeat=True)
    assert next_step(deferred, facts(Where.HERE)) == Wait(
        Reason.PACED, START + 2, lane=True
    )
    assert next_step(deferred, facts(Where.HERE, now=START + 2)) == Offer(repeat=True)
    assert next_step(deferred, facts(Where.GONE)) == Offer(repeat=True)


def test_a_sign_of_life_ends_the_wait_for_an_unreachable_session() -> None:
    """Its record changed since it did not answer: worth a try at once."""
    silent = item(Rung.DEFERRED, reason=Reason.UNREACHABLE, until=START + 300)
    assert next_step(silent, facts(Where.HERE, unchanged=True)) == Wait(
        Reason.UNREACHABLE, START + 300, lane=True
    )
    assert next_step(silent, facts(Where.HERE)) == Offer(repeat=False)


def test_a_full_queue_is_waited_out_by_status() -> None:
    """Its queue empties when the session is idle, not by the clock."""
    full = item(Rung.DEFERRED, reason=Reason.BUSY, until=START)
    for status in ("busy", "waiting"):
        busy = facts(Where.HERE, owner=session(5, status=status), now=START + 999)
        assert next_step(full, busy) == Wait(Reason.BUSY, lane=True)
    assert next_step(full, facts(Where.HERE)) == Offer(repeat=False)


def test_held_until_an_event_is_tried_again_when_the_record_changed() -> None:
    """Until then the same answer is certain."""
    held = item(Rung.HELD, reason=Reason.DRAFT)
    assert next_step(held, facts(Where.HERE, unchanged=True)) == Wait(
        Reason.DRAFT, lane=True
    )
    assert next_step(held, facts(Where.HERE)) == Offer(repeat=False)


def test_parked_mail_is_a_persons_to_release() -> None:
    """No owner, no death and no time moves it."""
    parked = item(Rung.PARKED, reason=Reason.APPROVAL)
    for where in Where:
        assert next_step(parked, facts(where)) == Wait(Reason.APPROVAL, lane=True)


def test_time_to_live_counts_from_arrival_and_spares_what_is_out() -> None:
    """What a session may have read cannot be called expired."""
    mortal = item(ttl_s=60)
    assert expires_at(mortal) == START + 60
    assert expires_at(item()) is None
    assert next_step(mortal, facts(now=START + 59)) == Offer(repeat=False)
    assert next_step(mortal, facts(now=START + 60)) == Expire()
    out = item(Rung.OFFERED, ttl_s=60)
    assert isinstance(next_step(out, facts(Where.HERE, now=START + 99)), Wait)
    assert next_step(out, facts(Where.GONE, now=START + 99)) == Expire()


def test_in_hands_is_what_a_session_may_have() -> None:
    """A leg that said no has it not; a client that holds it has."""
    assert all(in_hands(handed) for handed in HANDED)
    for rung in (Rung.STORED, Rung.DEFERRED, Rung.REFUSED, Rung.PARKED):
        assert not in_hands(item(rung))
    assert not in_hands(item(Rung.HELD, reason=Reason.DRAFT))

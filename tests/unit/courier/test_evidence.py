"""Receipts and evidence as they move letters, the courier running."""

import pytest

from homi.envelope import Kind, MessageId, Reason, Rung, SessionRef
from homi.legs.base import (
    Blocked,
    Deferred,
    Evidence,
    Ignored,
    ModelFailed,
    NoProof,
    Offered,
    Receipt,
    Seen,
    Taken,
)
from homi.sessions import Session
from homi.store.mailbox import Item
from tests.unit.courier.test_drain import in_world
from tests.unit.courier.twins import ADA, World, session

DAY = 86_400.0


async def one_out(world: World, **kind: Kind) -> tuple[Session, Item]:
    """One letter offered to a living session."""
    owner = world.town.come(session(5), ADA)
    item = await world.mail("one", **kind)
    await world.rest()
    assert world.rungs(item) == ["intent", "offered"]
    return owner, item


async def told(world: World, evidence: Evidence, ref: SessionRef | None = None) -> None:
    world.courier.evidence(ref or session(5).ref, evidence)
    await world.rest()


def test_silence_moves_nothing_however_long() -> None:
    """Never on time alone; the silence is shown as offered."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        for _ in range(30):
            await world.after(DAY)
            world.courier.sweep()
            await world.rest()
        assert world.slot.texts() == ["one"]
        assert world.courier.explain(ADA, item) == (Rung.OFFERED, None, None)

    in_world(body)


def test_a_held_letter_stays_with_its_session_until_the_client_says() -> None:
    """Offered again while it is held, it would be two turns."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Receipt(item.id, "held"))
        assert world.courier.explain(ADA, item) == (Rung.HELD, Reason.HOST_HELD, None)
        await world.after(DAY)
        world.courier.sweep()
        await world.rest()
        assert world.slot.texts() == ["one"]
        assert world.told == []
        await told(world, Receipt(item.id, "delivered"))
        await told(world, Taken(item.id))
        await told(world, Seen(item.id))
        assert world.rungs(item)[2:] == ["held", "offered", "taken", "seen"]
        assert world.slot.texts() == ["one"]
        assert world.pending() == []

    in_world(body)


@pytest.mark.parametrize("status", ["denied", "expired", "refused"])
def test_a_letter_not_let_in_waits_for_the_next_session(status: str) -> None:
    """It stays in the store, its sender is told once, that session has its peace."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Receipt(item.id, "held"))
        await told(world, Receipt(item.id, status))
        shown = (Rung.REFUSED, Reason.HOST_REFUSED, None)
        assert world.courier.explain(ADA, item) == shown
        assert [(t[0], t[1], t[2]) for t in world.told] == [(item.id, ADA, "refused")]
        world.courier.sweep()
        await world.after(DAY)
        assert world.slot.texts() == ["one"]
        world.town.die(5)
        await world.rest()
        assert world.courier.explain(ADA, item) == shown
        world.town.come(session(6), ADA)
        await world.rest()
        assert [offer.pid for offer in world.slot.offers] == [5, 6]

    in_world(body)


def test_a_hook_that_blocks_is_told_and_not_tried_again() -> None:
    """The sender learns that this session will never read it."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Blocked(item.id))
        assert world.courier.explain(ADA, item) == (Rung.REFUSED, Reason.POLICY, None)
        assert len(world.told) == 1
        await world.after(DAY)
        assert world.slot.texts() == ["one"]

    in_world(body)


@pytest.mark.parametrize("kind", [Kind.NOTICE, Kind.BOUNCE, Kind.WAKE])
def test_there_is_no_notice_about_system_mail(kind: Kind) -> None:
    """Two postmasters must never talk to each other."""

    async def body(world: World) -> None:
        _, item = await one_out(world, kind=kind)
        await told(world, Receipt(item.id, "refused"))
        assert item.rung is Rung.REFUSED
        assert world.told == []

    in_world(body)


def test_rate_limited_comes_again_after_two_seconds_as_a_repeat() -> None:
    """The client lost it and said so; its bucket needs two seconds a letter."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Receipt(item.id, "dropped", "rate-limited"))
        assert world.rungs(item)[-1] == "deferred"
        assert world.courier.explain(ADA, item)[:2] == (Rung.DEFERRED, Reason.PACED)
        await world.after(10.0)
        first, again = world.slot.offers
        assert again.at - first.at >= 2.0
        assert (first.repeat, again.repeat) == (False, True)
        assert first.id == again.id

    in_world(body)


def test_rate_limited_slows_that_sender_down() -> None:
    """Whatever we counted, the client's count is the one that matters."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Receipt(item.id, "dropped", "rate-limited"))
        await world.mail("two")
        await world.mail("three", "eve")
        await world.rest()
        assert world.slot.texts() == ["one", "three"]
        await world.after(10.0)
        assert world.slot.texts() == ["one", "three", "one", "two"]
        assert world.slot.offers[3].at - world.slot.offers[2].at >= 2.4

    in_world(body)


def test_a_second_duplicate_waits_until_the_text_may_be_equal() -> None:
    """The first repeat alters the text by its mark; the next has nothing to alter."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Receipt(item.id, "dropped", "duplicate"))
        await world.after(3.0)
        assert len(world.slot.offers) == 2
        await told(world, Receipt(item.id, "dropped", "duplicate"))
        await world.after(27.0)
        assert len(world.slot.offers) == 2
        await world.after(10.0)
        assert len(world.slot.offers) == 3
        assert world.slot.offers[2].at - world.slot.offers[1].at > 30.0

    in_world(body)


def test_a_full_queue_is_tried_when_the_session_is_idle() -> None:
    """By its status, not by the clock."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        world.town.change(session(5, status="busy"))
        await told(world, Receipt(item.id, "dropped", "queue-full"))
        await world.after(DAY)
        assert world.slot.texts() == ["one"]
        world.town.change(session(5, status="idle"))
        await world.rest()
        assert world.slot.texts() == ["one", "one"]
        assert world.slot.offers[1].repeat

    in_world(body)


def test_dropped_letters_keep_the_order_of_their_lane() -> None:
    """What was dropped goes before what was not yet out."""

    async def body(world: World) -> None:
        owner = world.town.come(session(5), ADA)
        items = await world.mails(3)
        world.courier.evidence(owner.ref, Receipt(items[1].id, "dropped", "x"))
        world.courier.evidence(owner.ref, Receipt(items[2].id, "dropped", "x"))
        await world.rest()
        await world.mail("bob 3")
        await world.after(100.0)
        assert world.slot.texts()[3:] == ["bob 1", "bob 2", "bob 3"]

    in_world(body)


def test_taken_is_a_line_and_shown_as_offered() -> None:
    """In the conversation is no proof that it was answered."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Taken(item.id))
        assert world.rungs(item)[-1] == "taken"
        assert world.courier.explain(ADA, item) == (Rung.OFFERED, None, None)
        assert item.id in world.pending()
        await told(world, Seen(item.id))
        last = world.ledger()[-1]
        assert (last.rung, last.proof, last.session) == (
            Rung.SEEN,
            "transcript",
            session(5).ref,
        )
        assert (5, item.id) in world.scribe.forgotten

    in_world(body)


def test_no_proof_is_said_and_offers_nothing() -> None:
    """It was most likely read; only its end or an ack closes it."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, NoProof(item.id))
        shown = (Rung.OFFERED, Reason.NO_PROOF, None)
        assert world.courier.explain(ADA, item) == shown
        lines = len(world.ledger())
        await told(world, NoProof(item.id))
        assert len(world.ledger()) == lines
        await world.after(DAY)
        assert world.slot.texts() == ["one"]

    in_world(body)


def test_a_failed_model_is_said_and_offers_nothing() -> None:
    """The conversation holds the letter; another request will show it."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Taken(item.id))
        await told(world, ModelFailed(item.id))
        shown = (Rung.OFFERED, Reason.MODEL_UNAVAILABLE, None)
        assert world.courier.explain(ADA, item) == shown
        await world.after(DAY)
        assert world.slot.texts() == ["one"]
        await told(world, Seen(item.id))
        assert world.pending() == []

    in_world(body)


def test_ignored_is_offered_once_more_and_marked() -> None:
    """The channel works and it is not there: the conversation had changed."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Ignored(item.id))
        assert [offer.repeat for offer in world.slot.offers] == [False, True]
        await told(world, Ignored(item.id))
        await world.after(DAY)
        assert len(world.slot.offers) == 2
        shown = (Rung.OFFERED, Reason.NO_PROOF, None)
        assert world.courier.explain(ADA, item) == shown

    in_world(body)


def test_clear_gives_a_taken_letter_to_the_new_conversation() -> None:
    """It is lost to the new one; a queued one may come in either and is not sent."""

    async def body(world: World) -> None:
        owner = world.town.come(session(5), ADA)
        taken, _queued = await world.mails(2)
        world.scribe.take(owner, taken.id)
        await world.rest()
        world.town.change(session(5, session_id="new"))
        await world.rest()
        assert world.slot.texts() == ["bob 0", "bob 1"]
        await world.after(1.1)
        assert world.slot.texts() == ["bob 0", "bob 1", "bob 0"]
        again = world.slot.offers[2]
        assert (again.conversation, again.repeat) == ("new", True)
        assert world.scribe.changes[-1].session_id == "new"

    in_world(body)


def test_an_answer_just_before_clear_spares_the_repeat() -> None:
    """The last lines of the old conversation come a moment after the record."""

    async def body(world: World) -> None:
        owner, item = await one_out(world)
        await told(world, Taken(item.id))
        world.town.change(session(5, session_id="new"))
        await world.rest()
        await told(world, Seen(item.id), owner.ref)
        await world.after(5.0)
        assert world.slot.texts() == ["one"]

    in_world(body)


def test_late_lines_of_the_old_conversation_say_nothing_of_the_new_one() -> None:
    """Handed over anew, it is in the queue; what the old file says came before."""

    async def body(world: World) -> None:
        owner, item = await one_out(world)
        await told(world, Taken(item.id))
        cleared = world.town.change(session(5, session_id="new"))
        await world.after(2.0)
        assert [offer.conversation for offer in world.slot.offers][1:] == ["new"]
        await told(world, Taken(item.id), owner.ref)
        await told(world, ModelFailed(item.id), owner.ref)
        await world.after(10.0)
        assert len(world.slot.offers) == 2
        assert world.rungs(item)[-1] == "offered"
        await told(world, Taken(item.id), cleared.ref)
        assert world.rungs(item)[-1] == "taken"
        await told(world, Seen(item.id), owner.ref)  # a proof is a proof
        assert world.pending() == []

    in_world(body)


def test_a_letter_queued_before_clear_may_be_taken_after_it() -> None:
    """The queue belongs to the process: either conversation may take it."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        cleared = world.town.change(session(5, session_id="new"))
        await told(world, Taken(item.id), cleared.ref)
        assert world.rungs(item)[-1] == "taken"
        await world.after(10.0)
        assert world.slot.texts() == ["one"]

    in_world(body)


def test_a_branch_that_copied_the_letter_needs_no_offer() -> None:
    """Branch and fork carry our lines with them."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Taken(item.id))
        world.scribe.conversations["branch"] = {item.id}
        world.town.change(session(5, session_id="branch"))
        await world.after(2.0)
        assert world.slot.texts() == ["one"]
        assert item.session is not None
        assert item.session.id == "branch"

    in_world(body)


def test_a_letter_the_conversation_holds_is_not_offered() -> None:
    """A power cut may take the ledger's lines and leave the transcript."""

    async def body(world: World) -> None:
        item = await world.mail("one")
        world.scribe.conversations["conversation-5"] = {item.id}
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.slot.offers == []
        assert world.rungs(item) == ["taken"]
        assert item.id in world.scribe.watched[(5, "1")]
        await told(world, Seen(item.id))
        assert world.pending() == []

    in_world(body)


def test_evidence_during_the_hand_over_counts_after_its_outcome() -> None:
    """A receipt may be quicker than the clean close."""

    async def body(world: World) -> None:
        world.slot.then = lambda there, letter: world.courier.evidence(
            there.ref, Receipt(letter.msg.id, "held")
        )
        item = await world.mail("one")
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.rungs(item) == ["intent", "offered", "held"]

    in_world(body)


def test_a_try_that_failed_but_is_in_the_conversation_is_not_repeated() -> None:
    """The transcript outweighs a broken connection."""

    async def body(world: World) -> None:

        world.slot.answers["one"] = [Deferred(Reason.UNREACHABLE, 5.0), Offered()]
        item = await world.mail("one")
        world.town.come(session(5), ADA)
        await world.rest()
        await told(world, Taken(item.id))
        await world.after(60.0)
        assert world.slot.texts() == ["one"]
        assert world.rungs(item) == ["intent", "deferred", "taken"]

    in_world(body)


def test_evidence_for_a_closed_ledger_is_kept_until_it_opens() -> None:
    """A proof that could not be written is not forgotten."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        world.store.fail_next = 2
        await told(world, Seen(item.id))
        assert item.id in world.pending()
        await world.after(10.0)
        assert world.pending() == []

    in_world(body)


def test_evidence_about_unknown_mail_is_no_harm() -> None:
    """Old receipts come for letters that were finished long ago."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Seen(MessageId("00000000-0000-0000-0000-00000000dead")))
        await told(world, Seen(item.id))
        await told(world, Receipt(item.id, "denied"))
        assert world.rungs(item) == ["intent", "offered", "seen"]
        assert world.told == []

    in_world(body)

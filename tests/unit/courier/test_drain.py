"""How one name's mail goes out: lanes, intents, outcomes, pace."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from homi.address import OWNER, POSTMASTER, Name
from homi.clock import rfc3339
from homi.config import PACE_BURST, PACE_RATE, UNPROVEN_MAX
from homi.envelope import LedgerLine, MessageId, Reason, Rung, SessionRef
from homi.legs.base import (
    Deferred,
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
from tests.unit.courier.twins import ADA, World, session, turn

Test = Callable[[World], Awaitable[None]]


def in_world(body: Test) -> None:
    """Run body with a courier that is up, and stop it."""

    async def main() -> None:
        world = World()
        await world.start()
        await body(world)
        await world.stop()

    turn(main())


def test_kept_mail_goes_to_the_session_that_comes() -> None:
    """In order of arrival, each with its intent before and its outcome after."""

    async def body(world: World) -> None:
        items = [await world.mail("one"), await world.mail("two", "eve")]
        await world.rest()
        assert world.slot.offers == []
        assert world.ledger() == []  # nobody home is shown, not written
        owner = world.town.come(session(5), ADA)
        await world.rest()
        assert world.slot.texts() == ["one", "two"]
        for item in items:
            assert world.rungs(item) == ["intent", "offered"]
        last = world.ledger()[-1]
        assert (last.session, last.leg) == (owner.ref, "slot")

    in_world(body)


def test_the_letter_carries_what_the_leg_needs() -> None:
    """The sender's own address names the socket a reply goes to."""

    async def body(world: World) -> None:
        await world.mail("local", repeat=True)
        await world.mail("far", "eve", device="mini")
        world.town.come(session(5), ADA)
        await world.rest()
        local, far = (offer.letter for offer in world.slot.offers)
        assert (local.place, local.reply_socket) == (ADA, "/sock/bob")
        assert local.possible_repeat
        assert not local.repeat
        assert far.reply_socket == "/sock/eve@mini"
        assert not far.possible_repeat

    in_world(body)


def test_the_intent_is_in_the_ledger_and_watched_before_the_bytes_go_out() -> None:
    """A crash between the two must leave the intent to judge by."""

    async def body(world: World) -> None:
        item = await world.mail("one")
        seen: list[tuple[list[str], bool]] = []

        def look(there: object, _letter: object) -> None:
            watched = item.id in world.scribe.watched.get((5, "1"), {})
            seen.append((world.rungs(item), watched))

        world.slot.then = look
        world.town.come(session(5), ADA)
        await world.rest()
        assert seen == [(["intent"], True)]

    in_world(body)


def test_silence_is_judged_from_the_clean_close_on() -> None:
    """A try that failed says nothing about silence."""

    async def body(world: World) -> None:
        world.slot.answers["one"] = [Deferred(Reason.UNREACHABLE, 1.0), Offered()]
        item = await world.mail("one")
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.scribe.silences == []
        await world.after(1.1)
        assert world.scribe.silences == [(5, item.id)]

    in_world(body)


def test_a_ledger_that_takes_nothing_lets_nothing_out() -> None:
    """Nothing is offered that a restart would not know of."""

    async def body(world: World) -> None:
        item = await world.mail("one")
        world.store.fail_next = 1
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.slot.offers == []
        assert world.rungs(item) == []
        await world.after(1.1)  # tried again: the store tells nobody that it is open
        assert world.slot.texts() == ["one"]
        assert world.rungs(item) == ["intent", "offered"]

    in_world(body)


def test_an_outcome_the_ledger_did_not_take_is_owed_and_not_offered_again() -> None:
    """The session has it; only the line is missing."""

    async def body(world: World) -> None:
        item = await world.mail("one")

        def shut(_session: object, _letter: object) -> None:
            world.store.fail_next = 1

        world.slot.then = shut
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.rungs(item) == ["intent"]
        await world.after(1.1)
        assert world.rungs(item) == ["intent", "offered"]
        assert world.slot.texts() == ["one"]

    in_world(body)


@pytest.mark.parametrize(
    "answer", [Held(Reason.DRAFT), Deferred(Reason.BUSY, 5.0)], ids=["held", "deferred"]
)
def test_a_held_or_deferred_letter_holds_its_lane_only(answer: object) -> None:
    """Other senders' mail passes; its own sender's later mail waits."""

    async def body(world: World) -> None:
        world.slot.answers["bob 0"] = [answer]
        world.town.come(session(5), ADA)
        await world.mail("bob 0")
        await world.mail("bob 1")
        await world.mail("eve 0", "eve")
        await world.rest()
        assert world.slot.texts() == ["bob 0", "eve 0"]
        world.town.change(session(5, status="busy"))
        world.town.change(session(5))
        await world.after(5.1)
        assert world.slot.texts() == ["bob 0", "eve 0", "bob 0", "bob 1"]

    in_world(body)


def test_held_until_an_event_is_not_asked_again_without_one() -> None:
    """The same record gives the same answer, however often one asks."""

    async def body(world: World) -> None:
        world.slot.answers["one"] = [Held(Reason.DRAFT)]
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.courier.sweep()
        await world.after(600.0)
        world.courier.sweep()
        await world.rest()
        assert world.slot.texts() == ["one"]
        assert world.courier.explain(ADA, item) == (Rung.DEFERRED, Reason.DRAFT, None)
        world.town.change(session(5, status="busy"))
        await world.rest()
        assert world.slot.texts() == ["one", "one"]

    in_world(body)


def test_an_abandoned_head_frees_its_lane() -> None:
    """Cancelled, acked or expired: the lane goes on at once."""

    async def body(world: World) -> None:
        world.slot.answers["bob 0"] = [Deferred(Reason.BUSY, 300.0)]
        world.town.come(session(5), ADA)
        head = await world.mail("bob 0")
        await world.mail("bob 1")
        await world.rest()
        assert world.slot.texts() == ["bob 0"]
        await finish(world, head.seq, head.id, Rung.CANCELLED)
        assert world.slot.texts() == ["bob 0", "bob 1"]

    in_world(body)


async def finish(world: World, seq: int, message: MessageId, rung: Rung) -> None:
    """Record a decision as the control door does."""
    at = rfc3339(world.clock.wall())
    line = LedgerLine(seq=seq, id=message, rung=rung, at=at, by="person")
    world.store.record(ADA, line, None, durable=True)
    await world.rest()
    world.courier.recorded(ADA, line)
    await world.rest()


def test_an_acked_letter_is_watched_no_more() -> None:
    """The witness reads only for letters that are open."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        assert item.id in world.scribe.watched[(5, "1")]
        await finish(world, item.seq, item.id, Rung.SEEN)
        assert world.scribe.forgotten == [(5, item.id)]

    in_world(body)


def test_the_next_of_a_lane_follows_the_clean_close_not_the_reading() -> None:
    """Twenty letters are one turn, not twenty."""

    async def body(world: World) -> None:
        closing = asyncio.Event()
        world.slot.answers["bob 0"] = [closing]
        world.town.come(session(5), ADA)
        await world.mails(3)
        assert world.slot.texts() == ["bob 0"]
        closing.set()
        await world.rest()
        assert world.slot.texts() == ["bob 0", "bob 1", "bob 2"]
        pending = world.store.mailbox(ADA).pending.values()
        assert all(item.rung is Rung.OFFERED for item in pending)

    in_world(body)


def test_a_bad_receipt_stops_the_later_ones_that_are_not_out() -> None:
    """Dropped or held: what follows waits, or the order is lost."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        items = await world.mails(PACE_BURST + 1)
        assert len(world.slot.offers) == PACE_BURST
        last = items[PACE_BURST - 1]
        world.courier.evidence(session(5).ref, Receipt(last.id, "held"))
        await world.after(30.0)
        assert len(world.slot.offers) == PACE_BURST
        world.courier.evidence(session(5).ref, Receipt(last.id, "delivered"))
        await world.rest()
        assert world.slot.texts()[-1] == f"bob {PACE_BURST}"

    in_world(body)


def test_a_refusal_of_the_leg_is_told_and_frees_the_lane() -> None:
    """One letter that will never fit must not stand before all others."""

    async def body(world: World) -> None:
        world.slot.answers["bob 0"] = [Refused(Reason.TOO_LARGE)]
        world.town.come(session(5), ADA)
        first, second = await world.mails(2)
        assert world.slot.texts() == ["bob 0", "bob 1"]
        assert world.rungs(first) == ["intent", "refused"]
        assert world.rungs(second) == ["intent", "offered"]
        assert [(told[0], told[2]) for told in world.told] == [(first.id, "refused")]
        world.courier.sweep()
        await world.after(3600.0)
        assert world.slot.texts() == ["bob 0", "bob 1"]
        assert first.id in world.pending()

    in_world(body)


def test_a_burst_goes_at_once_and_the_rest_by_the_pace() -> None:
    """Below the client's guard; by timers, with a reason that can be shown."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        items = await world.mails(PACE_BURST + 2)
        assert len(world.slot.offers) == PACE_BURST
        rung, reason, until = world.courier.explain(ADA, items[PACE_BURST])
        assert (rung, reason) == (Rung.DEFERRED, Reason.PACED)
        assert until is not None
        assert 0 < until - world.clock.wall() <= 1 / PACE_RATE
        assert world.rungs(items[PACE_BURST]) == []  # no line for a pace
        await world.after(2 / PACE_RATE + 0.1)
        assert len(world.slot.offers) == PACE_BURST + 2

    in_world(body)


def test_sixty_kept_letters_of_three_senders_arrive_all_in_order() -> None:
    """The backlog of a night, none dropped by the client."""

    async def body(world: World) -> None:
        senders = ("bob", "eve", "dan")
        for i in range(20):
            for sender in senders:
                await world.mail(f"{sender} {i}", sender)
        owner = world.town.come(session(5), ADA)
        world.slot.then = lambda _s, letter: world.scribe.sink(
            owner.ref, Seen(letter.msg.id)
        )
        await world.rest()
        assert len(world.slot.offers) == 60
        assert world.pending() == []
        for sender in senders:
            texts = [o.text for o in world.slot.offers if o.sender == sender]
            assert texts == [f"{sender} {i}" for i in range(20)]

    in_world(body)


def test_forty_unproven_letters_are_the_most_a_session_gets() -> None:
    """Over all senders and all its names: its queue holds fifty."""

    async def body(world: World) -> None:
        eve = Name("eve")
        owner = world.town.come(session(5, status="busy"), ADA, eve)
        items = []
        for i in range(UNPROVEN_MAX):
            items.append(await world.mail(f"a {i}", f"s{i}"))
        for i in range(10):
            await world.mail(f"e {i}", f"s{i}", to=eve)
        await world.after(60.0)
        assert len(world.slot.offers) == UNPROVEN_MAX
        world.courier.evidence(owner.ref, Seen(items[0].id))
        world.courier.evidence(owner.ref, NoProof(items[1].id))
        await world.after(60.0)
        world.courier.sweep()
        await world.after(60.0)
        assert len(world.slot.offers) == UNPROVEN_MAX + 2

    in_world(body)


def test_a_failing_model_gets_one_letter_at_a_time() -> None:
    """The next letter makes the request that finds out; a pile would not."""

    async def body(world: World) -> None:
        owner = world.town.come(session(5), ADA)
        first = await world.mail("bob 0")
        await world.rest()
        for evidence in (Taken(first.id), ModelFailed(first.id)):
            world.courier.evidence(owner.ref, evidence)
        await world.rest()
        second = await world.mail("bob 1")
        await world.mail("bob 2")
        await world.after(60.0)
        assert world.slot.texts() == ["bob 0", "bob 1"]
        for item in (first, second):
            world.courier.evidence(owner.ref, Seen(item.id))
        await world.rest()
        assert world.slot.texts() == ["bob 0", "bob 1", "bob 2"]

    in_world(body)


def test_a_socket_that_refuses_is_asked_ever_more_seldom_and_holds_all() -> None:
    """A record with a dead socket and a live pid: held, not hammered."""

    async def body(world: World) -> None:
        for i in range(30):
            world.slot.answers[f"m {i}"] = [Deferred(Reason.UNREACHABLE, 1.0)] * 5
            await world.mail(f"m {i}", f"s{i}")
        world.town.come(session(5), ADA)
        await world.rest()
        assert len(world.slot.offers) == 2  # one letter's failure, then the session's
        await world.after(60.0)
        assert len(world.slot.offers) < 20
        waiting = world.store.mailbox(ADA).pending[25]
        assert world.courier.explain(ADA, waiting)[:2] == (
            Rung.DEFERRED,
            Reason.UNREACHABLE,
        )
        world.slot.answers.clear()
        world.town.change(session(5, socket="/run/new.sock"))
        await world.rest()
        assert set(world.slot.texts()) == {f"m {i}" for i in range(30)}

    in_world(body)


def test_a_leg_that_serves_not_offers_nothing() -> None:
    """No way to the session: the mail waits and says so."""

    async def body(world: World) -> None:
        world.slot.deaf_to.add(5)
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        assert world.slot.offers == []
        assert world.courier.explain(ADA, item)[:2] == (
            Rung.DEFERRED,
            Reason.UNREACHABLE,
        )
        world.slot.deaf_to.clear()
        world.town.change(session(5, status="busy"))
        await world.rest()
        assert world.slot.texts() == ["one"]

    in_world(body)


def test_a_leg_without_an_end_leaves_an_intent_and_hurts_no_other_name() -> None:
    """Its outcome is unknown: not offered again while the process lives."""

    async def body(world: World) -> None:
        world.slot.answers["one"] = [asyncio.Event()]
        world.town.come(session(5), ADA)
        world.town.come(session(6, name="eve"), Name("eve"))
        item = await world.mail("one")
        await world.mail("other", to=Name("eve"))
        await world.after(31.0)
        assert world.rungs(item) == ["intent", "intent"]
        shown = (Rung.STORED, Reason.UNREACHABLE, None)
        assert world.courier.explain(ADA, item) == shown
        assert sorted(world.slot.texts()) == ["one", "other"]
        world.courier.sweep()
        await world.after(3600.0)
        assert world.slot.texts().count("one") == 1

    in_world(body)


def test_a_hand_over_without_verdict_is_an_intent_until_the_session_moves() -> None:
    """All was written and nothing came back: a hung session may read it yet."""

    async def body(world: World) -> None:
        lost = Deferred(Reason.UNREACHABLE, 35.0, unclear=True)
        world.slot.answers["bob 0"] = [lost]
        owner = world.town.come(session(5), ADA)
        first, _second = await world.mails(2)
        await world.after(3600.0)
        world.courier.sweep()
        await world.rest()
        assert world.slot.texts() == ["bob 0"]
        assert world.scribe.silences == []
        world.town.change(session(5, status="busy"))
        await world.rest()
        assert world.scribe.silences == [(5, first.id)]
        world.courier.evidence(owner.ref, Ignored(first.id))
        await world.rest()
        assert world.slot.texts() == ["bob 0", "bob 0", "bob 1"]
        assert [offer.repeat for offer in world.slot.offers] == [False, True, False]

    in_world(body)


def test_unreadable_mail_is_told_and_blocks_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One damaged line costs that letter only, and only while it is damaged."""

    async def body(world: World) -> None:
        bad = await world.mail("bad")
        await world.mail("good")
        where, bad.offset = bad.offset, bad.offset + 1
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.slot.texts() == ["good"]
        assert "unreadable" in caplog.text
        bad.offset = where
        await world.after(61.0)
        assert world.slot.texts() == ["good", "bad"]

    in_world(body)


@pytest.mark.parametrize("name", [OWNER, POSTMASTER])
def test_built_in_mailboxes_are_never_offered(name: Name) -> None:
    """They are a person's, whoever claims to own them."""

    async def body(world: World) -> None:
        world.town.come(session(5), name, ADA)
        item = await world.mail("for a person", to=name)
        await world.mail("for ada")
        await world.rest()
        assert world.slot.texts() == ["for ada"]
        assert world.courier.explain(name, item) == (Rung.STORED, None, None)

    in_world(body)


def test_an_id_that_two_senders_use_is_two_letters() -> None:
    """Evidence is for the one that session was given."""

    async def body(world: World) -> None:
        same = "00000000-0000-0000-0000-00000000abcd"
        owner = world.town.come(session(5), ADA)
        first = await world.mail("bob's", "bob", message=same)
        second = await world.mail("eve's", "eve", message=same)
        await world.rest()
        assert sorted(world.slot.texts()) == ["bob's", "eve's"]
        world.courier.evidence(owner.ref, Seen(MessageId(same)))
        await world.rest()
        assert first.seq not in world.store.mailbox(ADA).pending
        assert second.seq in world.store.mailbox(ADA).pending
        world.courier.evidence(SessionRef(5, "1"), Seen(MessageId(same)))
        await world.rest()
        assert world.pending() == []

    in_world(body)

"""Orders for pending mail: at every moment of a hand-over, and after it."""

import asyncio
from collections.abc import Callable

import pytest

from homi.courier.orders import Job, Verdict
from homi.envelope import LedgerLine, Reason, Rung
from homi.legs.base import Deferred, Held, Refused, Seen, Taken
from homi.requests import Deed
from homi.store.mailbox import Item
from tests.unit.courier.test_drain import in_world
from tests.unit.courier.twins import ADA, World, session


async def ordered(world: World, do: Deed, *items: Item) -> list[Verdict]:
    """Give the order and let everything come to rest."""
    told = ask(world, do, *items)
    await world.rest()
    assert told.done(), "an order must be answered"
    return told.result()


def ask(world: World, do: Deed, *items: Item) -> "asyncio.Future[list[Verdict]]":
    """Give the order; its answer may come later."""
    told: asyncio.Future[list[Verdict]] = asyncio.get_running_loop().create_future()
    letters = [(item.seq, item.id) for item in items]
    world.courier.order(ADA, Job(do, letters, "owner pid 7", told.set_result))
    return told


async def bounced(
    world: World,
    first: Callable[[Item, Callable[[bool], None]], None],
    *items: Item,
) -> list[Verdict]:
    """Have mail sent back; first tells its sender."""
    told: asyncio.Future[list[Verdict]] = asyncio.get_running_loop().create_future()
    letters = [(item.seq, item.id) for item in items]
    job = Job(Deed.BOUNCE, letters, "owner pid 7", told.set_result, first)
    world.courier.order(ADA, job)
    await world.rest()
    return told.result()


def error_of(verdict: Verdict) -> str:
    return "" if verdict.error is None else verdict.error.code


def test_what_is_held_goes_out_to_nobody_and_stops_its_lane_only() -> None:
    """The control: the other sender's letter goes out."""

    async def body(world: World) -> None:
        first, second = await world.mail("one"), await world.mail("two")
        await world.mail("other", "eve")
        (verdict,) = await ordered(world, Deed.HOLD, first)
        assert (verdict.rung, verdict.reason) == (Rung.PARKED, Reason.OPERATOR)
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.slot.texts() == ["other"]
        assert world.ledger()[0].by == "hold owner pid 7"
        await ordered(world, Deed.RELEASE, first)
        assert world.slot.texts() == ["other", "one", "two"]
        assert not world.slot.offers[1].repeat
        assert world.rungs(second) == ["intent", "offered"]

    in_world(body)


def test_a_hold_outlives_a_restart() -> None:
    """The ledger has it; the control: the release after it is obeyed too."""

    async def body(world: World) -> None:
        item = await world.mail("one")
        await ordered(world, Deed.HOLD, item)
        await world.restart()
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.slot.texts() == []
        await ordered(world, Deed.RELEASE, item)
        assert world.slot.texts() == ["one"]

    in_world(body)


def test_to_hold_or_release_twice_is_no_error_and_no_second_line() -> None:
    """A script may say it again."""

    async def body(world: World) -> None:
        item = await world.mail("one")
        for do in (Deed.HOLD, Deed.RELEASE):
            assert not (await ordered(world, do, item))[0].already
            assert (await ordered(world, do, item))[0].already
        assert world.rungs(item) == ["parked", "stored"]

    in_world(body)


def test_a_hold_during_a_hand_over_is_answered_when_it_has_ended() -> None:
    """Nobody is told that a letter is held while a session gets it."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        gate = asyncio.Event()
        world.slot.answers["one"] = [gate]
        item, later = await world.mail("one"), await world.mail("two")
        await world.rest()
        told = ask(world, Deed.HOLD, item, later)
        await world.rest()
        assert not told.done()
        gate.set()
        await world.rest()
        first, second = told.result()
        assert error_of(first) == "not-reached"
        assert first.given == 5
        # The one that had not gone out yet is held, and did not.
        assert second.rung is Rung.PARKED
        assert world.slot.texts() == ["one"]
        assert world.rungs(item) == ["intent", "offered"]

    in_world(body)


def test_a_hold_that_comes_with_the_intent_sees_the_offer() -> None:
    """Whatever the moment: held and offered is never both."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        for turns in range(12):
            item = await world.mail(f"letter {turns}", f"sender{turns}")
            for _ in range(turns):
                await asyncio.sleep(0)
            (verdict,) = await ordered(world, Deed.HOLD, item)
            offered = f"letter {turns}" in world.slot.texts()
            assert offered == (error_of(verdict) == "not-reached")
            assert offered == ("parked" not in world.rungs(item))
        assert 0 < len(world.slot.texts()) < 12

    in_world(body)


def test_a_letter_of_a_dead_session_can_be_held_and_keeps_its_mark() -> None:
    """It may have been read there."""

    async def body(world: World) -> None:
        world.slot.answers["one"] = [Deferred(Reason.UNREACHABLE, 1.0, unclear=True)]
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        assert world.rungs(item) == ["intent", "intent"]
        world.courier.on_session(None, None)
        world.hints = False
        world.town.die(5)
        told = ask(world, Deed.HOLD, item)  # before its end was read
        await world.rest()
        (verdict,) = told.result()
        if verdict.error is not None:
            (verdict,) = await ordered(world, Deed.HOLD, item)
        assert verdict.rung is Rung.PARKED
        world.town.come(session(6), ADA)
        await world.rest()
        await ordered(world, Deed.RELEASE, item)
        assert [(o.pid, o.repeat) for o in world.slot.offers] == [(5, False), (6, True)]

    in_world(body)


def test_a_drop_ends_a_letter_for_ever() -> None:
    """The control: the next of its lane goes out."""

    async def body(world: World) -> None:
        item = await world.mail("one")
        await world.mail("two")
        (verdict,) = await ordered(world, Deed.DROP, item)
        assert (verdict.rung, verdict.given) == (Rung.DROPPED, 0)
        assert (await ordered(world, Deed.DROP, item))[0].already
        await world.restart()
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.slot.texts() == ["two"]
        for do in (Deed.HOLD, Deed.RELEASE, Deed.REQUEUE, Deed.FLUSH):
            (verdict,) = await ordered(world, do, item)
            assert (error_of(verdict), verdict.rung) == ("no-input", Rung.DROPPED)

    in_world(body)


def test_a_drop_while_the_outcome_is_open_waits_for_it_and_names_the_session() -> None:
    """The letter is finished; later evidence moves nothing."""

    async def body(world: World) -> None:
        here = world.town.come(session(5), ADA)
        gate = asyncio.Event()
        world.slot.answers["one"] = [gate]
        item = await world.mail("one")
        await world.rest()
        told = ask(world, Deed.DROP, item)
        gate.set()
        await world.rest()
        (verdict,) = told.result()
        assert (verdict.rung, verdict.given) == (Rung.DROPPED, 5)
        world.scribe.take(here, item.id)
        world.scribe.sink(here.ref, Seen(item.id))
        await world.rest()
        assert world.rungs(item) == ["intent", "offered", "dropped"]
        assert world.pending() == []

    in_world(body)


def test_a_drop_of_a_letter_without_outcome_ends_it() -> None:
    """It would wait for evidence as long as the session lives."""

    async def body(world: World) -> None:
        world.slot.answers["one"] = [Deferred(Reason.UNREACHABLE, 1.0, unclear=True)]
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.mail("two")
        await world.rest()
        assert world.slot.texts() == ["one"]
        await ordered(world, Deed.DROP, item)
        assert world.rungs(item)[-1] == "dropped"
        assert world.slot.texts() == ["one", "two"]

    in_world(body)


def test_what_is_sent_back_is_told_before_it_ends() -> None:
    """And stays where its sender could not be told; the control: another goes."""

    async def body(world: World) -> None:
        items = [await world.mail("one"), await world.mail("two", "eve")]
        told: list[str] = []

        def first(item: Item, done: Callable[[bool], None]) -> None:
            told.append(f"{item.from_} {item.rung}")
            asyncio.get_running_loop().call_soon(done, item.from_ == "eve")

        verdicts = await bounced(world, first, *items)
        assert told == ["bob stored", "eve stored"]
        assert error_of(verdicts[0]) == "io"
        assert (verdicts[1].rung, verdicts[1].reason) == (
            Rung.BOUNCED,
            Reason.OPERATOR,
        )
        assert (await bounced(world, first, items[1]))[0].already
        assert world.rungs(items[0]) == []
        assert len(told) == 2

    in_world(body)


def test_what_a_session_was_given_is_not_sent_back() -> None:
    """It may act on it yet.  The control: what waits behind is."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        given = await world.mail("one")
        await world.rest()
        world.slot.deaf_to.add(5)
        waits = await world.mail("two", "eve")
        verdicts = await bounced(world, lambda _item, done: done(True), given, waits)
        assert (error_of(verdicts[0]), verdicts[0].given) == ("not-reached", 5)
        assert verdicts[1].rung is Rung.BOUNCED
        assert world.rungs(given) == ["intent", "offered"]

    in_world(body)


def test_an_ack_that_came_first_is_what_the_order_is_told() -> None:
    """Both were in the same batch, the ack before."""

    async def body(world: World) -> None:
        for do in (Deed.HOLD, Deed.DROP):
            item = await world.mail(f"letter {do}")
            line = LedgerLine(seq=item.seq, id=item.id, rung=Rung.SEEN, at="", by="ack")
            world.store.record(ADA, line, durable=True)
            (verdict,) = await ordered(world, do, item)
            assert (error_of(verdict), verdict.rung) == ("no-input", Rung.SEEN)
            assert world.store.mailbox(ADA).rung_of(item.id) is Rung.SEEN

    in_world(body)


@pytest.mark.parametrize("taken", [False, True])
def test_what_a_session_was_given_is_offered_again_with_the_mark(taken: bool) -> None:
    """Also where its conversation holds it: somebody asked for just that."""

    async def body(world: World) -> None:
        here = world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        if taken:
            world.scribe.take(here, item.id)
            await world.rest()
        (verdict,) = await ordered(world, Deed.REQUEUE, item)
        assert (verdict.rung, verdict.given) == (Rung.STORED, 5)
        assert [offer.repeat for offer in world.slot.offers] == [False, True]
        assert world.ledger()[-3].by == "requeue owner pid 7"

    in_world(body)


def test_a_requeue_of_what_is_proven_seen_says_so() -> None:
    """The proof was told before the order, and is heard before it."""

    async def body(world: World) -> None:
        here = world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.courier.evidence(here.ref, Taken(item.id))
        world.courier.evidence(here.ref, Seen(item.id))
        (verdict,) = await ordered(world, Deed.REQUEUE, item)
        assert (error_of(verdict), verdict.rung) == ("no-input", Rung.SEEN)
        assert world.slot.texts() == ["one"]

    in_world(body)


def test_proof_of_the_first_copy_ends_a_requeued_letter() -> None:
    """Whichever session reads it first."""

    async def body(world: World) -> None:
        first = world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.town.come(session(6))
        world.town.give(ADA, 6)
        await world.rest()
        assert world.slot.texts() == ["one"]
        await ordered(world, Deed.REQUEUE, item)
        assert [offer.pid for offer in world.slot.offers] == [5, 6]
        world.courier.evidence(first.ref, Seen(item.id))
        await world.rest()
        assert world.rungs(item)[-1] == "seen"

    in_world(body)


def test_what_a_session_refused_is_offered_to_it_again_by_a_requeue() -> None:
    """The control: by itself it is not."""

    async def body(world: World) -> None:
        world.slot.answers["one"] = [Refused(Reason.TOO_LARGE)]
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.after(3600)
        assert world.slot.texts() == ["one"]
        await ordered(world, Deed.REQUEUE, item)
        assert world.slot.texts() == ["one", "one"]

    in_world(body)


def test_what_was_given_to_nobody_is_not_requeued_and_what_is_held_neither() -> None:
    """It waits already; or for a release."""

    async def body(world: World) -> None:
        item = await world.mail("one")
        assert (await ordered(world, Deed.REQUEUE, item))[0].already
        await ordered(world, Deed.HOLD, item)
        (verdict,) = await ordered(world, Deed.REQUEUE, item)
        assert error_of(verdict) == "not-reached"
        assert world.rungs(item) == ["parked"]

    in_world(body)


def test_a_flush_tries_now_what_waits_for_a_time() -> None:
    """A lane's wait, and the silence of the session as a whole."""

    async def body(world: World) -> None:
        never = [Deferred(Reason.UNREACHABLE, 200.0) for _ in range(2)]
        world.slot.answers["one"] = list(never)
        world.slot.answers["two"] = list(never)
        world.slot.answers["three"] = [Held(Reason.APPROVAL)]
        world.town.come(session(5), ADA)
        items = [await world.mail("one"), await world.mail("two", "eve")]
        await world.rest()
        items.append(await world.mail("three", "zoe"))
        await world.rest()
        before = len(world.slot.offers)
        world.slot.answers.clear()
        await world.after(1)
        assert len(world.slot.offers) == before
        verdicts = await ordered(world, Deed.FLUSH, *items)
        assert [verdict.rung for verdict in verdicts[:2]] == [Rung.STORED, Rung.STORED]
        assert sorted(world.slot.texts()[before:]) == ["one", "three", "two"]

    in_world(body)


def test_a_flush_moves_nothing_that_is_with_a_session_or_held() -> None:
    """Time is not what they wait for."""

    async def body(world: World) -> None:
        world.digest_from = 3
        held = await world.mail("held", "eve")
        await ordered(world, Deed.HOLD, held)
        world.town.come(session(5), ADA)
        given = await world.mail("one")
        await world.rest()
        verdicts = await ordered(world, Deed.FLUSH, held, given)
        assert [verdict.already for verdict in verdicts] == [True, True]
        assert world.slot.texts() == ["one"]

    in_world(body)


def test_an_order_the_ledger_did_not_take_says_so_and_can_be_given_again() -> None:
    """Nothing is told as done that is not recorded."""

    async def body(world: World) -> None:
        item = await world.mail("one")
        world.store.fail_next = 1
        (verdict,) = await ordered(world, Deed.HOLD, item)
        assert error_of(verdict) == "io"
        (verdict,) = await ordered(world, Deed.HOLD, item)
        assert verdict.rung is Rung.PARKED

    in_world(body)


def test_an_order_at_the_end_of_the_daemon_is_refused() -> None:
    """Its caller is answered, not left waiting."""

    async def body(world: World) -> None:
        item = await world.mail("one")
        await world.courier.stop()
        (verdict,) = await ordered(world, Deed.HOLD, item)
        assert error_of(verdict) == "unavailable"

    in_world(body)


def test_thousands_are_held_at_once() -> None:
    """One batch, not one turn each."""

    async def body(world: World) -> None:
        items = await world.mails(3000)
        verdicts = await ordered(world, Deed.HOLD, *items)
        assert {verdict.rung for verdict in verdicts} == {Rung.PARKED}

    in_world(body)


def test_what_is_held_stands_in_no_digest() -> None:
    """Nor what waits behind it; the control: all other letters of the backlog do."""

    async def body(world: World) -> None:
        world.digest_from = 3
        held = await world.mail("held", "eve")
        behind = await world.mail("behind", "eve")
        await ordered(world, Deed.HOLD, held)
        others = await world.mails(5)
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.rungs(held) == ["parked"]
        assert world.rungs(behind) == []
        assert all(world.rungs(item) == ["offered"] for item in others)
        # What a digest gave to the session is given again by itself, or ended.
        again, over = others[0], others[1]
        (verdict,) = await ordered(world, Deed.REQUEUE, again)
        assert (verdict.rung, verdict.given) == (Rung.STORED, 5)
        assert world.rungs(again)[1:] == ["stored", "intent", "offered"]
        assert world.slot.texts()[1:] == ["bob 0"]
        await ordered(world, Deed.DROP, over)
        assert world.rungs(over) == ["offered", "dropped"]
        (verdict,) = await ordered(world, Deed.HOLD, others[2])
        assert error_of(verdict) == "not-reached"

    in_world(body)


def test_a_requeue_out_of_a_digest_outlives_a_restart() -> None:
    """The digest does not take the letter back; the control: it keeps the others."""

    async def body(world: World) -> None:
        world.digest_from = 3
        others = await world.mails(5)
        world.town.come(session(5), ADA)
        await world.rest()
        world.slot.deaf_to.add(5)
        await ordered(world, Deed.REQUEUE, others[0])
        await world.restart()
        assert world.slot.texts()[1:] == []
        world.slot.deaf_to.clear()
        world.town.change(session(5, status="busy"))
        await world.rest()
        assert world.slot.texts()[1:] == ["bob 0"]
        assert world.rungs(others[1]) == ["offered"]

    in_world(body)

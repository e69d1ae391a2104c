"""The courier as a service: events, sweep, supervision, time to live, its end."""

import asyncio
import itertools
import logging

import pytest

from homi.address import Name
from homi.config import STOP_DRAIN
from homi.envelope import Reason, Rung
from homi.legs.base import Deferred, Ignored, Seen
from tests.unit.courier.test_drain import finish, in_world
from tests.unit.courier.twins import ADA, World, lost_hints, session, turn

EVE = Name("eve")


def test_every_lost_hint_is_made_good_by_the_sweep() -> None:
    """New mail, a new owner, a death, a change: only slower."""

    async def body(world: World) -> None:
        with lost_hints(world):
            await world.mail("bob 0")
            world.town.come(session(5), ADA)
            await world.after(30.0)
            assert world.slot.offers == []
            world.courier.sweep()
            await world.rest()
            assert world.slot.texts() == ["bob 0"]
            world.town.die(5)
            world.town.come(session(6), ADA)
            await world.mail("bob 1")
            world.courier.sweep()
            await world.after(1.0)
            assert world.scribe.finished == [5]
            assert [(o.pid, o.text) for o in world.slot.offers[1:]] == [
                (6, "bob 0"),
                (6, "bob 1"),
            ]

    in_world(body)


def test_a_death_nobody_told_of_is_read_to_its_end_all_the_same() -> None:
    """The lost notice must not cost the proof."""

    async def body(world: World) -> None:
        owner = world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.scribe.at_end = [(owner.ref, Seen(item.id))]
        with lost_hints(world):
            world.town.die(5)
            world.town.come(session(6), ADA)
        await world.mail("two")
        await world.after(1.0)
        assert world.rungs(item)[-1] == "seen"
        assert world.slot.texts() == ["one", "two"]

    in_world(body)


def test_a_finished_head_nobody_told_of_frees_its_lane_at_the_sweep() -> None:
    """An ack by the control door is a hint like any other."""

    async def body(world: World) -> None:
        world.slot.answers["bob 0"] = [Deferred(Reason.BUSY, 300.0)]
        world.town.come(session(5), ADA)
        head, _ = await world.mails(2)
        world.courier.recorded, told = (lambda _n, _l: None), world.courier.recorded
        await finish(world, head.seq, head.id, Rung.CANCELLED)
        assert world.slot.texts() == ["bob 0"]
        world.courier.sweep()
        await world.rest()
        assert world.slot.texts() == ["bob 0", "bob 1"]
        world.courier.recorded = told

    in_world(body)


def test_a_bug_in_one_drain_is_told_and_hurts_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is started again with backoff; its mail is not lost."""

    async def body(world: World) -> None:
        world.slot.answers["broken"] = [ZeroDivisionError("a bug")]
        world.town.come(session(5), ADA)
        world.town.come(session(6, name="eve"), EVE)
        item = await world.mail("broken")
        await world.mail("ada's", "eve")
        await world.mail("eve's", to=EVE)
        await world.rest()
        assert world.slot.texts() == ["broken", "eve's"]
        assert "ZeroDivisionError: a bug" in caplog.text
        await world.after(1.1)
        assert world.slot.texts() == ["broken", "eve's", "ada's"]
        # Its outcome is unknown: it waits for evidence, like any such intent.
        assert world.rungs(item) == ["intent"]
        world.courier.evidence(session(5).ref, Ignored(item.id))
        await world.rest()
        assert world.slot.texts()[-1] == "broken"
        assert world.slot.offers[-1].repeat

    in_world(body)


def test_a_drain_that_fails_for_ever_is_restarted_ever_more_seldom(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Events do not start it early; a minute is the longest pause."""

    async def body(world: World) -> None:
        tries: list[float] = []

        def broken(_session: object, _id: object) -> bool:
            tries.append(world.clock.monotonic())
            raise ZeroDivisionError

        world.scribe.taken_before = broken
        world.town.come(session(5), ADA)
        await world.mail("one")
        for _ in range(40):
            await world.after(5.0)
            world.courier.sweep()
        pauses = [round(b - a) for a, b in itertools.pairwise(tries)]
        assert pauses[:5] == [1, 2, 4, 8, 16]
        assert max(pauses) <= 61
        assert caplog.records

    in_world(body)


def test_stop_lets_the_offer_in_flight_end_and_starts_no_other() -> None:
    """Its outcome is recorded: a clean stop makes no repeats."""

    async def main() -> None:
        world = World()
        await world.start()
        closing = asyncio.Event()
        world.slot.answers["bob 0"] = [closing]
        world.town.come(session(5), ADA)
        first, second = await world.mails(2)
        asyncio.get_running_loop().call_later(1.0, closing.set)
        before = world.clock.monotonic()
        await world.stop()
        assert world.clock.monotonic() - before < 1.5
        assert world.rungs(first) == ["intent", "offered"]
        assert world.rungs(second) == []
        assert world.slot.texts() == ["bob 0"]

    turn(main())


def test_a_stop_waits_for_an_offer_and_no_longer_than_it_may(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What does not end is an intent, judged at the next start."""

    async def main() -> None:
        world = World()
        await world.start()
        world.slot.answers["one"] = [asyncio.Event()]
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        before = world.clock.monotonic()
        await world.stop()
        assert abs(world.clock.monotonic() - before - STOP_DRAIN) < 0.1
        assert world.rungs(item) == ["intent"]
        assert "did not end in time" in caplog.text
        assert asyncio.all_tasks() == {asyncio.current_task()}

    turn(main())


def test_a_courier_stopped_before_it_runs_does_not_begin() -> None:
    """A start that fails behind it must end, not wait for ever."""

    async def main() -> None:
        world = World()
        task = asyncio.get_running_loop().create_task(world.courier.run())
        await world.courier.stop()
        await asyncio.wait_for(task, 1.0)

    turn(main())


def test_a_stopped_courier_is_woken_by_nothing() -> None:
    """Its timers are gone and events find it at rest."""

    async def main() -> None:
        world = World()
        await world.start()
        await world.mail("one", ttl_s=5)
        await world.rest()
        await world.stop()
        world.town.come(session(5), ADA)
        await world.mail("two")
        world.courier.sweep()
        await world.after(60.0)
        assert world.slot.offers == []
        assert len(world.pending()) == 2

    turn(main())


def test_run_ends_with_its_own_cancellation() -> None:
    """The daemon cancels it like any service; nothing is left running."""

    async def main() -> None:
        world = World()
        await world.start()
        world.town.come(session(5), ADA)
        await world.mail("one")
        await world.rest()
        task = world.task
        assert task is not None
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert asyncio.all_tasks() == {asyncio.current_task()}

    turn(main())


def test_mail_expires_by_its_time_to_live_and_the_sender_is_told() -> None:
    """Counted from its arrival here; a decision, so durable; once."""

    async def body(world: World) -> None:
        item = await world.mail("short", ttl_s=60)
        stays = await world.mail("long")
        await world.after(59.0)
        assert world.rungs(item) == []
        await world.after(1.1)
        assert world.rungs(item) == ["expired"]
        assert [(t[0], t[2]) for t in world.told] == [(item.id, "expired")]
        assert world.pending() == [stays.id]

    in_world(body)


def test_an_expired_head_frees_its_lane() -> None:
    """Its time over, the next goes out."""

    async def body(world: World) -> None:
        world.slot.answers["head"] = [Deferred(Reason.BUSY, 300.0)]
        world.town.come(session(5), ADA)
        head = await world.mail("head", ttl_s=10)
        await world.mail("next")
        await world.after(9.0)
        assert world.slot.texts() == ["head"]
        await world.after(1.1)
        assert world.rungs(head)[-1] == "expired"
        assert world.slot.texts() == ["head", "next"]

    in_world(body)


def test_what_a_session_has_does_not_expire_in_its_hands() -> None:
    """It may have been read; when it comes back unproven its time is over."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        item = await world.mail("one", ttl_s=10)
        await world.after(60.0)
        assert world.rungs(item) == ["intent", "offered"]
        world.town.die(5)
        world.town.come(session(6), ADA)
        await world.after(1.0)
        assert world.rungs(item)[-1] == "expired"
        assert world.slot.texts() == ["one"]

    in_world(body)


def test_time_ran_out_while_homi_was_down() -> None:
    """The first sweep decides it."""

    async def body(world: World) -> None:
        item = await world.mail("one", ttl_s=10)
        await world.rest()
        world.kill()
        await asyncio.sleep(60.0)
        await world.restart()
        assert world.rungs(item)[-1] == "expired"

    in_world(body)


def test_an_expiry_the_disk_refuses_is_tried_again() -> None:
    """Not expired before it is written; told only then."""

    async def body(world: World) -> None:
        item = await world.mail("one", ttl_s=10)
        world.store.closed_text = "a sync failed"
        await world.after(11.0)
        assert world.rungs(item) == []
        assert world.told == []
        world.store.closed_text = ""
        await world.after(31.0)
        assert world.rungs(item) == ["expired"]
        assert len(world.told) == 1

    in_world(body)


def test_every_line_is_told_to_who_subscribed() -> None:
    """Long verbs wait for rungs; they are told after the mailbox knows."""

    async def body(world: World) -> None:
        seen: list[tuple[Name, int, Rung, Rung]] = []
        world.courier.subscribe(
            lambda name, item, line: seen.append((name, item.seq, line.rung, item.rung))
        )
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        assert seen == [
            (ADA, item.seq, Rung.INTENT, Rung.INTENT),
            (ADA, item.seq, Rung.OFFERED, Rung.OFFERED),
        ]

    in_world(body)


def test_a_line_a_transition_goes_to_the_log_and_no_body(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Id first; a person greps for it."""

    async def body(world: World) -> None:
        caplog.set_level(logging.INFO, "homi.courier")
        world.town.come(session(5), ADA)
        item = await world.mail("a secret body")
        await world.rest()
        lines = [record.getMessage() for record in caplog.records]
        assert lines == [f"{item.id} to=ada via=slot pid=5 status=offered"]

    in_world(body)


def test_a_storm_of_hints_costs_a_blocked_lane_nothing() -> None:
    """The accept path calls hint for every letter: no task, no pass."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        await world.mails(30)
        tended = world.courier._names[ADA]
        assert tended.task is None
        await world.mail("bob 30")
        assert tended.task is None
        await world.mail("eve 0", "eve")
        await world.rest()
        assert world.slot.texts()[-1] == "eve 0"

    in_world(body)


def test_a_session_that_is_shut_gets_nothing_and_the_queue_says_why() -> None:
    """What keeps it is told by whoever watches it; a notice ends the wait."""

    async def body(world: World) -> None:
        world.town.come(session(5, shut=Reason.BUSY), ADA)
        item = await world.mail("one")
        await world.rest()
        assert world.slot.offers == []
        assert world.courier.explain(ADA, item)[:2] == (Rung.HELD, Reason.BUSY)
        world.town.change(session(5))
        await world.rest()
        assert world.slot.texts() == ["one"]

    in_world(body)

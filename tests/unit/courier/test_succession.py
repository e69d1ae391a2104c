"""Who gets the mail when sessions end, change names, or homi starts anew."""

import asyncio

from homi.address import Name
from homi.envelope import Reason, Rung
from homi.legs.base import Ignored, NoProof, Receipt, Seen, Taken
from tests.unit.courier.test_drain import in_world
from tests.unit.courier.twins import ADA, World, session


def test_unproven_mail_goes_to_the_successor_as_a_repeat() -> None:
    """Read to the end first; what was proven stays proven."""

    async def body(world: World) -> None:
        owner = world.town.come(session(5), ADA)
        proven, unproven = await world.mails(2)
        world.scribe.at_end = [
            (owner.ref, Taken(proven.id)),
            (owner.ref, Seen(proven.id)),
        ]
        world.town.die(5)
        await world.rest()
        assert world.scribe.finished == [5]
        assert world.rungs(proven)[-1] == "seen"
        shown = (Rung.HELD, Reason.NO_OWNER, None)
        assert world.courier.explain(ADA, unproven) == shown
        world.town.come(session(6), ADA)
        await world.rest()
        last = world.slot.offers[-1]
        assert (last.pid, last.id, last.repeat) == (6, unproven.id, True)
        assert len(world.slot.offers) == 3

    in_world(body)


def test_the_files_show_that_nobody_has_it_any_more() -> None:
    """A reader of the ledger alone must not find a dead session's offer standing."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.town.die(5)
        await world.rest()
        last = world.ledger()[-1]
        assert (last.seq, last.rung, last.reason) == (
            item.seq,
            Rung.HELD,
            Reason.NO_OWNER,
        )
        lines = len(world.ledger())
        world.courier.sweep()
        await world.after(600.0)
        assert len(world.ledger()) == lines

    in_world(body)


def test_the_successor_is_not_kept_waiting_for_the_sweep() -> None:
    """A session takes its record away first; its end a moment later tells nobody."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.town.unlisted.add((5, "1"))
        world.town.die(5)
        world.town.come(session(6), ADA)
        await world.after(1.0)
        assert [offer.pid for offer in world.slot.offers] == [5]
        world.town.unlisted.clear()
        await world.after(2.0)
        last = world.slot.offers[-1]
        assert (last.pid, last.id, last.repeat) == (6, item.id, True)

    in_world(body)


def test_nothing_goes_to_the_successor_before_the_dead_is_read() -> None:
    """Not even later mail of the lane: the repeats stand in front."""

    async def body(world: World) -> None:
        world.scribe.slow = 2.0
        world.town.come(session(5), ADA)
        await world.mail("bob 0")
        await world.rest()
        world.town.die(5)
        world.town.come(session(6), ADA)
        await world.mail("bob 1")
        await world.mail("eve 0", "eve")
        await world.after(1.0)
        assert world.slot.texts() == ["bob 0", "eve 0"]
        await world.after(1.1)
        assert world.slot.texts() == ["bob 0", "eve 0", "bob 0", "bob 1"]
        assert [o.repeat for o in world.slot.offers] == [False, False, True, False]

    in_world(body)


def test_a_transcript_without_an_end_delays_the_mail_by_seconds_only() -> None:
    """Five at the most; then it is unproven."""

    async def body(world: World) -> None:
        world.scribe.slow = 3600.0
        world.town.come(session(5), ADA)
        await world.mail("one")
        await world.rest()
        world.town.die(5)
        world.town.come(session(6), ADA)
        await world.after(4.9)
        assert world.slot.texts() == ["one"]
        await world.after(0.2)
        assert world.slot.texts() == ["one", "one"]

    in_world(body)


def test_a_resumed_conversation_that_holds_the_letter_gets_no_second_one() -> None:
    """Taken outlives the process; its next answer closes it."""

    async def body(world: World) -> None:
        owner = world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.scribe.take(owner, item.id)
        await world.rest()
        world.town.die(5)
        await world.rest()
        resumed = session(6, session_id=owner.session_id)
        world.town.come(resumed, ADA)
        await world.rest()
        assert world.slot.texts() == ["one"]
        assert item.id in world.scribe.watched[(6, "1")]
        assert world.courier.explain(ADA, item) == (Rung.OFFERED, None, None)
        world.courier.evidence(resumed.ref, Seen(item.id))
        await world.rest()
        assert world.pending() == []

    in_world(body)


def test_another_conversation_gets_what_was_taken_but_not_answered() -> None:
    """The control of the case before: the new one does not hold it."""

    async def body(world: World) -> None:
        owner = world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.scribe.take(owner, item.id)
        world.town.die(5)
        world.town.come(session(6), ADA)
        await world.after(1.0)
        assert [(o.pid, o.repeat) for o in world.slot.offers] == [(5, False), (6, True)]

    in_world(body)


def test_a_session_renamed_away_keeps_what_it_has_and_gets_no_more() -> None:
    """The process lives and may read it yet; what is not out waits for an owner."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        out = await world.mail("out")
        await world.rest()
        world.town.give(ADA, 0)
        world.town.change(session(5, name="else", address=Name("else")))
        waits = await world.mail("waits")
        await world.rest()
        assert world.slot.texts() == ["out"]
        assert world.courier.explain(ADA, out) == (Rung.OFFERED, None, None)
        assert world.courier.explain(ADA, waits)[:2] == (Rung.HELD, Reason.NO_OWNER)
        world.town.come(session(6), ADA)
        await world.rest()
        assert [(o.pid, o.text) for o in world.slot.offers] == [
            (5, "out"),
            (6, "waits"),
        ]
        world.courier.evidence(session(5).ref, Seen(out.id))
        await world.rest()
        assert world.pending() == [waits.id]

    in_world(body)


def test_what_a_renamed_session_ignored_goes_to_the_owner() -> None:
    """Its witness concluded; the mail is the name's, not the process's."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.town.give(ADA, 0)
        world.town.come(session(6), ADA)
        await world.rest()
        world.courier.evidence(session(5).ref, Ignored(item.id))
        await world.rest()
        assert [(o.pid, o.repeat) for o in world.slot.offers] == [(5, False), (6, True)]

    in_world(body)


def test_a_pid_that_comes_again_is_another_process() -> None:
    """Pid and start time name it; the pid alone names nobody."""

    async def body(world: World) -> None:
        world.town.come(session(5, start="1"), ADA)
        await world.mail("one")
        await world.rest()
        world.town.die(5)
        world.town.come(session(5, start="2", session_id="other"), ADA)
        await world.after(1.0)
        assert [(o.process, o.repeat) for o in world.slot.offers] == [
            ((5, "1"), False),
            ((5, "2"), True),
        ]

    in_world(body)


def test_a_restart_offers_nothing_again_to_a_session_that_lives() -> None:
    """It is watched again; only evidence moves it."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        await world.restart()
        await world.after(3600.0)
        world.courier.sweep()
        await world.rest()
        assert world.slot.texts() == ["one"]
        assert item.id in world.scribe.watched[(5, "1")]
        assert world.scribe.silences == [(5, item.id), (5, item.id)]
        world.courier.evidence(session(5).ref, Seen(item.id))
        await world.rest()
        assert world.pending() == []

    in_world(body)


def test_a_crash_between_the_bytes_and_the_outcome_is_judged_by_the_intent() -> None:
    """Not offered on a guess; its lane waits; evidence says which it was."""

    async def body(world: World) -> None:
        world.slot.answers["bob 0"] = [asyncio.Event()]
        world.town.come(session(5), ADA)
        item = await world.mail("bob 0")
        await world.mail("bob 1")
        await world.rest()
        assert world.rungs(item) == ["intent"]
        await world.restart()
        await world.after(3600.0)
        assert world.slot.texts() == ["bob 0"]
        world.courier.evidence(session(5).ref, Ignored(item.id))
        await world.rest()
        assert world.slot.texts() == ["bob 0", "bob 0", "bob 1"]
        assert [o.repeat for o in world.slot.offers] == [False, True, False]
        assert world.slot.offers[0].id == world.slot.offers[1].id

    in_world(body)


def test_after_a_crash_the_transcript_suppresses_the_repeat() -> None:
    """The letter is in the conversation: nothing is offered, it is taken."""

    async def body(world: World) -> None:
        world.slot.answers["one"] = [asyncio.Event()]
        owner = world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.scribe.conversations[owner.session_id] = {item.id}
        await world.restart()
        assert world.slot.texts() == ["one"]
        assert world.rungs(item) == ["intent", "taken"]
        world.courier.evidence(owner.ref, Seen(item.id))
        await world.rest()
        assert world.pending() == []

    in_world(body)


def test_an_intent_without_any_proof_frees_its_lane_and_stays() -> None:
    """The rest of the lane is not held hostage by what can never be known."""

    async def body(world: World) -> None:
        world.slot.answers["bob 0"] = [asyncio.Event()]
        world.town.come(session(5), ADA)
        item = await world.mail("bob 0")
        await world.mail("bob 1")
        await world.rest()
        await world.restart()
        world.courier.evidence(session(5).ref, NoProof(item.id))
        await world.rest()
        assert world.slot.texts() == ["bob 0", "bob 1"]
        shown = (Rung.STORED, Reason.NO_PROOF, None)
        assert world.courier.explain(ADA, world.now(item)) == shown

    in_world(body)


def test_a_session_that_died_while_homi_was_down_is_succeeded() -> None:
    """Nobody can read its end any more: unproven, so a repeat."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        await world.mail("one")
        await world.rest()
        world.kill()
        world.town.couriers = []
        world.town.die(5)
        await world.restart()
        await world.after(1.0)
        assert world.scribe.finished == []
        world.town.come(session(6), ADA)
        await world.rest()
        assert [(o.pid, o.repeat) for o in world.slot.offers] == [(5, False), (6, True)]

    in_world(body)


def test_a_process_that_lives_but_is_not_listed_keeps_its_mail() -> None:
    """A torn record at start-up must not make two turns of one letter."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        unlisted = world.town.live.pop(5)
        world.kill()
        world.town.unlisted.add((5, "1"))
        await world.restart()
        assert world.rungs(item) == ["intent", "offered"]
        world.town.come(unlisted, ADA)
        await world.rest()
        assert world.slot.texts() == ["one"]
        assert item.id in world.scribe.watched[(5, "1")]

    in_world(body)


def test_silence_says_nothing_of_a_held_letter_after_a_restart() -> None:
    """The client waits for its user; that it is silent says nothing."""

    async def body(world: World) -> None:
        owner = world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.courier.evidence(owner.ref, Receipt(item.id, "held"))
        await world.rest()
        world.scribe.silences.clear()
        await world.restart()
        assert item.id in world.scribe.watched[(5, "1")]
        assert world.scribe.silences == []
        world.courier.evidence(owner.ref, Taken(item.id))
        await world.rest()
        assert item.id in world.pending()
        assert world.rungs(item)[-1] == "taken"

    in_world(body)


def test_a_session_that_died_holding_a_letter_is_succeeded() -> None:
    """SIGKILL sends no receipt; what it held was perhaps released before."""

    async def body(world: World) -> None:
        owner = world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        world.courier.evidence(owner.ref, Receipt(item.id, "held"))
        await world.rest()
        world.town.die(5)
        world.town.come(session(6), ADA)
        await world.after(1.0)
        assert [(o.pid, o.repeat) for o in world.slot.offers] == [(5, False), (6, True)]

    in_world(body)

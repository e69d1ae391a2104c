"""A long backlog goes as one turn that lists it."""

import pytest

from homi.address import Name
from homi.digest import is_digest, read
from homi.envelope import (
    Kind,
    LedgerLine,
    MessageId,
    Reason,
    Rung,
    decode_msg,
)
from homi.legs.base import Deferred, Ignored, NoProof, Receipt, Refused, Seen
from homi.store.mailbox import Item
from tests.unit.courier.test_drain import Test, finish
from tests.unit.courier.twins import ADA, World, session, turn


def in_world(body: Test, over: int = 3) -> None:
    """Run body with a courier that makes a digest of more than over letters."""

    async def main() -> None:
        world = World()
        world.digest_from = over
        await world.start()
        await body(world)
        await world.stop()

    turn(main())


def digests(world: World) -> list[Item]:
    """The digests among the pending mail."""
    return [
        item
        for item in world.store.mailbox(ADA).pending.values()
        if item.kind is Kind.NOTICE
    ]


def lines(world: World, item: Item) -> list[LedgerLine]:
    """The letter's ledger."""
    return [line for line in world.ledger() if line.seq == item.seq]


def test_a_backlog_goes_as_one_turn_that_lists_it() -> None:
    """Ids, senders, first lines; each letter is offered by the digest's id, pending."""

    async def body(world: World) -> None:
        items = await world.mails(3)
        items.append(await world.mail("first line\nsecond line", "eve"))
        owner = world.town.come(session(5), ADA)
        await world.rest()
        (offer,) = world.slot.offers
        assert offer.sender == "postmaster"
        assert "4 letters are waiting for ada" in offer.text
        assert "bob  0s ago  bob 1" in offer.text
        assert "eve  0s ago  first line" in offer.text
        assert "second line" not in offer.text
        assert items[0].id.rpartition("-")[2] in offer.text
        for item in items:
            (line,) = lines(world, item)
            assert (line.rung, line.reason) == (Rung.OFFERED, Reason.DIGEST)
            assert (line.by, line.session) == (f"digest {offer.id}", owner.ref)
            assert not line.repeat
        assert {item.id for item in items} < set(world.pending())

    in_world(body)


def test_a_short_backlog_goes_letter_by_letter() -> None:
    """The control: as many as the threshold are turns of their own."""

    async def body(world: World) -> None:
        await world.mails(3)
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.slot.texts() == ["bob 0", "bob 1", "bob 2"]

    in_world(body)


def test_later_mail_goes_as_a_turn_and_the_listed_are_not_offered_again() -> None:
    """For as long as that process lives; what is read is finished."""

    async def body(world: World) -> None:
        items = await world.mails(4)
        world.town.come(session(5), ADA)
        await world.rest()
        await world.mail("later")
        await world.after(3600.0)
        assert world.slot.texts()[1:] == ["later"]
        world.courier.evidence(session(5).ref, Seen(MessageId(world.slot.offers[0].id)))
        await finish(world, items[0].seq, items[0].id, Rung.SEEN)
        await world.after(3600.0)
        assert world.slot.texts()[1:] == ["later"]
        assert [i.id for i in items[1:]] == world.pending()[:3]

    in_world(body)


def test_an_ask_is_a_turn_of_its_own_behind_what_its_lane_has_before_it() -> None:
    """And before what the lane has behind it; another lane's ask waits for nobody."""

    async def body(world: World) -> None:
        await world.mail("eve asks", "eve", kind=Kind.ASK)
        await world.mails(4)
        await world.mail("bob asks", kind=Kind.ASK)
        await world.mail("bob last")
        world.town.come(session(5), ADA)
        await world.rest()
        first, *texts = world.slot.texts()
        assert "4 letters are waiting" in first
        assert texts == ["eve asks", "bob asks", "bob last"]

    in_world(body)


def test_letters_wait_for_a_digest_that_could_not_go_out() -> None:
    """They are not offered before it, one by one."""

    async def body(world: World) -> None:
        items = await world.mails(4)
        world.slot.answers = {}
        failing = [Deferred(Reason.UNREACHABLE, 5.0)]
        world.slot.then = lambda _s, letter: world.slot.answers.setdefault(
            letter.msg.text, failing
        )
        world.town.come(session(5), ADA)
        await world.rest()
        assert len(world.slot.offers) == 1
        assert all(lines(world, item) == [] for item in items)
        assert world.courier.explain(ADA, items[0])[1] is Reason.DIGEST
        await world.after(6.0)
        assert len({offer.id for offer in world.slot.offers}) == 1
        assert lines(world, items[0])[-1].reason is Reason.DIGEST

    in_world(body)


def test_the_next_session_gets_another_digest_with_the_repeat_mark() -> None:
    """The first is for nobody any more."""

    async def body(world: World) -> None:
        items = await world.mails(4)
        world.town.come(session(5), ADA)
        await world.rest()
        (old,) = digests(world)
        world.town.die(5)
        await world.after(1.0)
        assert world.courier.explain(ADA, items[0])[1] is Reason.NO_OWNER
        world.town.come(session(6), ADA)
        await world.rest()
        assert [offer.pid for offer in world.slot.offers] == [5, 6]
        assert world.slot.offers[0].id != world.slot.offers[1].id
        assert world.rungs(old)[-1] == "cancelled"
        last = lines(world, items[0])[-1]
        assert (last.by, last.repeat) == (f"digest {world.slot.offers[1].id}", True)

    in_world(body)


def test_what_is_left_unread_below_the_threshold_comes_as_marked_turns() -> None:
    """To the next session, each with its text."""

    async def body(world: World) -> None:
        items = await world.mails(4)
        world.town.come(session(5), ADA)
        await world.rest()
        for item in items[:2]:
            await finish(world, item.seq, item.id, Rung.SEEN)
        world.town.die(5)
        await world.after(1.0)
        world.town.come(session(6), ADA)
        await world.rest()
        assert world.slot.texts()[1:] == ["bob 2", "bob 3"]
        assert all(offer.repeat for offer in world.slot.offers[1:])

    in_world(body)


def test_clear_brings_the_letters_again() -> None:
    """The new conversation knows nothing of them."""

    async def body(world: World) -> None:
        items = await world.mails(4)
        owner = world.town.come(session(5), ADA)
        await world.rest()
        world.courier.evidence(owner.ref, Seen(MessageId(world.slot.offers[0].id)))
        await world.rest()
        world.town.change(session(5, session_id="another"))
        await world.after(2.0)
        assert len(world.slot.offers) == 2
        assert lines(world, items[0])[-1].session.id == "another"
        assert lines(world, items[0])[-1].repeat

    in_world(body)


def test_a_digest_the_session_lost_is_offered_again_itself() -> None:
    """Its letters stay listed."""

    async def body(world: World) -> None:
        items = await world.mails(4)
        owner = world.town.come(session(5), ADA)
        await world.rest()
        lost = MessageId(world.slot.offers[0].id)
        world.courier.evidence(owner.ref, Ignored(lost))
        await world.after(40.0)
        world.courier.evidence(owner.ref, Receipt(lost, "dropped", "rate-limited"))
        await world.after(40.0)
        assert [offer.id for offer in world.slot.offers] == [lost] * 3
        assert [offer.repeat for offer in world.slot.offers] == [False, True, True]
        assert all(len(lines(world, item)) == 1 for item in items)

    in_world(body)


@pytest.mark.parametrize("how", ["at once", "by receipt"])
def test_a_session_that_refuses_the_digest_is_asked_letter_by_letter(how: str) -> None:
    """No digest of a digest's refusal, for ever."""

    async def body(world: World) -> None:
        items = await world.mails(4)

        def refuse(_session: object, letter: object) -> None:
            if letter.msg.kind is Kind.NOTICE:
                world.slot.answers[letter.msg.text] = [Refused(Reason.POLICY)]

        if how == "at once":
            world.slot.then = refuse
        owner = world.town.come(session(5), ADA)
        await world.rest()
        if how == "by receipt":
            receipt = Receipt(MessageId(world.slot.offers[0].id), "denied")
            world.courier.evidence(owner.ref, receipt)
            await world.rest()
        assert world.slot.texts()[1:] == ["bob 0", "bob 1", "bob 2", "bob 3"]
        marked = [offer.repeat for offer in world.slot.offers[1:]]
        assert marked == [how == "by receipt"] * len(items)

    in_world(body)


def test_a_digest_that_a_person_drops_gives_its_letters_back() -> None:
    """Another one lists them, as a repeat."""

    async def body(world: World) -> None:
        items = await world.mails(4)
        world.town.come(session(5), ADA)
        await world.rest()
        (digest,) = digests(world)
        await finish(world, digest.seq, digest.id, Rung.DROPPED)
        await world.rest()
        assert len({offer.id for offer in world.slot.offers}) == 2
        assert lines(world, items[0])[-1].repeat

    in_world(body)


def test_a_listed_letter_expires_and_a_digest_never_lists_a_digest() -> None:
    """Its sender's time goes on until its text was read."""

    async def body(world: World) -> None:
        item = await world.mail("soon over", ttl_s=60)
        await world.mails(4)
        world.town.come(session(5), ADA)
        await world.after(61.0)
        assert world.rungs(item)[-1] == "expired"
        await world.mails(4, "eve")
        world.town.die(5)
        await world.after(1.0)
        world.town.come(session(6), ADA)
        await world.rest()
        assert "postmaster" not in world.slot.offers[-1].text

    in_world(body)


async def _cut(world: World, last: str) -> None:
    """Kill the courier when the ledger would take a digest's line of that kind."""
    real = world.store.record

    def record(name: Name, line: LedgerLine, done: object, **more: object) -> None:
        by = line.by or ""
        what = "listed" if by.startswith("digest ") else line.rung.value
        if what == last:
            world.store.record = lambda *_a, **_k: None
            return
        real(name, line, done, **more)

    world.store.record = record
    world.town.come(session(5), ADA)
    await world.rest()
    await world.restart()


@pytest.mark.parametrize("last", ["intent", "offered", "listed", "none"])
def test_a_kill_at_any_line_of_a_digest_makes_no_second_one(last: str) -> None:
    """Stored, about to go, handed over, half its letters' lines written."""

    async def body(world: World) -> None:
        items = await world.mails(4)
        await _cut(world, last)
        made = digests(world)
        assert len(made) == 1
        if last == "offered":  # its outcome is unknown: the silence is judged
            world.courier.evidence(session(5).ref, Ignored(made[0].id))
        await world.after(40.0)
        assert {offer.id for offer in world.slot.offers} == {made[0].id}
        for item in items:
            found = lines(world, item)[-1]
            assert found.by == f"digest {made[0].id}"
            assert found.session == session(5).ref

    in_world(body)


def test_a_digest_that_nothing_can_be_proven_of_holds_up_nobody() -> None:
    """It may never have gone out: its letters come one by one."""

    async def body(world: World) -> None:
        await world.mails(4)
        await _cut(world, "offered")
        (made,) = digests(world)
        assert len(world.slot.offers) == 1
        world.courier.evidence(session(5).ref, NoProof(made.id))
        await world.after(1.0)
        assert world.slot.texts()[1:] == [f"bob {i}" for i in range(4)]

    in_world(body)


def test_an_end_of_the_session_after_a_restart_is_told_to_the_listed() -> None:
    """The digest is read and gone; only the letters' own lines remember."""

    async def body(world: World) -> None:
        await world.mails(4)
        owner = world.town.come(session(5), ADA)
        await world.rest()
        world.courier.evidence(owner.ref, Seen(MessageId(world.slot.offers[0].id)))
        await world.rest()
        await world.restart()
        world.town.die(5)
        world.town.come(session(6), ADA)
        await world.after(1.0)
        assert [offer.pid for offer in world.slot.offers] == [5, 6]

    in_world(body)


def test_the_envelope_alone_says_what_a_digest_lists() -> None:
    """Spans run over what is finished, and stop at what is not listed."""

    async def body(world: World) -> None:
        items = await world.mails(2)
        await world.mail("asked", "eve", kind=Kind.ASK)
        items += await world.mails(3)
        await finish(world, items[3].seq, items[3].id, Rung.SEEN)
        world.town.come(session(5), ADA)
        await world.rest()
        (item,) = digests(world)
        envelope = world.store.mailbox(ADA).read(item)
        msg = decode_msg(envelope.msg)
        assert is_digest(msg)
        found = read(item.seq, msg)
        assert found.spans == ((1, 2), (4, 6))
        assert [seq for seq in range(9) if found.lists(seq)] == [1, 2, 4, 5, 6]
        assert found.session == session(5).ref

    in_world(body)


def test_a_digest_that_cannot_be_stored_is_no_reason_to_keep_the_mail() -> None:
    """Then it goes letter by letter."""

    async def body(world: World) -> None:
        world.refuses = True
        await world.mails(4)
        world.town.come(session(5), ADA)
        await world.rest()
        assert world.slot.texts() == [f"bob {i}" for i in range(4)]

    in_world(body)

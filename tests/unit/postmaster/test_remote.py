"""accept() for what goes to other devices, and for what comes from them."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from homi import gate, ids
from homi.address import Device, Name, parse_address
from homi.envelope import (
    Kind,
    LedgerLine,
    MessageId,
    Msg,
    Reason,
    Rung,
    Via,
    decode_msg,
)
from homi.postmaster import Stamp
from homi.store.mailbox import Item, Mailbox
from homi.store.places import queue_of
from tests.unit.postmaster.test_postmaster import Bench, letter, runs

LAB = queue_of(Device("lab"))
KEY = "SHA256:abc"
LINK = Stamp(Via(door="link", device="lab", key=KEY, verified=True))
RELAYED = Stamp(Via(door="link", device="pi", key=KEY, relay="lab"))


run = runs(Bench)


async def settled(bench: Bench) -> None:
    """Let what was recorded or written by itself be committed."""
    for _ in range(20):
        await asyncio.sleep(0)


def only(box: Mailbox) -> Item:
    (item,) = box.pending.values()
    return item


def came(box: Mailbox, item: Item) -> Msg:
    return decode_msg(box.read(item).msg)


def test_mail_for_a_linked_device_waits_in_its_queue(run: Callable[..., None]) -> None:
    """With the whole address, the bytes as they came, and this device as its hop."""

    async def scenario(bench: Bench) -> None:
        result = await bench.send(letter("gds@lab"))
        assert (result.kept, result.to, result.seq) == (True, "gds@lab", 1)
        box = bench.store.mailbox(LAB)
        item = only(box)
        envelope = box.read(item)
        assert (item.to, envelope.to, envelope.hops) == ("gds@lab", "gds@lab", ["mini"])
        assert bench.hints == [(LAB, item)]
        assert bench.store.mailboxes() == []
        assert bench.store.queues() == [box]

    run(scenario)


def test_an_alias_of_another_device_is_resolved_when_it_is_sent(
    run: Callable[..., None],
) -> None:
    """What is queued goes where the alias led then."""

    async def scenario(bench: Bench) -> None:
        bench.names.add_alias("gds", parse_address("gds@lab"), 0.0)
        result = await bench.send(letter("gds"))
        assert result.to == "gds@lab"
        box = bench.store.mailbox(LAB)
        assert (only(box).to, came(box, only(box)).to) == ("gds@lab", "gds")

    run(scenario)


def test_mail_of_a_device_keeps_its_hops_and_the_key_it_came_by(
    run: Callable[..., None],
) -> None:
    """The postmark says which link brought it; the origin is that link's key."""

    async def scenario(bench: Bench) -> None:
        assert LINK.origin == f"link:{KEY}"
        result = await bench.send(letter("bob"), LINK, hops=("lab",))
        box = bench.store.mailbox(Name("bob"))
        envelope = box.read(only(box))
        assert (result.to, envelope.hops) == ("bob", ["lab"])
        assert (envelope.via.device, envelope.via.key) == ("lab", KEY)
        assert only(box).address == "ada@lab"

    run(scenario)


def test_what_goes_on_to_a_third_device_adds_this_one(
    run: Callable[..., None],
) -> None:
    """A hub hands on what is not its own."""

    async def scenario(bench: Bench) -> None:
        await bench.send(letter("gds@pi"), LINK, hops=("lab",))
        box = bench.store.mailbox(queue_of(Device("pi")))
        assert box.read(only(box)).hops == ["lab", "mini"]

    run(scenario)


@pytest.mark.parametrize(
    "hops", [("mini", "lab", "mini", "lab"), tuple(f"d{n}" for n in range(8))]
)
def test_what_goes_in_a_circle_is_parked_where_a_person_sees_it(
    run: Callable[..., None], hops: tuple[str, ...]
) -> None:
    """It is kept and acknowledged, and nobody is hinted of it."""

    async def scenario(bench: Bench) -> None:
        msg = letter("gds@pi")
        assert (await bench.send(msg, LINK, hops=hops[:1])).rung is Rung.STORED
        again = replace(msg, id=ids.new())
        first = await bench.send(again, LINK, hops=hops)
        second = await bench.send(again, LINK, hops=hops)
        assert (first.kept, first.rung) == (True, Rung.PARKED)
        assert second.kept
        box = bench.store.mailbox(queue_of(Device("pi")))
        parked = box.find(again.id)
        assert parked is not None
        assert (parked.rung, parked.reason) == (Rung.PARKED, Reason.LOOP)
        assert len(bench.hints) == 1

    run(scenario)


def test_a_reply_from_a_device_answers_what_was_sent_to_it(
    run: Callable[..., None],
) -> None:
    """Relayed becomes answered; a namesake's mailbox here is left alone."""

    async def scenario(bench: Bench) -> None:
        asked, told = letter("gds@lab", kind=Kind.ASK), list[tuple[Name, LedgerLine]]()
        bench.postmaster.on_answered(lambda name, line: told.append((name, line)))
        await bench.send(asked)
        box = bench.store.mailbox(LAB)
        line = LedgerLine(seq=1, id=asked.id, rung=Rung.RELAYED, at="x")
        bench.store.record(LAB, line)
        await settled(bench)
        assert box.rung_of(asked.id) is Rung.RELAYED
        bench.postmaster.replies.whom = lambda _id, _queue, told: told("gds@lab")
        reply = Msg(
            id=ids.new(),
            from_="gds",
            to="ada",
            text="y",
            reply_to=asked.id,
            kind=Kind.REPLY,
        )
        await bench.send(reply, LINK, hops=("lab",))
        await settled(bench)
        assert box.rung_of(asked.id) is Rung.ANSWERED
        assert [name for name, _ in told] == [LAB]

    run(scenario)


def test_a_bounce_of_a_device_counts_only_about_mail_that_went_there(
    run: Callable[..., None],
) -> None:
    """A forged one is refused as policy, whoever handed it over."""

    async def scenario(bench: Bench) -> None:
        sent = letter("gds@lab")
        await bench.send(sent)
        back = Msg(
            id=ids.new(),
            from_="postmaster",
            to="ada",
            text="no",
            reply_to=sent.id,
            kind=Kind.BOUNCE,
            auto=True,
        )
        refused = await bench.send(back, RELAYED, hops=("pi", "lab"))
        assert refused.error is not None
        assert refused.error.reason == "policy"
        assert (await bench.send(back, LINK, hops=("lab",))).kept
        other = replace(back, id=ids.new(), reply_to=ids.new())
        assert not (await bench.send(other, LINK, hops=("lab",))).kept

    run(scenario)


def test_a_device_nothing_was_sent_to_takes_no_memory(run: Callable[..., None]) -> None:
    """A peer may name any device as the first hop.  The control: one with a queue."""

    async def scenario(bench: Bench) -> None:
        await bench.send(letter("gds@lab"))
        for number in range(20):
            via = Via(door="link", device=f"made-up-{number}", key=KEY, relay="lab")
            reply = replace(letter("ada"), reply_to=ids.new(), kind=Kind.REPLY)
            hops = (f"made-up-{number}", "lab")
            await bench.send(reply, Stamp(via), hops=hops)
        await settled(bench)
        assert [box.name for box in bench.store.queues()] == [LAB]

    run(scenario)


def test_a_full_mailbox_keeps_no_record_of_each_try_of_a_link(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sender's device keeps it and tries again.  The control: a local sender."""

    async def scenario(bench: Bench) -> None:
        monkeypatch.setattr(gate, "QUOTA_PENDING", 0)
        for _ in range(5):
            result = await bench.send(letter("ada"), LINK, hops=("lab",))
            assert result.error is not None
            assert result.error.reason == "quota"
        assert not bench.refused.exists()
        await bench.send(letter("ada"))
        assert b"quota" in bench.refused.read_bytes()

    run(scenario)


def test_a_sender_on_another_device_is_told_there(run: Callable[..., None]) -> None:
    """And one on a device that is gone is not: the postmaster keeps it."""

    async def scenario(bench: Bench) -> None:
        about = ids.new()
        bench.postmaster.tell("ada@lab", about, Kind.MAIL, "step", "it waits")
        bench.postmaster.tell("ada@gone", about, Kind.MAIL, "other", "it waits")
        bench.postmaster.tell("ada@lab", about, Kind.NOTICE, "third", "never")
        await settled(bench)
        box = bench.store.mailbox(LAB)
        assert only(box).to == "ada@lab"
        assert came(box, only(box)).reply_to == about
        assert len(bench.store.mailbox(Name("postmaster")).pending) == 1

    run(scenario)


def test_a_permanent_refusal_tells_the_sender_before_it_ends_the_message(
    run: Callable[..., None],
) -> None:
    """A crash between the two repeats a bounce with the same id, stored once."""

    async def scenario(bench: Bench) -> None:
        sent, done = letter("gds@lab"), list[bool]()
        await bench.send(sent)
        box = bench.store.mailbox(LAB)
        item = only(box)
        for _ in range(2):
            bench.postmaster.bounce(
                LAB, item, Reason.POLICY, "no name gds there", done=done.append
            )
            await settled(bench)
        assert done == [True, True]
        assert box.rung_of(sent.id) is Rung.BOUNCED
        ada = bench.store.mailbox(Name("ada"))
        told = came(ada, only(ada))
        assert (told.kind, told.reply_to, told.auto) == (Kind.BOUNCE, sent.id, True)
        assert "no name gds there" in told.text
        assert "gds@lab" in told.text

    run(scenario)


def test_a_bounce_that_cannot_be_stored_leaves_the_message_pending(
    run: Callable[..., None],
) -> None:
    """Nothing ends without its sender knowing."""

    async def scenario(bench: Bench) -> None:
        await bench.send(letter("gds@lab"))
        box, done = bench.store.mailbox(LAB), list[bool]()
        bench.store.closed_text = "the disk is full"
        bench.postmaster.bounce(LAB, only(box), Reason.POLICY, "no", done=done.append)
        await settled(bench)
        assert done == [False]
        assert len(box.pending) == 1

    run(scenario)


def test_who_follows_a_message_is_told_of_its_bounce(run: Callable[..., None]) -> None:
    """At once, behind the record: the device it came from gets its hint from it."""

    async def scenario(bench: Bench) -> None:
        await bench.send(letter("gds@lab"))
        box = bench.store.mailbox(LAB)
        item = only(box)
        told: list[tuple[Name, MessageId, Rung]] = []
        bench.postmaster.on_answered(
            lambda name, line: told.append((name, line.id, line.rung))
        )
        bench.postmaster.bounce(LAB, item, Reason.UNREACHABLE, "gone")
        await settled(bench)
        assert told == [(LAB, item.id, Rung.BOUNCED)]

    run(scenario)


def test_nothing_is_sent_back_about_a_bounce(run: Callable[..., None]) -> None:
    """Its return path is null: two postmasters do not talk for ever."""

    async def scenario(bench: Bench) -> None:
        bench.postmaster.tell("ada@lab", ids.new(), Kind.MAIL, "step", "it waits")
        await settled(bench)
        box = bench.store.mailbox(LAB)
        bench.postmaster.bounce(LAB, only(box), Reason.UNREACHABLE, "gone")
        await settled(bench)
        assert not box.pending
        assert bench.store.mailboxes() == []

    run(scenario)


def test_one_letter_of_a_sender_opens_the_door_for_letters_alone(
    run: Callable[..., None],
) -> None:
    """What is asked once of a sender is asked again of whatever else it sends."""

    async def scenario(bench: Bench) -> None:
        stamp = Stamp(Via(door="link", device="lab", key=KEY, verified=True))
        for _ in range(2):
            assert (await bench.send(letter(), stamp, hops=("lab",))).kept
        others = ({"auto": True}, {"kind": Kind.BOUNCE}, {"kind": Kind.NOTICE})
        told = [letter(**fields) for fields in others]
        told.append(replace(letter(), from_="postmaster"))  # nor of another sender
        for one in told:
            refused = await bench.send(one, stamp, hops=("lab",))
            assert refused.error is not None
            assert refused.error.reason == "policy"
        ask = await bench.send(letter(kind=Kind.ASK), stamp, hops=("lab",))
        assert ask.kept

    run(scenario)


def test_each_hint_comes_to_who_asked_for_its_kind(run: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        here: list[Name] = []
        out: list[Name] = []
        bench.postmaster.subscribe(lambda name, _item: here.append(name), out=False)
        bench.postmaster.subscribe(lambda name, _item: out.append(name), here=False)
        assert (await bench.send(letter("bob"))).kept
        assert (await bench.send(letter("gds@lab"))).kept
        assert (here, out) == (["bob"], [LAB])
        assert [name for name, _item in bench.hints] == ["bob", LAB]

    run(scenario)


def test_a_line_names_the_way_its_mail_came(run: Callable[..., None]) -> None:
    """Also where the stamp was made ready for another way."""

    async def scenario(bench: Bench) -> None:
        via = Via(door="link", device="lab", key=KEY, verified=True)
        stamp = Stamp(via, hops=("lab",))
        for hops in (stamp.hops, ("lab", "pi")):
            result = await bench.send(letter(), stamp, hops=hops)
            box = bench.store.mailbox(Name("bob"))
            assert box.read(result.seq).hops == list(hops)

    run(scenario)

"""What a reply makes of what it is about: only who it was sent to answers it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from homi import ids
from homi.address import OWNER, Device, Name
from homi.asks import Asks
from homi.envelope import Kind, LedgerLine, MessageId, Msg, Rung, Via
from homi.postmaster import Stamp
from homi.replies import is_default
from homi.store.base import Mail
from homi.store.places import queue_of
from tests.unit.postmaster.test_postmaster import Bench, letter, runs

LAB = Stamp(Via(door="link", device="lab", key="SHA256:abc", verified=True))
PI = Stamp(Via(door="link", device="pi", key="SHA256:def", verified=True))
HOMI = Stamp(Via(door="homi", verified=True))
PROGRAM = Stamp(Via(door="control", uid=0, pid=2))


class Told(Bench):
    """A bench that notes who was told of what."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.replied: list[str] = []
        self.answered: list[tuple[Name, LedgerLine]] = []
        self.postmaster.on_reply(lambda mail: self.replied.append(mail.id))
        self.postmaster.on_answered(
            lambda name, line: self.answered.append((name, line))
        )

    async def reply(self, about: str, stamp: Stamp = PROGRAM, **fields: object) -> str:
        """Somebody answers; the id of the answer."""
        whole = {"from_": "bob", "to": "ada", "text": "yes", "kind": Kind.REPLY}
        msg = Msg(id=MessageId(ids.new()), reply_to=about, **(whole | fields))  # type: ignore[arg-type]
        device = stamp.via.device
        result = await self.send(msg, stamp, hops=(device,) if device else ())
        assert result.kept, result
        for _ in range(20):
            await asyncio.sleep(0)
        return msg.id


run = runs(Told)


def test_who_it_was_sent_to_answers_it_and_nobody_else(
    run: Callable[..., None],
) -> None:
    """What others say of it is kept as mail and moves nothing."""

    async def scenario(bench: Told) -> None:
        bench.names.claim("eve", None, 0.0)
        about = (await bench.send(letter("bob"))).id
        await bench.reply(about, from_="eve")
        await bench.reply(about, LAB)
        assert (bench.replied, bench.answered) == ([], [])
        answer = await bench.reply(about)
        assert bench.replied == [answer]
        ((name, line),) = bench.answered
        assert (name, line.rung, line.id) == ("bob", Rung.ANSWERED, about)
        assert (line.by, line.proof) == (f"reply {answer}", "reply")
        assert bench.store.mailbox(Name("bob")).rung_of(about) is Rung.ANSWERED

    run(scenario)


def test_what_went_to_a_device_is_answered_from_there(run: Callable[..., None]) -> None:
    """By who was asked and nobody else there, which the asker judges itself; not from
    another device."""

    async def scenario(bench: Told) -> None:
        about = (await bench.send(letter("bob@lab"))).id
        await bench.reply(about, PI)
        await bench.reply(about)
        assert bench.replied == []
        other = await bench.reply(about, LAB, from_="eve")
        assert (bench.replied, bench.answered) == ([other], [])
        answer = await bench.reply(about, LAB)
        assert bench.replied == [other, answer]
        assert bench.answered[0][0] == queue_of(Device("lab"))

    run(scenario)


def test_what_left_its_queue_is_answered_as_the_files_tell(
    run: Callable[..., None],
) -> None:
    """Nothing of it is in memory; where nobody can tell, nothing is recorded."""

    async def scenario(bench: Told) -> None:
        queue = queue_of(Device("lab"))
        about = MessageId((await bench.send(letter("bob@lab"))).id)
        seq = bench.store.mailbox(queue).seq_of(about) or 0
        at = "2026-11-30T00:00:00.000Z"
        line = LedgerLine(seq=seq, id=about, rung=Rung.RELAYED, at=at)
        bench.store.record(queue, line, None, durable=True)
        await bench.reply(about, LAB)
        assert bench.answered == []
        bench.postmaster.replies.whom = lambda _id, _queue, told: told("bob@lab")
        await bench.reply(about, LAB, from_="eve")
        assert bench.answered == []
        await bench.reply(about, LAB)
        assert [name for name, _ in bench.answered] == [queue]

    run(scenario)


def test_no_program_answers_what_is_for_a_person(run: Callable[..., None]) -> None:
    """Here or on another device; the controls are the persons."""

    async def scenario(bench: Told) -> None:
        about = (await bench.send(letter("owner"))).id
        await bench.reply(about, from_=OWNER)
        assert bench.replied == []
        person = Stamp(Via(door="control", uid=0, pid=3, verified=True))
        answer = await bench.reply(about, person, from_=OWNER)
        assert bench.replied == [answer]
        about = (await bench.send(letter("owner@lab"))).id
        program = Stamp(replace(LAB.via, verified=False))
        await bench.reply(about, program, from_=OWNER)
        assert bench.replied == [answer]
        other = await bench.reply(about, LAB, from_=OWNER)
        assert bench.replied == [answer, other]

    run(scenario)


def test_a_default_is_told_and_moves_nothing(run: Callable[..., None]) -> None:
    """What it answers is about to expire; nothing answers itself."""

    async def scenario(bench: Told) -> None:
        asks = Asks()
        bench.postmaster.on_reply(asks.replied)
        about = MessageId((await bench.send(letter("bob", kind=Kind.ASK))).id)
        asks.hold(about)
        asks.asked(about, "bob")
        fields = {"from_": "postmaster", "auto": True, "text": "no"}
        answer = await bench.reply(about, HOMI, **fields)
        assert (bench.replied, bench.answered) == ([answer], [])
        found = asks.find(about)
        assert found is not None
        assert (found.text, found.default) == ("no", True)
        own = MessageId(ids.new())
        msg = letter("bob", id=own, reply_to=own)
        await bench.send(msg)
        assert bench.replied == [answer]

    run(scenario)


@pytest.mark.parametrize(
    ("door", "fields", "is_one"),
    [
        ("homi", {}, True),
        ("link", {}, True),
        ("control", {}, False),
        ("peer", {}, False),
        ("homi", {"auto": False}, False),
        ("homi", {"kind": Kind.NOTICE}, False),
        ("link", {"from_": "ada"}, False),
    ],
)
def test_only_a_postmaster_writes_a_default(
    door: str, fields: dict[str, object], is_one: bool
) -> None:
    whole = {"from_": "postmaster", "kind": Kind.REPLY, "auto": True} | fields
    head = Msg(id=MessageId(ids.new()), to="ada", text="no", **whole)  # type: ignore[arg-type]
    mail = Mail(Name("ada"), "x", head, Via(door=door), b"", b"", lambda _mail: None)
    assert is_default(mail) is is_one

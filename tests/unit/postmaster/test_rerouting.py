"""What waits for one device is stored in another place as it was, and once."""

import asyncio
from collections.abc import Callable

import pytest

from homi.address import Device, Name, parse_address
from homi.envelope import LedgerLine, Reason, Rung
from homi.errors import HomiError
from homi.store.mailbox import Item, Mailbox
from homi.store.places import queue_of
from tests.unit.postmaster.test_postmaster import Bench, letter, runs
from tests.unit.postmaster.test_remote import LINK, settled

LAB, PI, MINI = Device("lab"), Device("pi"), Device("mini")


run = runs(Bench)


def box_of(bench: Bench, device: Device) -> Mailbox:
    return bench.store.mailbox(queue_of(device))


async def waiting(bench: Bench, to: str = "gds@lab", **fields: object) -> Item:
    """A new letter for lab."""
    message = letter(to, **fields)
    await bench.send(message)
    item = box_of(bench, LAB).find(message.id)
    assert item is not None
    bench.hints.clear()
    return item


async def reroute(
    bench: Bench, item: Item, device: Device = PI, old: Device = LAB
) -> str | HomiError:
    """Where it waits now, or why not."""
    told: asyncio.Future[str | HomiError] = asyncio.get_running_loop().create_future()
    bench.postmaster.reroute(box_of(bench, old), item, device, told.set_result)
    async with asyncio.timeout(60):
        return await told


async def recorded(bench: Bench, place: Device, item: Item, rung: Rung) -> None:
    """A line of the ledger about it."""
    line = LedgerLine(seq=item.seq, id=item.id, rung=rung, at="x")
    bench.store.record(queue_of(place), line)
    await settled(bench)


def test_it_keeps_its_postmark_hops_bytes_and_id(run: Callable[..., None]) -> None:
    """Only the device of its address is another; the old place is left as it was."""

    async def scenario(bench: Bench) -> None:
        message = letter("gds@lab")
        await bench.send(message, LINK, hops=("pi", "lab"))
        old = box_of(bench, LAB).find(message.id)
        assert old is not None
        before = box_of(bench, LAB).read(old)
        bench.hints.clear()
        bench.clock.now = bench.clock.wall() + 3600
        assert await reroute(bench, old) == "gds@pi"
        new = box_of(bench, PI).find(message.id)
        assert new is not None
        after = box_of(bench, PI).read(new)
        assert (after.at, after.via, after.hops) == (
            before.at,
            before.via,
            before.hops,
        )
        assert bytes(after.msg) == bytes(before.msg)
        assert (new.to, after.to, new.sender) == ("gds@pi", "gds@pi", old.sender)
        assert bench.hints == [(queue_of(PI), new)]
        assert old.seq in box_of(bench, LAB).pending

    run(scenario)


def test_what_is_rerouted_twice_is_stored_once(run: Callable[..., None]) -> None:
    """As after a crash before its end was recorded."""

    async def scenario(bench: Bench) -> None:
        item = await waiting(bench)
        assert [await reroute(bench, item) for _ in range(2)] == ["gds@pi"] * 2
        assert len(box_of(bench, PI).pending) == 1
        assert len(bench.hints) == 1

    run(scenario)


@pytest.mark.parametrize("rung", [Rung.MOVED, Rung.DROPPED, Rung.BOUNCED])
def test_what_ended_in_the_other_queue_is_not_taken_for_stored_there(
    run: Callable[..., None], rung: Rung
) -> None:
    """There and back again would lose it; the control: what arrived has arrived."""

    async def scenario(bench: Bench) -> None:
        item, other = await waiting(bench), await waiting(bench)
        for one, end in ((item, rung), (other, Rung.RELAYED)):
            assert await reroute(bench, one) == "gds@pi"
            there = box_of(bench, PI).find(one.id)
            assert there is not None
            await recorded(bench, PI, there, end)
        error = await reroute(bench, item)
        assert isinstance(error, HomiError)
        assert error.code == "no-input"
        assert f"is {rung} there" in error.text
        assert await reroute(bench, other) == "gds@pi"

    run(scenario)


def test_what_is_held_goes_on_being_held(run: Callable[..., None]) -> None:
    """The control: its neighbour waits to go."""

    async def scenario(bench: Bench) -> None:
        held, free = await waiting(bench), await waiting(bench)
        line = LedgerLine(
            seq=held.seq,
            id=held.id,
            rung=Rung.PARKED,
            at="x",
            reason=Reason.OPERATOR,
        )
        bench.store.record(queue_of(LAB), line)
        await settled(bench)
        for item in (held, free):
            assert await reroute(bench, item) == "gds@pi"
        found = [(i.rung, i.reason) for i in box_of(bench, PI).pending.values()]
        assert found == [(Rung.PARKED, Reason.OPERATOR), (Rung.STORED, None)]

    run(scenario)


def test_an_unknown_device_and_a_full_queue_take_nothing(
    run: Callable[..., None],
) -> None:
    """The refusals of new mail; the control: with room it goes."""

    async def scenario(bench: Bench) -> None:
        item = await waiting(bench)
        error = await reroute(bench, item, Device("nowhere"))
        assert isinstance(error, HomiError)
        assert error.code == "no-such-device"
        bench.store.free = 0
        error = await reroute(bench, item)
        assert isinstance(error, HomiError)
        assert (error.code, error.reason) == ("not-reached", "quota")
        assert not box_of(bench, PI).pending
        bench.store.free = 1 << 40
        assert await reroute(bench, item) == "gds@pi"

    run(scenario)


def test_a_write_that_fails_leaves_it_where_it_was(run: Callable[..., None]) -> None:
    """And it can be ordered again."""

    async def scenario(bench: Bench) -> None:
        item = await waiting(bench)
        bench.store.fail_next = 1
        error = await reroute(bench, item)
        assert isinstance(error, HomiError)
        assert error.code == "io"
        assert await reroute(bench, item) == "gds@pi"

    run(scenario)


def test_what_is_rerouted_to_this_device_comes_to_the_name_here(
    run: Callable[..., None],
) -> None:
    """It did not go over this device then; an alias that leads back is refused."""

    async def scenario(bench: Bench) -> None:
        item, astray = await waiting(bench, "bob@lab"), await waiting(bench, "eve@lab")
        assert await reroute(bench, item, MINI) == "bob"
        bob = bench.store.mailbox(Name("bob"))
        (found,) = bob.pending.values()
        assert bob.read(found).hops == []
        bench.names.add_alias("eve", parse_address("eve@lab"), 0.0)
        error = await reroute(bench, astray, MINI)
        assert isinstance(error, HomiError)
        assert error.code == "not-reached"
        gone = await waiting(bench, "nobody@lab")
        error = await reroute(bench, gone, MINI)
        assert isinstance(error, HomiError)
        assert error.code == "no-such-name"

    run(scenario)

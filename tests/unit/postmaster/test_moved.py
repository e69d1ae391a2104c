"""Mail of a name that moved: it follows once, in order, and is known again."""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from homi.address import Address, Device, Name
from homi.claims import Came, Moving
from homi.config import HOPS_MAX
from homi.envelope import Kind, LedgerLine, Reason, Rung
from homi.errors import HomiError
from homi.postmaster import Stamp
from homi.store.mailbox import Item, Mailbox
from homi.store.places import queue_of
from tests.unit.postmaster.test_postmaster import Bench, letter, runs
from tests.unit.postmaster.test_remote import LINK, settled

ADA, LAB = Name("ada"), Device("lab")
TO = Address(ADA, LAB)


run = runs(Bench)


def leave(bench: Bench) -> None:
    """ada is at lab from now on."""
    moves = bench.names.departures
    moves.begin(ADA, Moving(device=LAB, to=ADA, generation=7), 0.0)
    moves.arrived(ADA)
    moves.leave(ADA)


async def forward(bench: Bench, item: Item) -> str | HomiError:
    """Where it waits now, or why not."""
    told: asyncio.Future[str | HomiError] = asyncio.get_running_loop().create_future()
    box = bench.store.mailbox(ADA)
    bench.postmaster.forward(box, item, TO, 7, told.set_result)
    return await told


def queue(bench: Bench) -> Mailbox:
    return bench.store.mailbox(queue_of(LAB))


async def ended(bench: Bench, item: Item, rung: Rung) -> None:
    """A line of the ledger ends it."""
    line = LedgerLine(seq=item.seq, id=item.id, rung=rung, at="x")
    bench.store.record(ADA, line)
    await settled(bench)


def test_what_waits_follows_with_its_postmark_once(run: Callable[..., None]) -> None:
    """Twice forwarded, as after a crash, it is stored once; the generation goes
    along."""

    async def scenario(bench: Bench) -> None:
        message = letter("ada")
        await bench.send(message)
        (item,) = bench.store.mailbox(ADA).pending.values()
        assert [await forward(bench, item) for _ in range(2)] == ["ada@lab"] * 2
        (there,) = queue(bench).pending.values()
        envelope = queue(bench).read(there)
        assert (envelope.hops, envelope.via.moved, there.id) == (
            ["mini"],
            7,
            message.id,
        )
        assert not envelope.via.repeat

    run(scenario)


def test_what_a_session_may_have_read_is_marked(run: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        await bench.send(letter("ada"))
        (item,) = bench.store.mailbox(ADA).pending.values()
        item.repeat = True
        await forward(bench, item)
        (there,) = queue(bench).pending.values()
        assert queue(bench).read(there).via.repeat

    run(scenario)


def test_what_follows_to_and_fro_forgets_the_way_between(
    run: Callable[..., None],
) -> None:
    """However often: what came too long a way is parked all the same."""

    async def scenario(bench: Bench) -> None:
        long = tuple(f"d{number}" for number in range(HOPS_MAX))
        for hops in (("pi", "mini", "lab"), ("mini", "lab"), long):
            await bench.send(letter("ada"), LINK, hops=hops)
        for item in list(bench.store.mailbox(ADA).pending.values()):
            await forward(bench, item)
        there = list(queue(bench).pending.values())
        gone = [queue(bench).read(item).hops for item in there]
        assert gone == [["pi", "mini"], ["mini"], [*long, "mini"]]
        assert [item.reason for item in there] == [None, None, Reason.LOOP]

    run(scenario)


def test_a_second_try_of_what_was_read_here_does_not_follow(
    run: Callable[..., None],
) -> None:
    """The control: what is new does, marked with the generation there."""

    async def scenario(bench: Bench) -> None:
        old, new = letter("ada"), letter("ada")
        await bench.send(old)
        (item,) = bench.store.mailbox(ADA).pending.values()
        await ended(bench, item, Rung.SEEN)
        leave(bench)
        again = await bench.send(old)
        assert (again.kept, again.duplicate, again.to) == (True, True, "ada")
        assert (await bench.send(new)).to == "ada@lab"
        (there,) = queue(bench).pending.values()
        assert (there.id, queue(bench).read(there).via.moved) == (new.id, 7)

    run(scenario)


def test_a_second_try_of_what_followed_is_known(run: Callable[..., None]) -> None:
    async def scenario(bench: Bench) -> None:
        message = letter("ada")
        await bench.send(message)
        (item,) = bench.store.mailbox(ADA).pending.values()
        await forward(bench, item)
        await ended(bench, item, Rung.MOVED)
        leave(bench)
        again = await bench.send(message)
        assert (again.kept, again.duplicate) == (True, True)
        assert len(queue(bench).pending) == 1

    run(scenario)


def test_what_comes_back_with_its_name_is_not_taken_for_known(
    run: Callable[..., None],
) -> None:
    """It was here, and left; the same frame again is known."""

    async def scenario(bench: Bench) -> None:
        message = letter("ada")
        await bench.send(message, LINK, hops=("lab",))
        (item,) = bench.store.mailbox(ADA).pending.values()
        await ended(bench, item, Rung.MOVED)
        back = Stamp(replace(LINK.via, moved=9))
        for known in (False, True):
            result = await bench.send(message, back, hops=("lab",))
            assert (result.kept, result.duplicate) == (True, known)
        assert len(bench.store.mailbox(ADA).pending) == 1

    run(scenario)


def test_notices_follow_a_name_from_where_it_came_only(
    run: Callable[..., None],
) -> None:
    """They are about mail that is not known here."""

    async def scenario(bench: Bench) -> None:
        came = Came(device=LAB, name=Name("cyd"))
        bench.names.departures.arrive(Name("cyd"), came, 2, 0.0, {})
        follows = Stamp(replace(LINK.via, moved=2))
        for to, kept in (("cyd", True), ("bob", False)):
            notice = letter(to, kind=Kind.NOTICE, reply_to=letter().id)
            result = await bench.send(notice, follows, hops=("lab",))
            assert result.kept is kept
        notice = letter("cyd", kind=Kind.NOTICE, reply_to=letter().id)
        assert not (await bench.send(notice, LINK, hops=("lab",))).kept

    run(scenario)


def test_what_a_person_holds_is_held_in_the_queue_from_the_first(
    run: Callable[..., None],
) -> None:
    """Nothing that looks at the queue in between may send it."""

    async def scenario(bench: Bench) -> None:
        await bench.send(letter("ada"))
        (item,) = bench.store.mailbox(ADA).pending.values()
        line = LedgerLine(
            seq=item.seq, id=item.id, rung=Rung.PARKED, at="x", reason=Reason.OPERATOR
        )
        bench.store.record(ADA, line)
        await settled(bench)
        seen = list[Rung]()
        bench.postmaster.subscribe(lambda _place, item: seen.append(item.rung))
        await forward(bench, item)
        (there,) = queue(bench).pending.values()
        assert queue(bench).read(there).via.parked is Reason.OPERATOR
        assert seen == [Rung.PARKED]
        assert there.reason is Reason.OPERATOR

    run(scenario)

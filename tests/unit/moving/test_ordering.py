"""Newer mail for a name that came waits for what is older, and for no longer."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from homi import gate
from homi.address import Address, Device, Name
from homi.claims import Came, Moving, Waited
from homi.envelope import LedgerLine, Reason, Rung, Via, Was
from homi.errors import HomiError, NoSuchDevice, NotReached, Usage
from homi.gate import HISTORY
from homi.moving import forwarding
from homi.moving.forwarding import Forwarding, Ways
from homi.moving.ordering import Ordering, Sides
from homi.moving.said import Asked, Said
from homi.moving.trail import LAPSE, MOST
from homi.store.mailbox import Item
from homi.store.places import queue_of
from homi.submission import Stamp
from tests.unit.postmaster.test_postmaster import Bench, letter, runs
from tests.unit.postmaster.test_remote import LINK, settled

CYD, LAB, PI, MINI = Name("cyd"), Device("lab"), Device("pi"), Device("mini")
BACK = Stamp(replace(LINK.via, moved=9))  # as what follows the name to here


class World(Bench):
    """mini, to which cyd comes from lab in generation 9; it was here before."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.says: list[Said | HomiError] = []  # of lab and pi, in turn
        self.answer: dict[Device, Said | HomiError] = {}  # always the same
        self.heard: list[tuple[Device, str, int]] = []
        self.steps: list[str] = []
        self.unlinked: set[Device] = set()
        self.now = 0.0
        self.passes = 0.0  # s with each look
        post, store, record = self.postmaster, self.store, self.store.record
        ways = Ways(
            MINI, store, post.forward, post.bring, record, post.bounce, self.clock
        )
        self.forwarding = Forwarding(ways, self.steps.append)
        self.ordering = Ordering(
            Sides(
                MINI,
                self.names,
                store,
                self,
                self.forwarding,
                self,
                self.steps.append,
            )
        )
        self.names.add_alias("cyd", Address(CYD, LAB), 0.0)

    def wall(self) -> float:
        """Not asked for."""
        raise NotImplementedError

    def monotonic(self) -> float:
        """Some seconds later each time."""
        self.now += self.passes
        return self.now

    def boot(self) -> float:
        """Not asked for."""
        raise NotImplementedError

    async def ask(self, device: Device, asked: Asked) -> Said:
        """The next that was laid down; the last one stays."""
        await asyncio.sleep(0)
        assert asked.do == "older"
        self.heard.append((device, asked.to, asked.upto))
        if (told := self.answer.get(device)) is not None:
            said = told
        else:
            said = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(said, HomiError):
            raise said
        return said

    def linked(self, device: Device) -> bool:
        """As it is laid down."""
        return device not in self.unlinked

    async def put(self, device: Device, sha256: str) -> None:
        """Nothing goes along."""
        raise NotImplementedError

    def comes(self) -> None:
        """The claim is here."""
        came = Came(device=LAB, name=CYD)
        self.names.departures.arrive(CYD, came, 9, 0.0, {})

    def box(self) -> list[str]:
        """What cyd has, in order."""
        return [item.id for item in self.store.mailbox(CYD).pending.values()]

    def aside(self) -> list[Item]:
        """What waits for older mail."""
        return list(self.store.mailbox(queue_of(MINI)).pending.values())

    async def ordered(self) -> None:
        """Let all be done that can be."""
        self.ordering.sweep()
        await self.ordering.over(CYD, 5)


run = runs(World)


def test_newer_mail_stands_behind_older_that_comes_later(
    run: Callable[..., None],
) -> None:
    """And the next goes straight into the mailbox, as everything did before."""

    async def scenario(world: World) -> None:
        old, new, last = letter("cyd"), letter("cyd"), letter("cyd")
        world.comes()
        assert (await world.send(new)).to == "cyd@mini"
        assert world.box() == []
        await world.send(old, BACK, hops=("mini", "lab"))
        assert world.box() == [old.id]
        world.says = [Said(settled=True, to="cyd@mini")]
        await world.ordered()
        assert world.box() == [old.id, new.id]
        assert (await world.send(last)).to == "cyd"
        assert world.box() == [old.id, new.id, last.id]
        assert world.aside() == []
        new_one = world.store.mailbox(CYD).find(new.id)
        assert new_one is not None
        assert world.store.mailbox(CYD).read(new_one).hops == []

    run(scenario)


def test_it_waits_for_its_own_queue_first_then_for_each_device_on_the_way(
    run: Callable[..., None],
) -> None:
    """What came later into a queue is not waited for; what has left lab is asked for
    at pi."""

    async def scenario(world: World) -> None:
        under_way = letter("cyd")
        await world.send(under_way)
        world.comes()
        world.says = [
            Said(upto=4, waiting=1, to="cyd@pi"),
            Said(settled=True, upto=4, to="cyd@pi"),
            Said(settled=True, upto=2, to="cyd@mini"),
        ]
        world.ordering.sweep()
        await settled(world)
        assert world.heard == []
        (item,) = world.store.mailbox(queue_of(LAB)).pending.values()
        await world.send(letter("cyd@lab"))
        line = LedgerLine(seq=item.seq, id=item.id, rung=Rung.RELAYED, at="x")
        world.store.record(queue_of(LAB), line)
        await world.ordering.over(CYD, 5)
        assert world.heard == [(LAB, "cyd", 0), (LAB, "cyd", 4), (PI, "cyd", 0)]
        assert world.names.departures.older(CYD) == []

    run(scenario)


def test_an_answer_that_somebody_waits_for_is_behind_nothing(
    run: Callable[..., None],
) -> None:
    """Who asked has it at once; another answer waits like all that is newer."""

    async def scenario(world: World) -> None:
        world.comes()
        question, other = letter("bob").id, letter("bob").id
        world.postmaster.awaits = lambda about: about == question
        answer = replace(letter("cyd"), reply_to=question)
        assert (await world.send(answer)).to == "cyd"
        late = replace(letter("cyd"), reply_to=other)
        assert (await world.send(late)).to == "cyd@mini"
        assert world.box() == [answer.id]

    run(scenario)


def test_a_second_try_of_what_went_the_old_way_is_known(
    run: Callable[..., None],
) -> None:
    async def scenario(world: World) -> None:
        message, other = letter("cyd"), letter("cyd")
        await world.send(message)
        world.comes()
        again = await world.send(message)
        assert (again.kept, again.duplicate, again.to) == (True, True, "cyd@lab")
        assert not (await world.send(other)).duplicate
        assert (await world.send(other)).duplicate

    run(scenario)


def test_mail_that_follows_an_older_move_waits_like_any(
    run: Callable[..., None],
) -> None:
    """It comes from a device that the name left before, and went another way until
    now."""

    async def scenario(world: World) -> None:
        world.comes()
        stale = Stamp(replace(LINK.via, device=PI, moved=5))
        assert (await world.send(letter("cyd"), stale, hops=("pi",))).to == "cyd@mini"
        assert (await world.send(letter("cyd"), BACK, hops=("lab",))).to == "cyd"
        ended = Via(door=HISTORY, verified=True, was=Was(at="x", rung=Rung.SEEN))
        assert (await world.send(letter("cyd"), Stamp(ended))).to == "cyd"

    run(scenario)


@pytest.mark.parametrize(
    "said", [Said(upto=4, waiting=1), NotReached("lab does not answer")]
)
def test_where_nothing_moves_for_ten_minutes_newer_mail_goes_on(
    run: Callable[..., None], said: Said | HomiError
) -> None:
    """Not before: the second look comes a second later."""

    async def scenario(world: World) -> None:
        new = letter("cyd")
        world.comes()
        await world.send(new)
        world.says = [said]
        world.passes = LAPSE / 2
        await world.ordered()
        assert len(world.heard) == 3
        assert world.box() == [new.id]
        assert world.names.departures.older(CYD) == []

    run(scenario)


def test_a_device_that_is_linked_no_more_is_not_waited_for(
    run: Callable[..., None],
) -> None:
    async def scenario(world: World) -> None:
        world.comes()
        world.says = [Usage("no such question")]
        await world.ordered()
        assert world.names.departures.older(CYD) == []

    run(scenario)


def test_a_device_that_tells_something_else_each_time_is_not_waited_for_a_day(
    run: Callable[..., None],
) -> None:
    """Each answer looks as if something had moved there."""

    async def scenario(world: World) -> None:
        new = letter("cyd")
        world.comes()
        await world.send(new)
        world.says = [Said(upto=4, waiting=left) for left in range(40, 0, -1)]
        world.passes = MOST / 3
        await world.ordered()
        assert len(world.heard) == 3
        assert world.box() == [new.id]

    run(scenario)


@pytest.mark.parametrize("to", ["", "no name@pi", "cyd@", "@", "CYD@pi", "x" * 999])
def test_nothing_comes_by_an_address_that_is_none(
    run: Callable[..., None], to: str
) -> None:
    """Whatever another device answers, what is newer goes on."""

    async def scenario(world: World) -> None:
        new = letter("cyd")
        world.comes()
        await world.send(new)
        world.says = [Said(settled=True, to=to), Said(settled=True)]
        await world.ordered()
        assert world.box() == [new.id]
        assert world.names.departures.older(CYD) == []

    run(scenario)


@pytest.mark.parametrize("how", ["lift", "release", "yield"])
def test_nothing_waits_for_a_name_that_needs_no_order(
    run: Callable[..., None], how: str
) -> None:
    """A person lifts it, the name is released, or it goes on from here: what waited
    is in the mailbox, whatever lab says."""

    async def scenario(world: World) -> None:
        new = letter("cyd")
        world.names.subscribe(lambda name, _claim: world.ordering.see(name))
        world.says = [Said(upto=4, waiting=1)]
        world.comes()
        await world.send(new)
        await settled(world)
        assert len(world.aside()) == 1
        if how == "lift":
            assert world.ordering.lift(CYD)
            # A daemon that is killed now is followed by one that knows it.
            assert world.names.departures.waited(CYD).s == MOST
        elif how == "release":
            world.names.release("cyd")
        else:
            wanted = Moving(device=PI, to=CYD, generation=10)
            world.names.departures.begin(CYD, wanted, 0.0)
        await settled(world)
        await world.ordering.over(CYD, 5)
        assert world.box() == [new.id]
        assert world.aside() == []
        assert not world.ordering.lift(CYD)

    run(scenario)


def test_it_goes_on_after_a_restart(run: Callable[..., None]) -> None:
    """Also where the claim was released meanwhile, and the queue alone knows of it."""

    async def scenario(world: World) -> None:
        new = letter("cyd")
        world.comes()
        await world.send(new)
        world.names.release("cyd")
        await world.ordered()
        assert world.box() == [new.id]

    run(scenario)


def test_what_cannot_leave_any_more_is_not_waited_for(run: Callable[..., None]) -> None:
    """A message is in the queue for lab, which a person unlinks meanwhile."""

    async def scenario(world: World) -> None:
        new = letter("cyd")
        await world.send(letter("cyd"))
        world.comes()
        await world.send(new)
        world.says = [NoSuchDevice("lab is not linked")]
        world.ordering.sweep()
        await settled(world)
        assert said(world) == "1 older message in the queue for lab"
        world.unlinked.add(LAB)
        await world.ordering.over(CYD, 5)
        assert world.box() == [new.id]

    run(scenario)


def said(world: World, name: Name = CYD) -> str:
    """What newer mail of a name waits for, as a person reads it."""
    why = world.ordering.why(name)
    return "" if why is None else why.text.partition("waits for ")[2]


def test_a_full_mailbox_is_told_as_what_newer_mail_waits_for(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing older is waited for any more, so no order of a person ends it: it goes
    on when there is room."""
    monkeypatch.setattr(forwarding, "FIRST", 0.0)
    monkeypatch.setattr(forwarding, "LONGEST", 0.0)

    async def scenario(world: World) -> None:
        old, new = letter("cyd"), letter("cyd")
        world.comes()
        await world.send(old, BACK, hops=("mini", "lab"))
        await world.send(new)
        monkeypatch.setattr(gate, "QUOTA_PENDING", 1)
        world.says = [Said(upto=4, waiting=2)]
        world.ordering.sweep()
        await settled(world)
        assert said(world) == "2 older messages that lab has for it"
        assert world.ordering.lift(CYD)
        await settled(world)
        why = world.ordering.why(CYD)
        assert why is not None
        assert "waits for room: the mailbox holds 1 pending" in why.text
        assert (why.reason, why.hint) == (
            "quota",
            "its owner must read or ack some (homi queue)",
        )
        line = LedgerLine(seq=1, id=old.id, rung=Rung.SEEN, at="x")
        world.store.record(CYD, line)
        await world.ordering.over(CYD, 5)
        assert world.box() == [new.id]
        assert world.ordering.why(CYD) is None

    run(scenario)


def test_two_names_that_wait_take_neither_time_nor_room_from_each_other(
    run: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it stands in one queue: each name has a bound of its own there, and the
    one whose older mail is here goes on."""

    async def scenario(world: World) -> None:
        dan = Name("dan")
        world.comes()
        came = Came(device=PI, name=dan)
        world.names.departures.arrive(dan, came, 9, 0.0, {})
        monkeypatch.setattr(gate, "QUOTA_PENDING", 1)
        first, second = letter("cyd"), letter("dan")
        await world.send(first)
        full = await world.send(letter("cyd"))
        assert full.error is not None
        assert "1 messages for cyd wait for older mail of it" in full.error.text
        assert (await world.send(second)).to == "dan@mini"
        world.answer = {LAB: NotReached("lab does not answer"), PI: Said(settled=True)}
        world.ordering.sweep()
        await world.ordering.over(dan, 5)
        await settled(world)
        assert [one.id for one in world.store.mailbox(dan).pending.values()] == [
            second.id
        ]
        assert world.ordering.why(dan) is None
        assert said(world) == "lab, which may have older mail: lab does not answer"
        assert [item.id for item in world.aside()] == [first.id]

    run(scenario)


def test_that_nobody_is_to_wait_is_known_after_a_restart(
    run: Callable[..., None],
) -> None:
    """The mailbox had no room before."""

    async def scenario(world: World) -> None:
        new = letter("cyd")
        world.comes()
        await world.send(new)
        world.names.departures.waits(CYD, Waited(s=MOST))
        world.says = [NotReached("lab does not answer")]
        await world.ordered()
        assert world.heard == []
        assert world.box() == [new.id]
        assert world.names.departures.waited(CYD) == Waited()

    run(scenario)


def answers(world: World, upto: int = 0) -> Said:
    """What lab is told of cyd."""
    return world.ordering.answer(Asked(do="older", name="cyd", to="cyd", upto=upto))


def test_a_device_tells_when_all_that_it_had_went_on(run: Callable[..., None]) -> None:
    """What came behind the question is not counted, nor what a person keeps and what
    waits behind that; a name that is on its way has not gone on."""

    async def scenario(world: World) -> None:
        assert not answers(world).waiting  # nothing ever went there
        first, held = letter("cyd"), replace(letter("cyd"), from_="bob")
        for message in (first, held, replace(letter("cyd"), from_="bob")):
            await world.send(message)
        box = world.store.mailbox(queue_of(LAB))
        item = box.find(held.id)
        assert item is not None
        line = LedgerLine(
            seq=item.seq, id=item.id, rung=Rung.PARKED, at="x", reason=Reason.OPERATOR
        )
        world.store.record(queue_of(LAB), line)
        await settled(world)
        said = answers(world)
        assert (said.settled, said.waiting, said.to) == (False, 1, "cyd@lab")
        kept = world.forwarding.kept
        assert (kept(Address(CYD, LAB)), kept(Address(CYD, PI))) == (1, 0)
        await world.send(letter("cyd"))
        assert answers(world, said.upto).waiting == 1
        end = LedgerLine(seq=1, id=first.id, rung=Rung.RELAYED, at="x")
        world.store.record(queue_of(LAB), end)
        await settled(world)
        assert answers(world, said.upto).settled
        assert not answers(world).settled

        world.comes()
        assert answers(world).settled  # it is to stay here
        wanted = Moving(device=PI, to=CYD, generation=10)
        world.names.departures.begin(CYD, wanted, 0.0)
        assert not answers(world).settled

    run(scenario)

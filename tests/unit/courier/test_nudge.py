"""Letters a model failed on: the session is reminded, rarely, and once at a time."""

import asyncio

from homi.address import Name
from homi.courier.nudge import FIRST, LONGEST, Nudges
from homi.envelope import Kind
from homi.legs.base import ModelFailed, Seen, Taken
from homi.store.mailbox import Item
from tests.unit.courier.test_drain import in_world
from tests.unit.courier.test_evidence import one_out, told
from tests.unit.courier.twins import ADA, World, session


class Reminded:
    """Nudges over a world; a reminder is mail to the name, as the daemon makes it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.at: list[float] = []
        self.tasks: set[asyncio.Task[Item]] = set()
        self.nudges = Nudges(world.store, world.town, self._remind)
        world.courier.subscribe(self.nudges.watch)

    def _remind(self, name: Name, _item: Item) -> None:
        self.at.append(self.world.clock.monotonic())
        text = f"reminder {len(self.at)}"
        mail = self.world.mail(text, "postmaster", name, kind=Kind.NOTICE)
        task = asyncio.get_running_loop().create_task(mail)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def test_a_session_whose_model_failed_is_reminded_once_it_is_time() -> None:
    """Else the letter would wait for somebody else's mail, perhaps for ever."""

    async def body(world: World) -> None:
        reminded = Reminded(world)
        _, item = await one_out(world)
        await told(world, Taken(item.id))
        began = world.clock.monotonic()
        await told(world, ModelFailed(item.id))
        await world.after(FIRST - 1)
        assert reminded.at == []
        await world.after(2)
        assert world.slot.texts() == ["one", "reminder 1"]
        assert abs(reminded.at[0] - began - FIRST) < 1
        await told(world, Seen(item.id))
        await world.after(LONGEST * 3)
        assert len(reminded.at) == 1

    in_world(body)


def test_reminders_become_rarer_while_the_model_stays_away() -> None:
    """An outage of a day must not fill the conversation."""

    async def body(world: World) -> None:
        reminded = Reminded(world)
        _, item = await one_out(world)
        await told(world, Taken(item.id))
        await told(world, ModelFailed(item.id))
        for _ in range(100):
            await world.after(FIRST)
            for other in list(world.store.mailbox(ADA).pending.values()):
                if other is not item and other.session is not None:
                    await told(world, Taken(other.id))
                    await told(world, ModelFailed(other.id))
        gaps = [b - a for a, b in zip(reminded.at, reminded.at[1:], strict=False)]
        assert len(reminded.at) in (5, 6)
        assert gaps == sorted(gaps)

    in_world(body)


def test_nobody_is_reminded_while_other_mail_comes_or_the_session_works() -> None:
    """The next letter makes the request; a busy session is at one already."""

    async def body(world: World) -> None:
        reminded = Reminded(world)
        _, item = await one_out(world)
        await told(world, Taken(item.id))
        world.town.change(session(5, status="busy"))
        await told(world, ModelFailed(item.id))
        await world.after(FIRST * 3)
        assert reminded.at == []
        world.town.change(session(5, status="idle"))
        await world.after(FIRST * 3)
        assert len(reminded.at) >= 1

    in_world(body)


def test_a_failure_of_before_a_restart_is_found_by_the_sweep() -> None:
    """Timers die with the process, the ledger does not."""

    async def body(world: World) -> None:
        _, item = await one_out(world)
        await told(world, Taken(item.id))
        await told(world, ModelFailed(item.id))
        reminded = Reminded(world)
        await world.after(FIRST * 2)
        assert reminded.at == []
        reminded.nudges.sweep()
        await world.after(FIRST + 1)
        assert len(reminded.at) == 1
        reminded.nudges.close()
        await world.after(LONGEST)
        assert len(reminded.at) == 1

    in_world(body)

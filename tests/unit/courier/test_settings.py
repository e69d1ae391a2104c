"""What was chosen for one name: its legs, its pace, its quiet."""

from datetime import time
from zoneinfo import ZoneInfo

from homi.address import Name
from homi.envelope import Reason, Rung
from homi.quiet import Quiet
from homi.settings import Pace, Settings
from tests.unit.courier.test_drain import in_world
from tests.unit.courier.twins import ADA, START, World, session

EVE = Name("eve")
# The world begins at 22:00 UTC.
NIGHT = Settings(quiet=Quiet(time(21), time(23), ZoneInfo("UTC")))


def test_in_its_quiet_a_name_is_offered_nothing_and_then_all_of_it() -> None:
    """Mail is kept as held by a person until the end; other names go on."""

    async def body(world: World) -> None:
        world.settings[ADA] = NIGHT
        world.town.come(session(5), ADA)
        world.town.come(session(6), EVE)
        item = await world.mail("one")
        await world.mail("two", to=EVE)
        await world.rest()
        assert world.slot.texts() == ["two"]
        shown = world.courier.explain(ADA, item)
        assert shown == (Rung.HELD, Reason.OPERATOR, START + 3600.0)
        owner = world.town.owner(ADA)
        assert owner is not None
        (seen,) = world.courier.outlook(ADA, owner)
        assert (seen.reason, seen.until) == (Reason.OPERATOR, START + 3600.0)
        await world.after(3599.0)
        assert world.slot.texts() == ["two"]
        await world.after(2.0)
        assert world.slot.texts() == ["two", "one"]

    in_world(body)


def test_a_quiet_that_is_taken_back_ends_at_once() -> None:
    """A setting takes effect when it is made, not at the next letter."""

    async def body(world: World) -> None:
        world.settings[ADA] = NIGHT
        world.town.come(session(5), ADA)
        await world.mail("one")
        await world.rest()
        assert world.slot.texts() == []
        del world.settings[ADA]
        world.courier.on_name(ADA)
        await world.rest()
        assert world.slot.texts() == ["one"]

    in_world(body)


def test_a_name_with_a_slower_pace_gets_its_letters_by_it() -> None:
    """The control: beside it the same sender's letters to another name flow."""

    async def body(world: World) -> None:
        world.settings[ADA] = Settings(pace=Pace(0.1, 2))
        world.town.come(session(5), ADA)
        world.town.come(session(6), EVE)
        for n in range(4):
            await world.mail(f"ada {n}")
            await world.mail(f"eve {n}", to=EVE)
        await world.after(60.0)
        times = {offer.text: round(offer.at) for offer in world.slot.offers}
        assert [times[f"ada {n}"] for n in range(4)] == [0, 0, 10, 20]
        assert [times[f"eve {n}"] for n in range(4)] == [0, 0, 0, 0]

    in_world(body)


def test_a_pace_made_slower_or_common_again_counts_from_then_on() -> None:
    """The bucket of the old pace is no credit under the new one."""

    async def body(world: World) -> None:
        world.town.come(session(5), ADA)
        await world.mail("one")
        await world.rest()
        world.settings[ADA] = Settings(pace=Pace(0.1, 1))
        await world.mail("two")
        await world.mail("three")
        await world.rest()
        assert world.slot.texts() == ["one", "two"]
        world.settings[ADA] = Settings()
        world.courier.on_name(ADA)
        await world.rest()
        assert world.slot.texts() == ["one", "two", "three"]

    in_world(body)


def test_only_the_chosen_legs_are_used() -> None:
    """Mail waits where none of them serves the session, and says why."""

    async def body(world: World) -> None:
        world.settings[ADA] = Settings(legs=("hook",))
        world.town.come(session(5), ADA)
        item = await world.mail("one")
        await world.rest()
        assert world.slot.texts() == []
        shown = world.courier.explain(ADA, item)
        assert shown[:2] == (Rung.DEFERRED, Reason.UNREACHABLE)
        owner = world.town.owner(ADA)
        assert owner is not None
        assert world.courier.outlook(ADA, owner)[0].reason is Reason.OPERATOR
        world.settings[ADA] = Settings(legs=("hook", "slot"))
        world.courier.on_name(ADA)
        await world.rest()
        assert world.slot.texts() == ["one"]

    in_world(body)

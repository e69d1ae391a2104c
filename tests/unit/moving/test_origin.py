"""What the device that a name leaves does, with the other one in memory."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from homi.address import Address, Device, Name
from homi.claims import Moving
from homi.clock import SystemClock
from homi.errors import CannotCreate, NotReached, StorageFailed
from homi.moved import MoveDone
from homi.moving.forwarding import Forwarding
from homi.moving.origin import Origin
from homi.moving.packing import Packing
from homi.moving.planning import Order, Parts
from homi.moving.said import Asked, Said
from homi.owners import Owners
from homi.sessions import Sessions
from tests.unit.moving.test_target import MINI, Machine, Value
from tests.unit.names.test_names import NOW
from tests.unit.sessions.place import Registry, registries

LAPTOP, ADA = Device("laptop"), Name("ada")
MOVING = Moving(device=MINI, to=ADA, generation=0)
ORDER = Order(name=ADA, device=MINI, to=ADA)


class Empty(Forwarding):
    """No mail waits for anybody."""

    def __init__(self) -> None:
        """Nothing is asked of a store."""
        self.held = 0

    async def run(
        self, name: Name, to: Address, generation: int, leave: Callable[[], object]
    ) -> int:
        """Nothing went."""
        leave()
        return 0

    def pending(self, name: Name) -> int:
        """None."""
        return 0

    def waiting(self, device: Device) -> int:
        """None."""
        return 0

    def kept(self, to: Address) -> int:
        """Those that a person holds."""
        return self.held


class World:
    """Two devices; here is the origin of a move, there its target."""

    def __init__(self, root: Path, registry: Registry) -> None:
        """ada is here, with nothing that goes along."""
        self.here, self.there = Machine(root / "here"), Machine(root / "there")
        self.target = self.there.target()
        self.heard: list[str] = []
        self.forwarding = Empty()
        self.meanwhile: Callable[[], object] = lambda: None  # while the plan is made
        self.error: Exception | None = None  # of packing
        names = self.here.names
        names.claim("ada", None, NOW)
        self.registry = registry
        self.sessions = Sessions([registry.config], SystemClock())
        self.owners = Owners(names, self.sessions)
        packing = Packing(
            str(root / "here"),
            [],
            lambda _name: iter([]),
            self.count,
            self.here.parcels,
        )
        self.origin = Origin(
            Parts(
                here=LAPTOP,
                names=names,
                owners=self.owners,
                far=self,
                packing=packing,
                forwarding=self.forwarding,
                clock=SystemClock(),
                aside=self.aside,
                at=lambda _point: None,
            )
        )

    def count(self, _name: Name) -> int:
        """No finished messages."""
        return 0

    async def aside(self, work: Callable[..., Value], *args: object) -> Value:
        """Do it now, or fail as the disk does."""
        if self.error is not None and work.__name__ == "pack":
            raise self.error
        return work(*args)

    async def ask(self, device: Device, asked: Asked) -> Said:
        """What the other one says."""
        assert device == MINI
        self.heard.append(asked.do)
        if asked.do == "plan":
            self.meanwhile()
        return await self.target.answer(LAPTOP, asked)

    def linked(self, device: Device) -> bool:
        """There is one other."""
        return device == MINI

    async def put(self, device: Device, sha256: str) -> None:
        """A blob is there."""
        assert device == MINI
        self.there.blobs.keep(self.here.blobs.read(sha256))

    def goes(self, order: Order = ORDER) -> MoveDone:
        """The whole move."""
        return asyncio.run(self.origin.go(order))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Two devices, ada on the first."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    for registry in registries(tmp_path):
        yield World(tmp_path, registry)


def test_a_plan_of_a_move_that_is_under_way_does_not_go_on_with_it(
    world: World,
) -> None:
    """A dry run changes nothing, whatever it finds."""
    world.here.names.departures.begin(ADA, MOVING, NOW)
    done = world.goes(ORDER._replace(dry_run=True))
    assert done.done == "moving"
    assert world.heard == []
    assert world.goes().done == "moved"


def test_a_copy_of_a_name_that_is_on_its_way_is_no_move(world: World) -> None:
    world.here.names.departures.begin(ADA, MOVING, NOW)
    with pytest.raises(NotReached, match="on its way"):
        world.goes(ORDER._replace(fork=True))
    assert world.heard == []


def test_a_name_that_was_claimed_anew_is_not_taken_for_the_one_that_moved(
    world: World,
) -> None:
    """Without that, asked again, it is the same move."""
    assert world.goes().done == "moved"
    assert world.goes().done == "moved"
    world.here.names.claim("ada", None, NOW)
    with pytest.raises(CannotCreate, match="claimed there"):
        world.goes()


def test_it_is_told_what_stays_behind_until_a_person_lets_it_go(world: World) -> None:
    assert not [note for note in world.goes().notes if "person" in note]
    world.forwarding.held = 2
    told = "2 messages wait on laptop for a person: homi queue @mini"
    assert told in world.goes().notes


def test_a_session_that_comes_while_the_plan_is_made_keeps_its_name(
    world: World,
) -> None:
    """It would write on in a conversation that is copied already."""

    def comes() -> None:
        world.registry.session("ada")
        world.sessions.rescan()

    world.meanwhile = comes
    with pytest.raises(NotReached, match="live session"):
        world.goes()
    assert world.here.names.require("ada").moving is None


def test_a_name_stays_where_the_disk_refuses_what_goes_along(world: World) -> None:
    """And it can move when the disk does not."""
    world.error = OSError(5, "Input/output error")
    with pytest.raises(StorageFailed, match="ada stays here"):
        world.goes()
    claim = world.here.names.require("ada")
    assert (claim.moving, claim.generation) == (None, 3)
    world.error = None
    assert world.goes().generation == 4

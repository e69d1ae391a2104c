"""What the device that a name leaves does, with the other one in memory."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from homi.address import Address, Device, Name
from homi.claims import Claim, Moving
from homi.clock import SystemClock
from homi.errors import CannotCreate, NotReached, StorageFailed
from homi.moved import MoveDone
from homi.moving.forwarding import Forwarding
from homi.moving.origin import Origin
from homi.moving.packing import Packing
from homi.moving.parcel import Packed
from homi.moving.planning import Order, Parts
from homi.moving.said import Asked, Manifest, Said
from homi.owners import Owners
from homi.sessions import Sessions
from tests.unit.moving.test_target import MINI, Machine, Value
from tests.unit.names.test_names import NOW
from tests.unit.sessions.place import Registry, registries

LAPTOP, ADA = Device("laptop"), Name("ada")
MOVING = Moving(device=MINI, to=ADA, generation=0)
ORDER = Order(name=ADA, device=MINI, to=ADA)


class Killed(Exception):
    """What a test has happen in the place of a kill."""


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
        self.puts = -1  # blobs that cross before the link is down; -1: all
        self.deaf: set[str] = set()  # answers that get lost
        self.dies = ""  # the step behind which the daemon here is killed
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
        self.parts = Parts(
            here=LAPTOP,
            names=names,
            owners=self.owners,
            far=self,
            packing=packing,
            forwarding=self.forwarding,
            clock=SystemClock(),
            aside=self.aside,
            at=self.at,
        )
        self.origin = Origin(self.parts)

    def at(self, point: str) -> None:
        """What a test wants behind a step."""
        if point == self.dies:
            raise Killed

    def again(self) -> None:
        """The daemon here is started once more."""
        self.dies = ""
        self.origin = Origin(self.parts)

    def blobs(self) -> list[str]:
        """Everything that lies in blobs/ of either device."""
        folders = (self.here.root / "blobs", self.there.root / "blobs")
        found = [
            one for folder in folders if folder.is_dir() for one in folder.iterdir()
        ]
        return [f"{one.parent.parent.name}/{one.name}" for one in found]

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
        said = await self.target.answer(LAPTOP, asked)
        if asked.do in self.deaf:
            raise NotReached("mini does not answer", reason="link-down")
        return said

    def linked(self, device: Device) -> bool:
        """There is one other."""
        return device == MINI

    async def put(self, device: Device, sha256: str) -> None:
        """A blob is there."""
        assert device == MINI
        if self.puts == 0:
            raise NotReached("mini is away", reason="link-down")
        self.puts -= 1
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


@pytest.mark.parametrize("puts", [0, 1])
def test_a_move_that_fails_leaves_nothing_of_what_went_along(
    world: World, puts: int
) -> None:
    """Neither here nor, of what had crossed by then, there."""
    world.puts = puts
    with pytest.raises(NotReached, match="ada stays here: mini is away"):
        world.goes()
    assert world.blobs() == []
    world.puts = -1
    assert world.goes().done == "moved"
    assert world.blobs() == []


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("step", ["move-packed", "move-copied"])
def test_nothing_is_left_of_one_that_is_ended_after_a_kill(
    world: World, step: str, *, force: bool
) -> None:
    """The next daemon knows what the one before had packed; one that is ended by force
    is told there when they meet."""
    world.dies = step
    with pytest.raises(Killed):
        world.goes()
    assert len(world.blobs()) >= 2
    world.again()
    asyncio.run(world.origin.abort(ADA, force=force))
    if force:
        assert not [one for one in world.blobs() if one.startswith("here/")]
        for name, one in world.here.names.departures.forced().items():
            asyncio.run(world.origin.tell(Name(name), one))
    assert world.blobs() == []
    assert world.here.names.require("ada").moving is None


@pytest.mark.parametrize("step", ["move-packed", "move-claimed", "move-there"])
def test_nor_of_one_that_goes_on_after_a_kill(world: World, step: str) -> None:
    world.dies = step
    with pytest.raises(Killed):
        world.goes()
    world.again()
    assert asyncio.run(world.origin.resume(ADA)).done == "moved"
    assert world.blobs() == []


def test_what_is_packed_otherwise_after_a_kill_lacks_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the folder has another commit by then: its history is the same."""
    world.dies = "move-packed"
    with pytest.raises(Killed):
        world.goes()
    world.again()
    pack = world.parts.packing.pack

    def other(claim: Claim, base: Manifest, session: str, fork: bool) -> Packed:
        """The same with a setting that it had not before."""
        claim = replace(claim, settings={"digest": "off"})
        return pack(claim, base, session, fork)

    monkeypatch.setattr(world.parts.packing, "pack", other)
    assert asyncio.run(world.origin.resume(ADA)).done == "moved"
    assert world.blobs() == []


def test_a_copy_leaves_nothing_and_is_one_though_no_answer_came(world: World) -> None:
    """It is asked whether it is there, and else nothing of it stays there."""
    fork = ORDER._replace(fork=True, to=Name("trial"))
    world.puts = 0
    with pytest.raises(NotReached, match="mini is away"):
        world.goes(fork)
    assert world.blobs() == []
    world.puts, world.deaf = -1, {"claim"}
    assert world.goes(fork).done == "forked"
    assert world.blobs() == []

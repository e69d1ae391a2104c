"""What the device that a name comes to takes, and what it puts in place of it."""

import asyncio
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec import convert
from msgspec.structs import replace

from homi.address import Address, Device, Name
from homi.clock import SystemClock
from homi.envelope import encode
from homi.errors import BadMessage, CannotCreate, HomiError, StorageFailed, Usage
from homi.moving.parcel import Parcels
from homi.moving.said import Asked, Do, Manifest, Part, Said
from homi.moving.target import Here, Target
from homi.names import Names
from homi.store.blobs import Blobs
from homi.store.disk import RealDisk
from tests.unit.names.test_names import NOW, names_at

Value = TypeVar("Value")
MINI, ADA = Device("mini"), Name("ada")
BASE = Manifest(name="ada", device="mini", to="ada", generation=2)


class Machine:
    """The parts of one device, over restarts."""

    def __init__(self, root: Path) -> None:
        """Nothing came yet."""
        self.root = root
        self.blobs = Blobs(str(root), RealDisk())
        self.parcels = Parcels(self.blobs)
        self.started: list[tuple[str, str, str]] = []
        self.refuses: HomiError | None = None
        self.full: HomiError | None = None  # its disk
        self.names = names_at(root)

    async def bring(self, name: Name, lines: Iterable[bytes]) -> tuple[int, int]:
        """Every line of a name that is here can be stored."""
        assert self.names.get(name) is not None
        if self.full is not None:
            raise self.full
        return len(list(lines)), 0

    async def spawn(self, name: Name, cwd: str, session: str) -> None:
        """Start one, or refuse."""
        self.started.append((name, cwd, session))
        if self.refuses is not None:
            raise self.refuses

    def target(self) -> Target:
        """What a start makes of it."""
        self.names = names_at(self.root)
        return Target(
            Here(
                names=self.names,
                parcels=self.parcels,
                disk=RealDisk(),
                config=str(self.root / "config"),
                bring=self.bring,
                spawn=self.spawn,
                clock=SystemClock(),
                aside=_aside,
                at=lambda _point: None,
            )
        )

    def claim(self, base: Manifest = BASE, **more: object) -> Asked:
        """The question that has a parcel claimed."""
        packed = self.parcels.pack(base, [b"{}\n"], None)
        return asked("claim", manifest=packed.sha256, **more)


def asked(do: Do, **more: object) -> Asked:
    """A question of mini about ada."""
    fields = {"name": "ada", "to": "ada", "generation": 2}
    return convert({"do": do, **fields, **more}, Asked)


async def _aside(work: Callable[..., Value], *args: object) -> Value:
    return work(*args)


def answers(
    target: Target, *questions: Asked, then: Callable[[], None] = lambda: None
) -> Said:
    """The last answer, when all that was begun is done."""

    async def main() -> Said:
        said = Said()
        for question in questions:
            said = await target.answer(MINI, question)
        then()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*tasks)
        return said

    return asyncio.run(main())


def counts(target: Target) -> Said:
    """What is in place."""
    return answers(target, asked("counts"))


def sweeps(target: Target) -> None:
    """A start, and all that it begins."""
    answers(target, then=target.sweep)


def test_what_came_is_counted_once_it_is_in_place(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    target = machine.target()
    assert answers(target, machine.claim()).there
    found = counts(target)
    assert (found.settled, found.messages, found.notes) == (True, 1, [])
    assert machine.started == []
    assert list((tmp_path / "blobs").iterdir()) == []


def test_an_agent_that_was_asked_for_is_started_after_a_restart(
    tmp_path: Path,
) -> None:
    """Once, though the device forgot that it was asked, and not with every start."""
    machine = Machine(tmp_path)

    async def dies() -> None:
        target = machine.target()
        await target.answer(MINI, machine.claim(spawn=True))
        target.stop()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(dies())
    assert machine.started == []
    target = machine.target()
    sweeps(target)
    assert machine.started == [("ada", "", "")]
    assert counts(target).settled
    sweeps(machine.target())
    assert machine.started == [("ada", "", "")]


def test_an_agent_that_cannot_be_started_is_told_of_and_not_tried_again(
    tmp_path: Path,
) -> None:
    """The name is there all the same."""
    machine = Machine(tmp_path)
    machine.refuses = CannotCreate("no such program")
    target = machine.target()
    answers(target, machine.claim(spawn=True))
    found = counts(target)
    assert found.settled
    assert found.notes == ["no agent is started: no such program"]
    sweeps(target)
    assert len(machine.started) == 1


def test_an_agent_without_a_folder_stands_in_the_way(tmp_path: Path) -> None:
    """Said before anything changes, not when it is there."""
    target = Machine(tmp_path).target()
    with pytest.raises(Usage, match="--cwd DIR"):
        answers(target, asked("plan", spawn=True))
    folder = str(tmp_path)
    assert answers(target, asked("plan", spawn=True, cwd=folder)).cwd == folder


def test_what_came_waits_for_a_disk_that_is_full(tmp_path: Path) -> None:
    """It is put in place, and the agent started, when there is room."""
    machine = Machine(tmp_path)
    machine.full = StorageFailed("no space left")
    target = machine.target()
    assert answers(target, machine.claim(spawn=True)).there
    found = counts(target)
    assert (found.settled, found.notes) == (False, ["it waits: no space left"])
    assert machine.started == []
    machine.full = None
    target = machine.target()
    sweeps(target)
    assert counts(target).messages == 1
    assert machine.started == [("ada", "", "")]


def test_a_name_that_goes_on_is_not_started_here(tmp_path: Path) -> None:
    """Whoever asked for an agent asked for one where the name was."""
    machine = Machine(tmp_path)
    target = machine.target()

    def leaves() -> None:
        machine.names.departures.give_back(ADA, ADA, MINI, 4, NOW)

    answers(target, machine.claim(spawn=True), then=leaves)
    assert machine.started == []


@pytest.mark.parametrize("kind", ["alias", "claim", "room", "behind"])
def test_no_name_of_ours_is_taken_by_one_that_did_not_ask_before(
    tmp_path: Path, kind: str
) -> None:
    """A device may leave out the question whether it would be taken."""
    machine = Machine(tmp_path)
    target, names = machine.target(), machine.names
    made: dict[str, Callable[[], object]] = {
        "alias": lambda: names.add_alias("ada", Address(Name("bob")), NOW),
        "claim": lambda: names.claim("ada", None, NOW),
        "room": lambda: names.open_room("ada", NOW),
        "behind": lambda: behind(names),
    }
    made[kind]()
    to = "ada-live" if kind == "behind" else "ada"
    with pytest.raises(CannotCreate):
        answers(target, machine.claim(replace(BASE, to=to), to=to))


def behind(names: Names) -> None:
    """ada is in front of ada-live."""
    names.claim("ada", None, NOW)
    names.front("ada", on=True)


def test_a_part_that_is_none_is_a_note_and_not_tried_for_ever(tmp_path: Path) -> None:
    """The name is there; what cannot be read is told of."""
    machine = Machine(tmp_path)
    target = machine.target()
    junk, size = machine.blobs.keep([b"no such thing"])
    base = replace(BASE, history=Part(sha256=junk, size=size, count=1))
    sha256, _ = machine.blobs.keep([zlib.compress(encode(base))])
    answers(target, asked("claim", manifest=sha256))
    found = counts(target)
    assert (found.settled, found.messages) == (True, 0)
    assert "not compressed" in found.notes[0]


def test_no_device_takes_a_name_out_of_reach_by_its_generation(
    tmp_path: Path,
) -> None:
    """One above all that can be would be the last one the name ever has."""
    machine = Machine(tmp_path)
    target, far = machine.target(), (1 << 53) - 1
    with pytest.raises(BadMessage, match="never came to"):
        answers(target, machine.claim(replace(BASE, generation=far), generation=far))
    for question in (asked("cancel", generation=far), asked("yield", generation=far)):
        with pytest.raises(BadMessage, match="never came to"):
            answers(target, question)
    assert answers(target, machine.claim()).there


def test_a_folder_that_is_no_whole_path_is_none(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    target = machine.target()
    with pytest.raises(HomiError, match="not an absolute path"):
        answers(target, machine.claim(replace(BASE, cwd=".")))
    assert answers(target, machine.claim(replace(BASE, cwd=str(tmp_path)))).there


def test_a_name_that_cannot_be_in_front_here_comes_all_the_same(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path)
    target = machine.target()
    machine.names.claim("ada-live", None, NOW)
    answers(target, machine.claim(replace(BASE, front=True)))
    assert not machine.names.require("ada").front
    machine.names.release("ada")
    machine.names.release("ada-live")
    higher = replace(BASE, front=True, generation=4)
    answers(target, machine.claim(higher, generation=4))
    assert machine.names.require("ada").front

"""Which seats stand for a name: while their program lives and nothing better does."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.address import Name
from homi.claims import Body
from homi.clock import SystemClock
from homi.owners import Owners
from homi.peers import process
from homi.seatwatch import SeatWatch, process_of
from homi.sessions import Sessions
from tests.unit.names.test_names import NOW, names_at
from tests.unit.sessions.place import Registry

ADA = Name("ada")


def body_of(pid: int) -> Body:
    start = process.start_time(pid)
    return Body(client="seat", id=f"%3.{pid}.{start}", home="/s", cwd="/w")


class Scene:
    """A claimed name, and what watches the seats."""

    def __init__(self, registry: Registry, root: Path) -> None:
        self.names = names_at(root)
        self.sessions = Sessions([registry.config], SystemClock())
        self.owners = Owners(self.names, self.sessions)
        self.watch = SeatWatch(self.names, self.sessions)
        self.names.claim("ada", None, NOW)

    def owner(self) -> str:
        found = self.owners.owner(ADA)
        return "" if found is None else found.client


@pytest.fixture
def scene(registry: Registry, tmp_path: Path) -> Scene:
    return Scene(registry, tmp_path)


def on_loop(scene: Scene, work: Callable[[], object]) -> None:
    """Do work while seats are watched."""

    async def run() -> None:
        scene.watch.start(asyncio.get_running_loop())
        work()
        scene.watch.stop()

    asyncio.run(run())


def test_a_bound_seat_has_the_name_until_it_is_bound_no_more(scene: Scene) -> None:
    body = body_of(os.getpid())

    def work() -> None:
        scene.names.embody("ada", body)
        assert scene.owner() == "seat"
        found = scene.owners.owner(ADA)
        assert found is not None
        assert (found.session_id, found.config_dir, found.pid) == (body.id, "/s", 0)
        other = body_of(os.getppid())
        scene.names.embody("ada", other)
        assert [each.session_id for each in scene.sessions.bodies()] == [other.id]
        scene.names.embody("ada", None)
        assert scene.owner() == ""

    on_loop(scene, work)


def test_a_session_of_that_name_comes_before_the_seat(
    registry: Registry, scene: Scene
) -> None:
    scene.names.embody("ada", body_of(os.getpid()))

    def work() -> None:
        assert scene.owner() == "seat"
        pid = registry.session("ada")
        scene.sessions.rescan()
        assert scene.owner() == "claude"
        registry.path(pid).unlink()
        scene.sessions.rescan()
        assert scene.owner() == "seat"

    on_loop(scene, work)


def test_a_seat_falls_with_its_program_and_another_program_is_none(
    scene: Scene,
) -> None:
    program = subprocess.Popen(["sleep", "60"])
    body = body_of(program.pid)
    scene.names.embody("ada", body)

    async def run() -> None:
        gone = asyncio.Event()
        scene.sessions.subscribe(lambda _old, new: None if new else gone.set())
        scene.watch.start(asyncio.get_running_loop())
        assert scene.owner() == "seat"
        program.send_signal(signal.SIGKILL)
        async with asyncio.timeout(60):
            await gone.wait()
        program.wait()
        assert scene.owner() == ""
        scene.watch.sweep()
        assert scene.owner() == ""
        later = Body(client="seat", id=f"%3.{os.getpid()}.1", home="/s")
        scene.names.embody("ada", later)
        assert scene.owner() == ""
        scene.watch.stop()

    asyncio.run(run())


def test_an_id_that_is_none_of_a_seat_is_no_program(scene: Scene) -> None:
    for text in ("", "%3", "%3.x.1", "a.b", "%3.-1.5"):
        assert process_of(Body(client="seat", id=text))[0] == 0
    scene.names.embody("ada", Body(client="seat", id="%3.x.1"))
    on_loop(scene, lambda: scene.owner() == "" or pytest.fail("it stands"))

"""Which commands stand for a name."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from homi.address import Name
from homi.claims import Body
from homi.clock import SystemClock
from homi.commands.binding import Chosen, make
from homi.commands.runs import Runs
from homi.commands.template import Template
from homi.commands.watch import CommandWatch
from homi.envelope import Reason
from homi.sessions import Sessions
from tests.unit.names.test_names import NOW, names_at

ADA = Name("ada")
STRANGE = Body(client="command", id="later:1", options={"template": 5})


class Scene:
    """A claimed name, and what watches the commands."""

    def __init__(self, root: Path) -> None:
        self.names = names_at(root)
        self.sessions = Sessions([root / "claude"], SystemClock())
        self.watch = CommandWatch(self.names, self.sessions, Runs(str(root)))
        self.names.claim("ada", None, NOW)

    def bodies(self) -> list[str]:
        return [body.client for body in self.sessions.bodies()]


@pytest.fixture
def watched(tmp_path: Path) -> Callable[[Callable[[Scene], None]], None]:
    """Do work while commands are watched."""

    def run(work: Callable[[Scene], None]) -> None:
        async def live() -> None:
            scene = Scene(tmp_path)
            scene.watch.start(asyncio.get_running_loop())
            work(scene)
            scene.watch.stop()

        asyncio.run(live())

    return run


def test_a_bound_command_stands_until_it_is_bound_no_more(
    watched: Callable[..., None],
) -> None:
    def work(scene: Scene) -> None:
        template = Template(argv=["/bin/true"])
        scene.names.embody(
            "ada", make(ADA, Chosen(label="true", template=template, cwd="/"))
        )
        assert scene.bodies() == ["command"]
        assert scene.watch.why(ADA) is None
        scene.names.embody("ada", None)
        assert scene.bodies() == []

    watched(work)


def test_what_nobody_here_understands_is_told_as_long_as_it_is_bound(
    watched: Callable[..., None],
) -> None:
    """Whatever the name is bound to next is not blamed for it."""

    def work(scene: Scene) -> None:
        scene.names.embody("ada", STRANGE)
        assert scene.bodies() == []
        assert scene.watch.why(ADA) is Reason.UNREACHABLE
        scene.names.embody("ada", None)
        assert scene.watch.why(ADA) is None

    watched(work)

"""An agent for a name that came here from another device."""

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from homi.assembly.starting import Starting
from homi.doors.office import Office
from homi.errors import CannotCreate, NoInput, Unavailable
from tests.unit.spawn.conftest import Play
from tests.unit.spawn.kit import ADA, Nursery

ID = "0b6f1d5e-2b8e-4c5e-9a53-6d2f6f0c9a11"


def starting(nursery: Nursery) -> Starting:
    """As a daemon has it, over that keeper."""
    nursery.names.claim(ADA, None, 0.0)
    return Starting(cast(Office, SimpleNamespace(keeper=nursery.keeper)), nursery.clock)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with a claude in it, and in PATH."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return str(program.parent)


def test_it_is_started_once_with_the_conversation_that_came(
    play: Play, folder: str
) -> None:
    async def scene(nursery: Nursery) -> None:
        start = starting(nursery)
        task = asyncio.ensure_future(start(ADA, folder, ID))
        await nursery.until(lambda: nursery.spawns.get(ADA) is not None)
        assert (nursery.ada.argv, nursery.ada.cwd) == (["--resume", ID], folder)
        nursery.ready()
        await task
        await start(ADA, folder, ID)
        assert nursery.programs.starts == 1

    play(scene)


def test_what_cannot_be_started_is_tried_once(play: Play, folder: str) -> None:
    """No program, no folder, or an end before it is ready: none is tried again."""

    async def scene(nursery: Nursery) -> None:
        start = starting(nursery)
        with pytest.raises(NoInput):
            await start(ADA, folder + "/none", ID)
        assert nursery.programs.starts == 0
        nursery.programs.error = Unavailable("no tmux")
        with pytest.raises(CannotCreate):
            await start(ADA, folder, ID)

    play(scene)

"""An agent started for a name that came from another device.

Owns what it is started with: the conversation that came along.  homi-move(1).
"""

import asyncio
import os
from functools import partial
from pathlib import Path

from homi.address import Name
from homi.assembly.parley import settle
from homi.clock import Clock, rfc3339
from homi.doors.office import Office
from homi.errors import HomiError, Unavailable
from homi.seats import launch
from homi.spawn import clients
from homi.spawn.state import Spawned

CLIENT = "claude"  # the one whose conversations come along


class Starting:
    """Fits homi.moving.target.Spawn."""

    def __init__(self, office: Office, clock: Clock) -> None:
        """Starts nothing yet."""
        self._office = office
        self._clock = clock

    async def __call__(self, name: Name, cwd: str, session: str) -> None:
        """Start it; HomiError where that cannot be, or it is not ready."""
        keeper = self._office.keeper
        if keeper is None:
            raise Unavailable("the daemon is starting")
        path = os.environ.get("PATH", os.defpath)
        spawned = Spawned(
            name=name,
            client=CLIENT,
            cwd=launch.folder(cwd or str(Path.home())),
            argv=["--resume", session] if session else [],
            path=path,
            at=rfc3339(self._clock.wall()),
        )
        clients.check(CLIENT, spawned.argv)
        launch.program([CLIENT], path, spawned.cwd)
        told: asyncio.Future[Spawned | HomiError]
        told = asyncio.get_running_loop().create_future()
        keeper.order(spawned, partial(settle, told))
        found = await told
        if isinstance(found, HomiError):
            raise found

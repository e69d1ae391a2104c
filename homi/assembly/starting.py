"""An agent for a name that came here from another device.

Owns how it is begun: in its folder there, with the conversation that came along.
homi-move(1).
"""

import asyncio
import logging
import os
from functools import partial

from homi.address import Name
from homi.clock import Clock, rfc3339
from homi.doors.office import Office
from homi.errors import CannotCreate, HomiError, Unavailable
from homi.request import CallerClass
from homi.seats import launch
from homi.spawn.clients import CLAUDE
from homi.spawn.state import Spawned

log = logging.getLogger("homi.spawn")

READY = 60.0  # s: then it goes on starting, and nobody waits


class Starting:
    """Starts an agent of Claude Code for a name, once."""

    def __init__(self, office: Office, clock: Clock) -> None:
        """The keeper is asked for when it is needed: it may be built later."""
        self._office = office
        self._clock = clock

    async def __call__(self, name: Name, cwd: str, session: str) -> None:
        """Done when it can be written to, or runs already; 66, 69 and 73 where it
        cannot be started, which is tried once."""
        keeper = self._office.keeper
        if keeper is None:
            raise Unavailable("the daemon is starting")
        known = keeper.spawns.get(name)
        if known is not None and known.run is not None:
            return
        path = os.environ.get("PATH", os.defpath)
        loop = asyncio.get_running_loop()
        look = partial(_look, cwd, path)
        await loop.run_in_executor(None, look)
        ready: asyncio.Future[Spawned | HomiError] = loop.create_future()
        spawned = Spawned(
            name=name,
            client=CLAUDE,
            cwd=cwd,
            argv=["--resume", session] if session else [],
            path=path,
            by=[CallerClass.PERSON],  # of the device it came from
            at=rfc3339(self._clock.wall()),
        )

        def told(what: Spawned | HomiError) -> None:
            if not ready.done():
                ready.set_result(what)

        keeper.order(spawned, told)
        try:
            async with asyncio.timeout(READY):
                what = await ready
        except TimeoutError:
            log.info("%s is not ready yet", name)
            return
        if isinstance(what, HomiError):
            raise CannotCreate(what.text, hint=what.hint)


def _look(cwd: str, path: str) -> None:
    """66 or 69 where the folder or the program is not there."""
    launch.program([CLAUDE], path, launch.folder(cwd), launch.CLIENT)

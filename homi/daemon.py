"""The daemon: its parts begin in order, run, and end in order.

Owns the life of the process; what the parts are is in homi.parts.  homid(8) is the
page.
"""

import asyncio
import contextlib
import gc
import logging
import os
import random
from pathlib import Path

import uvloop

from homi import __version__, questions
from homi.assembly import process, succession
from homi.config import SWEEP, Config
from homi.inheritance import Inherited
from homi.parts import Parts
from homi.store.disk import RealDisk
from homi.store.state import refuse_newer

log = logging.getLogger("homi.daemon")


def run(root: Path, settings: Config) -> int:
    """Be the daemon of root until SIGTERM, SIGINT or a stop; the exit status.

    HomiError where it cannot start: 73 another daemon has the root, 74 the disk,
    76 a newer state file, 78 the root or the socket folder is not private.
    """
    heritage = succession.heritage(os.environ)  # before the log is opened
    while True:
        with process.prepare(root):
            heritage.tell()
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                daemon = runner.run(_live(root, settings, heritage))
        if (kept := daemon.succession.follow()) is None:
            return daemon.status
        heritage = kept
        del daemon  # nothing of it is needed twice
        gc.unfreeze()
        gc.collect()


def check(root: Path) -> int:
    """0, or 76 where a state file of root is newer than this homi."""
    refuse_newer(os.fspath(root), RealDisk())
    return os.EX_OK


async def _live(root: Path, settings: Config, heritage: Inherited) -> "Daemon":
    """Start, serve until told to stop, stop; what has ended."""
    loop = asyncio.get_running_loop()
    async with contextlib.AsyncExitStack() as ends:
        # Called in a turn of the loop, and so not before there is a daemon.
        process.heed_signals(loop, lambda why: daemon.end(why))
        daemon = Daemon(root, settings, ends, heritage)
        await daemon.start()
        await daemon.ended.wait()
        log.info("stopping")
    log.info("stopped")
    daemon.succession.hurry()
    return daemon


class Daemon:
    """The life of one postmaster; each part's end is noted when it is begun."""

    def __init__(
        self,
        root: Path,
        settings: Config,
        ends: contextlib.AsyncExitStack,
        heritage: Inherited,
    ) -> None:
        """Take the lock, recover the store and read the names; nothing new listens."""
        self.ended = asyncio.Event()
        self.status = os.EX_OK
        self._ends = ends
        self._parts = Parts(root, settings, ends, heritage, self.end)
        self.succession = self._parts.succession

    async def start(self) -> None:
        """Open the doors, the store first; ready when this returns."""
        parts, ends = self._parts, self._ends
        loop = asyncio.get_running_loop()
        parts.store.start(loop)
        parts.sessions.attach(loop)
        ends.callback(parts.sessions.detach)
        ends.push_async_callback(parts.peer.stop)
        await parts.peer.start()
        parts.front.start()
        ends.push_async_callback(parts.front.stop)
        ends.callback(parts.reach.start(loop))
        courier = loop.create_task(parts.courier.run(), name="courier")
        courier.add_done_callback(self._courier_ended)
        ends.push_async_callback(self._stop_courier, courier)
        parts.nudges.sweep()
        ends.callback(parts.nudges.close)
        person = questions.notifier(parts.office, parts.postmaster, parts.clock)
        ends.callback(person.close)
        parts.duties.start(loop)
        ends.callback(parts.duties.stop)
        parts.pickup.start()
        ends.callback(parts.pickup.stop)
        parts.talk.start(loop, parts.office.watchers.moved)
        ends.callback(parts.looking.stop)
        ends.callback(parts.talk.stop)
        parts.linkage.start(loop)
        ends.push_async_callback(parts.linkage.stop)
        parts.door.joined = lambda: parts.store.publishing
        parts.door.start()
        parts.store.on_published(parts.door.flush)
        ends.callback(parts.door.stop_accepting)
        self._sweep_later()
        ends.callback(lambda: self._sweeper.cancel())
        for finding in parts.office.findings:
            log.warning("unreadable: %s", finding)
        self.succession.ready(loop)
        gc.freeze()  # what stands now lives as long as the daemon
        log.info(
            "homi %s is up: pid %d, %s", __version__, os.getpid(), parts.office.root
        )

    def end(self, why: str) -> None:
        """Begin the end; what is in flight is finished first."""
        log.info("told to end by %s", why)
        self.succession.ending(why)
        self.ended.set()

    async def _stop_courier(self, task: asyncio.Task[None]) -> None:
        """Finish the offer in flight, start no other."""
        await self._parts.courier.stop()
        await asyncio.wait([task])

    def _courier_ended(self, task: asyncio.Task[None]) -> None:
        """Without a courier mail would wait in silence: a bug there ends the daemon,
        so that whoever supervises it notices."""
        if not task.cancelled() and (bug := task.exception()) is not None:
            log.critical("the courier failed", exc_info=bug)
            self.status = os.EX_SOFTWARE
            self.end("a bug")

    def _sweep_later(self) -> None:
        """The one slow tick: it finds what a lost notice would have told."""
        self._sweeper = asyncio.get_running_loop().call_later(
            SWEEP * random.uniform(0.9, 1.1), self._sweep
        )

    def _sweep(self) -> None:
        self._sweep_later()
        loop = asyncio.get_running_loop()
        # Each on its own: what one of them meets must not keep the others from it.
        for part in self._parts.sweeps:
            loop.call_soon(part)

"""The composition root: builds the parts in order, runs them, ends them in order.

Owns the life of the process; every decision is in the parts.  homid(8) is the
page.
"""

import asyncio
import logging
import os
import random
import resource
import signal
from pathlib import Path

import uvloop

from homi import config as settings
from homi import paths
from homi.callers import classify
from homi.clock import SystemClock
from homi.config import STOP_DRAIN, SWEEP, Config
from homi.courier.courier import Courier
from homi.doors.control import ControlDoor
from homi.doors.office import Office
from homi.doors.peer import PeerDoor
from homi.doors.pickup import PickupDoor
from homi.doors.verbs import Verbs
from homi.legs.claude import ClaudeLeg
from homi.legs.witness import ClaudeWitness
from homi.names import Names
from homi.owners import Owners
from homi.peers.registry import Planter
from homi.postmaster import Postmaster
from homi.sessions import Sessions
from homi.store.disk import RealDisk
from homi.store.quarantine import Quarantine
from homi.store.store import DiskStore

log = logging.getLogger("homi.daemon")


def run(root: Path, config: Config) -> int:
    """Be the daemon of root until SIGTERM, SIGINT or a stop; the exit status.

    HomiError where it cannot start: 73 another daemon has the root, 74 the disk,
    76 a newer state file, 78 the root is not private.
    """
    os.umask(0o077)
    paths.make_private(root)
    _raise_file_limit()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_live(root, config))


async def _live(root: Path, config: Config) -> int:
    """Start, serve until told to stop, stop."""
    daemon = Daemon(root, config)
    await daemon.start()
    try:
        await daemon.ended.wait()
    finally:
        await daemon.stop()
    return 0


class Daemon:
    """All parts of one postmaster, in the order they stand on one another."""

    def __init__(self, root: Path, config: Config) -> None:
        """Take the lock, recover the store and read the names; nothing listens yet."""
        self.ended = asyncio.Event()
        self._clock = clock = SystemClock()
        self._disk = disk = RealDisk()
        self._store = DiskStore.open(root, config, clock, disk)
        quarantine = Quarantine(os.fspath(root), disk, clock)
        self._names = Names.load(root, disk)
        folders = [settings.machine_registry()] + [
            Path(os.path.expanduser(folder)) for folder in config.registries
        ]
        self._sessions = Sessions(folders, clock)
        self._owners = Owners(self._names, self._sessions)
        self._postmaster = Postmaster(
            self._store,
            self._names,
            self._owners,
            self._sessions,
            quarantine,
            clock,
            config,
        )
        planters = [
            Planter(folder / "sessions", self._names.domain) for folder in folders
        ]
        self._peer = PeerDoor(
            names=self._names,
            owners=self._owners,
            sessions=self._sessions,
            planters=planters,
            postmaster=self._postmaster,
            quarantine=quarantine,
            clock=clock,
            on_receipt=self._on_receipt,
        )
        witness = ClaudeWitness(self._on_evidence, clock)
        self._courier = Courier(
            store=self._store,
            owners=self._owners,
            sessions=self._sessions,
            legs=[ClaudeLeg(clock, witness)],
            witness=witness,
            sockets=self._peer,
            clock=clock,
            tell=self._postmaster.tell,
        )
        self._office = Office(
            os.fspath(root),
            config,
            self._store,
            self._names,
            self._owners,
            self._sessions,
            self._postmaster,
        )
        self._control = ControlDoor(
            paths.control_socket(root), config.device_name(), self._verbs
        )
        self._pickup = PickupDoor(root, self._names, self._postmaster, quarantine)
        self._sweeper: asyncio.TimerHandle | None = None
        self._courier_task: asyncio.Task[None] | None = None


def _raise_file_limit() -> None:
    """A thousand names are a thousand descriptors, over the usual soft limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

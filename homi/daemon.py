"""The composition root: builds the parts in order, runs them, ends them in order.

Owns the life of the process; every decision is in the parts.  homid(8) is the
page.
"""

import asyncio
import contextlib
import gc
import logging
import os
import random
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import uvloop

from homi import __version__, paths, questions, restraint
from homi.address import Name
from homi.assembly import duties, process, succession
from homi.callers import classify
from homi.claims import State
from homi.clock import SystemClock
from homi.config import SWEEP, Config
from homi.courier.courier import Courier
from homi.courier.nudge import Nudges
from homi.doors.bind import refuse_another
from homi.doors.control import ControlDoor
from homi.doors.front import Front
from homi.doors.office import Office, Shown
from homi.doors.peer import PeerDoor
from homi.doors.pickup import PickupDoor
from homi.doors.remarks import remarks
from homi.doors.verbs import Verbs
from homi.envelope import LedgerLine, SessionRef
from homi.inheritance import Inherited
from homi.legs.base import Evidence
from homi.legs.claude import rename
from homi.legs.hook import Sheet
from homi.links import setup
from homi.links.known import KnownNames
from homi.links.talk import Talk
from homi.looking import Looking
from homi.names import Names
from homi.owners import Owners
from homi.peers.registry import Planter
from homi.postmaster import Postmaster
from homi.reach import Reach
from homi.sessions import Session, Sessions
from homi.store.disk import RealDisk
from homi.store.mailbox import Item
from homi.store.places import device_of
from homi.store.quarantine import Quarantine
from homi.store.state import StateFile, refuse_newer
from homi.store.store import DiskStore

log = logging.getLogger("homi.daemon")


def run(root: Path, settings: Config) -> int:
    """Be the daemon of root until SIGTERM, SIGINT or a stop; the exit status.

    HomiError where it cannot start: 73 another daemon has the root, 74 the disk,
    76 a newer state file, 78 the root or the socket folder is not private.
    """
    heritage = succession.heritage(os.environ)  # before the log is opened
    with process.prepare(root):
        heritage.tell()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            daemon = runner.run(_live(root, settings, heritage))
    daemon.succession.follow()
    return daemon.status


def check(root: Path) -> int:
    """0, or 76 where a state file of root is newer than this homi."""
    refuse_newer(os.fspath(root), RealDisk())
    return os.EX_OK


async def _live(root: Path, settings: Config, heritage: Inherited) -> "Daemon":
    """Start, serve until told to stop, stop; what has ended."""
    loop = asyncio.get_running_loop()
    async with contextlib.AsyncExitStack() as ends:
        daemon = Daemon(root, settings, ends, heritage)
        for number in process.ends_by():
            loop.add_signal_handler(number, daemon.end, signal.Signals(number).name)
        await daemon.start()
        await daemon.ended.wait()
        log.info("stopping")
    log.info("stopped")
    daemon.succession.hurry()
    return daemon


class Daemon:
    """All parts of one postmaster; each one's end is noted when it is begun."""

    def __init__(
        self,
        root: Path,
        settings: Config,
        ends: contextlib.AsyncExitStack,
        heritage: Inherited,
    ) -> None:
        """Take the lock, recover the store and read the names; nothing new listens."""
        self._heritage = heritage
        self.ended = asyncio.Event()
        self.status = os.EX_OK
        self._ends = ends
        self._door = ControlDoor(
            paths.control_socket(root), settings.device_name(), self._verbs
        )
        # What is noted first ends last: answers still leave after the last commit.
        ends.callback(self._door.close)
        self._clock = SystemClock()
        self._disk = RealDisk()
        refuse_another(paths.control_socket(root))
        self._store = DiskStore.open(root, settings, self._clock, self._disk, heritage)
        ends.push_async_callback(self._store.aclose)
        self._build(root, settings)
        self._connect()

    def _build(self, root: Path, settings: Config) -> None:
        """Everything above the store, upwards."""
        clock, disk, store = self._clock, self._disk, self._store
        quarantine = Quarantine(os.fspath(root), disk, clock)
        file = StateFile(os.fspath(root / "names.json"), disk, State)
        self._names = names = Names(file)
        folders = settings.registry_folders()
        self._sessions = sessions = Sessions(folders, clock)
        self._owners = owners = Owners(names, sessions)
        self._postmaster = postmaster = Postmaster(
            store, names, owners, quarantine, clock, settings
        )
        self._peer = PeerDoor(
            names,
            owners,
            sessions,
            [Planter(folder / "sessions", names.domain) for folder in folders],
            postmaster,
            quarantine,
            clock,
            self._evidence,
            doubtful=store.mailboxes() if store.unclean else (),
        )
        self._reach = Reach(self._evidence, clock, names, sessions, store, root)
        self._courier = Courier(
            store,
            owners,
            sessions,
            self._reach.legs,
            self._reach.witness,
            self._peer.reply_sockets,
            clock,
            self._tell,
            postmaster.accept,
            settings=restraint.settings(names, settings.policy),
            awaited=lambda item: self._office.asks.awaited(item),
        )
        self._front = Front(names, owners, sessions, rename)
        self._nudges = Nudges(store, owners, postmaster.remind)
        self._pickup = PickupDoor(root, names, postmaster, quarantine)
        self._office = Office(
            os.fspath(root), settings, store, names, owners, sessions, postmaster
        )
        self._looking = looking = Looking(root)
        self._linkage = setup.build(self._office, disk, clock, looking)
        owners.devices = self._linkage.links.devices
        self._talk = Talk(
            self._linkage,
            names,
            owners,
            store,
            (looking.rungs, looking.steps),
            KnownNames.file(root, disk),
            clock,
        )

    def _connect(self) -> None:
        """Tell each part of what concerns it.  The peer door subscribed to owners
        before the courier does: the record is withdrawn before mail is handed over."""
        watchers = self._office.watchers
        bounds = restraint.connect(self._office, self._courier, self._clock, self._ends)
        self._owners.subscribe(self._courier.on_owner)
        self._sessions.subscribe(self._courier.on_session)
        self._names.subscribe(lambda name, _claim: self._courier.on_name(name))
        self._postmaster.subscribe(self._courier.hint)
        self._postmaster.subscribe(lambda name, _item: watchers.moved(name))
        self._postmaster.on_answered(self._moved)
        questions.connect(self._office, self._postmaster, self._courier, self._looking)
        self._courier.subscribe(lambda name, _item, _line: watchers.moved(name))
        self._courier.subscribe(self._nudges.watch)
        self._postmaster.subscribe(self._talk.arrived)
        self._courier.subscribe(lambda name, _, line: self._talk.recorded(name, line))
        self._office.moved, self._office.explain = self._moved, self._explain
        self._office.order = self._courier.order
        joined = (self._office, self._courier, self._reach, self._talk)
        self._duties = duties.connect(*joined)
        self._office.since = self._clock.wall()
        parts = (self._store, self._names, self._linkage, self._talk, bounds)
        self._office.findings = [
            found.shown for part in (*parts, self._duties) for found in part.findings
        ]
        self._office.links = self._linkage.clerk
        self._office.bundles = self._linkage.bundles
        self._office.bulk = self._linkage.bulk
        self._door.link = self._linkage.links.answer
        self._office.stop = lambda: self.end("stop")
        heirs = (self._door, self._peer, self._store)
        self.succession = succession.connect(
            self._office, *heirs, self.end, self._heritage
        )
        self._office.neighbours = self._talk.gossip
        self._office.socket_for = self._peer.socket_for
        self._office.way = self._linkage.reason
        self._office.stir = self._linkage.carriage.flush
        self._office.outlook = self._courier.outlook
        self._office.unproven = self._courier.unproven
        self._office.stirred = self._courier.stirred
        self._office.brief = self._brief
        self._office.unbound = lambda number: self._peer.unbound.get(number, "")
        self._office.connections = lambda: self._door.connections
        self._office.notes = partial(
            remarks, self._peer, self._front, self._names, self._owners
        )

    async def start(self) -> None:
        """Open the doors, the store first; ready when this returns."""
        loop = asyncio.get_running_loop()
        self._store.start(loop)
        self._sessions.attach(loop)
        self._ends.callback(self._sessions.detach)
        self._ends.push_async_callback(self._peer.stop)
        await self._peer.start()
        self._front.start()
        self._ends.push_async_callback(self._front.stop)
        self._ends.callback(self._reach.start(loop))
        courier = loop.create_task(self._courier.run(), name="courier")
        courier.add_done_callback(self._courier_ended)
        self._ends.push_async_callback(self._stop_courier, courier)
        self._nudges.sweep()
        self._ends.callback(self._nudges.close)
        person = questions.notifier(self._office, self._postmaster, self._clock)
        self._ends.callback(person.close)
        self._duties.start(loop)
        self._ends.callback(self._duties.stop)
        self._pickup.start()
        self._ends.callback(self._pickup.stop)
        self._talk.start(loop, self._office.watchers.moved)
        self._ends.callback(self._looking.stop)
        self._ends.callback(self._talk.stop)
        self._linkage.start(loop)
        self._ends.push_async_callback(self._linkage.stop)
        self._door.joined = lambda: self._store.publishing
        self._door.start()
        self._store.on_published(self._door.flush)
        self._ends.callback(self._door.stop_accepting)
        self._sweep_later()
        self._ends.callback(lambda: self._sweeper.cancel())
        for finding in self._office.findings:
            log.warning("unreadable: %s", finding)
        self.succession.ready(loop)
        gc.freeze()  # what stands now lives as long as the daemon
        log.info(
            "homi %s is up: pid %d, %s", __version__, os.getpid(), self._office.root
        )

    def end(self, why: str) -> None:
        """Begin the end; what is in flight is finished first."""
        log.info("told to end by %s", why)
        self.succession.ending(why)
        self.ended.set()

    def _evidence(self, session: SessionRef, evidence: Evidence) -> None:
        """Receipts and transcripts go to the courier, which is built after both."""
        self._courier.evidence(session, evidence)

    async def _stop_courier(self, task: asyncio.Task[None]) -> None:
        """Finish the offer in flight, start no other."""
        await self._courier.stop()
        await asyncio.wait([task])

    def _courier_ended(self, task: asyncio.Task[None]) -> None:
        """Without a courier mail would wait in silence: a bug there ends the daemon,
        so that whoever supervises it notices."""
        if not task.cancelled() and (bug := task.exception()) is not None:
            log.critical("the courier failed", exc_info=bug)
            self.status = os.EX_SOFTWARE
            self.end("a bug")

    def _verbs(self, pid: int, uid: int, thread: str | None) -> Verbs:
        """What answers a caller with these credentials."""
        caller = classify(pid, uid, self._sessions, self._owners, thread)
        return Verbs(self._office, caller, self._clock)

    def _tell(self, item: Item, place: Name, step: str, text: str) -> None:
        """A notice to the sender of item."""
        self._postmaster.tell(item.address, item.id, item.kind, f"{place}/{step}", text)

    def _brief(
        self, names: list[Name], session: Session, ready: Callable[[str], None]
    ) -> Sheet | None:
        """A sheet for a hook of session, on its way to be filled."""
        sheet = self._reach.hook.open(session)
        if sheet is not None:
            self._courier.brief(names, sheet, ready)
        return sheet

    def _moved(self, name: Name, line: LedgerLine) -> None:
        """A line somebody else than the courier recorded."""
        if device_of(name) is None:  # what is in an out queue is no courier's
            self._courier.recorded(name, line)
        self._talk.recorded(name, line)
        self._office.watchers.moved(name)
        self._office.asks.waits.moved(line.id)

    def _explain(self, place: Name, item: Item) -> Shown:
        """How far a message is, and what it waits for."""
        if (device := device_of(place)) is not None:
            return self._linkage.explain(device, item)
        return self._courier.explain(place, item)

    def _sweep_later(self) -> None:
        """The one slow tick: it finds what a lost notice would have told."""
        self._sweeper = asyncio.get_running_loop().call_later(
            SWEEP * random.uniform(0.9, 1.1), self._sweep
        )

    def _sweep(self) -> None:
        self._sweep_later()
        loop = asyncio.get_running_loop()
        # Each on its own: what one of them meets must not keep the others from it.
        for part in (
            self._door.repair,
            self._sessions.rescan,
            self._reach.sweep,
            self._pickup.sweep,
            self._front.sweep,
            self._courier.sweep,
            self._nudges.sweep,
            *self._duties.sweeps,
            self._linkage.links.sweep,
        ):
            loop.call_soon(part)

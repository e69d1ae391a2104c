"""Everything one daemon is made of: built upwards, then joined.

Owns who is told what by whom; every decision is in the parts, and when each begins
and ends is in homi.daemon.
"""

import os
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from homi import paths, questions, restraint
from homi.address import Name
from homi.assembly import duties, succession
from homi.callers import classify
from homi.claims import State
from homi.clock import SystemClock
from homi.config import Config
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
from homi.store.state import StateFile
from homi.store.store import DiskStore


class Parts:
    """The parts of one daemon, by name; none of them has begun."""

    def __init__(
        self,
        root: Path,
        settings: Config,
        ends: AsyncExitStack,
        heritage: Inherited,
        end: Callable[[str], None],
    ) -> None:
        """Take the lock, recover the store and read the names; nothing new listens."""
        self.door = ControlDoor(
            paths.control_socket(root), settings.device_name(), self._verbs
        )
        # What is noted first ends last: answers still leave after the last commit.
        ends.callback(self.door.close)
        self.clock = SystemClock()
        self.disk = RealDisk()
        refuse_another(paths.control_socket(root))
        self.store = DiskStore.open(root, settings, self.clock, self.disk, heritage)
        ends.push_async_callback(self.store.aclose)
        self._build(root, settings)
        self._connect(ends, heritage, end)

    @property
    def sweeps(self) -> Iterable[Callable[[], object]]:
        """What finds, now and then, what a lost notice would have told."""
        return (
            self.door.repair,
            self.sessions.rescan,
            self.reach.sweep,
            self.pickup.sweep,
            self.front.sweep,
            self.courier.sweep,
            self.nudges.sweep,
            *self.duties.sweeps,
            self.linkage.links.sweep,
        )

    def _build(self, root: Path, settings: Config) -> None:
        """Everything above the store, upwards."""
        clock, disk, store = self.clock, self.disk, self.store
        quarantine = Quarantine(os.fspath(root), disk, clock)
        file = StateFile(os.fspath(root / "names.json"), disk, State)
        self.names = names = Names(file)
        folders = settings.registry_folders()
        self.sessions = sessions = Sessions(folders, clock)
        self.owners = owners = Owners(names, sessions)
        self.postmaster = postmaster = Postmaster(
            store, names, owners, quarantine, clock, settings
        )
        self.peer = PeerDoor(
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
        self.reach = Reach(self._evidence, clock, names, sessions, store, root)
        self.courier = Courier(
            store,
            owners,
            sessions,
            self.reach.legs,
            self.reach.witness,
            self.peer.reply_sockets,
            clock,
            self._tell,
            postmaster.accept,
            settings=restraint.settings(names, settings.policy),
            awaited=lambda item: self.office.asks.awaited(item),
        )
        self.front = Front(names, owners, sessions, rename)
        self.nudges = Nudges(store, owners, postmaster.remind)
        self.pickup = PickupDoor(root, names, postmaster, quarantine)
        self.office = Office(
            os.fspath(root), settings, store, names, owners, sessions, postmaster
        )
        self.looking = looking = Looking(root)
        self.linkage = setup.build(self.office, disk, clock, looking)
        owners.devices = self.linkage.links.devices
        self.talk = Talk(
            self.linkage,
            names,
            owners,
            store,
            (looking.rungs, looking.steps),
            KnownNames.file(root, disk),
            clock,
        )

    def _connect(
        self, ends: AsyncExitStack, heritage: Inherited, end: Callable[[str], None]
    ) -> None:
        """Tell each part of what concerns it.  The peer door subscribed to owners
        before the courier does: the record is withdrawn before mail is handed over."""
        watchers = self.office.watchers
        bounds = restraint.connect(self.office, self.courier, self.clock, ends)
        self.owners.subscribe(self.courier.on_owner)
        self.sessions.subscribe(self.courier.on_session)
        self.names.subscribe(lambda name, _claim: self.courier.on_name(name))
        self.postmaster.subscribe(self.courier.hint, out=False)
        self.postmaster.subscribe(watchers.moved)
        self.postmaster.on_answered(self._moved)
        questions.connect(self.office, self.postmaster, self.courier, self.looking)
        self.courier.subscribe(watchers.moved)
        self.courier.subscribe(self.nudges.watch)
        self.postmaster.subscribe(self.talk.arrived)
        self.courier.subscribe(lambda name, _, line: self.talk.recorded(name, line))
        self.office.moved, self.office.explain = self._moved, self._explain
        self.office.order = self.courier.order
        joined = (self.office, self.courier, self.reach, self.talk)
        self.duties = duties.connect(*joined)
        self.office.since = self.clock.wall()
        parts = (self.store, self.names, self.linkage, self.talk, bounds)
        self.office.findings = [
            found.shown for part in (*parts, self.duties) for found in part.findings
        ]
        self.office.links = self.linkage.clerk
        self.office.bundles = self.linkage.bundles
        self.office.bulk = self.linkage.bulk
        self.door.link = self.linkage.links.answer
        self.office.stop = lambda: end("stop")
        heirs = (self.door, self.peer, self.store)
        self.succession = succession.connect(self.office, *heirs, end, heritage)
        self.office.neighbours = self.talk.gossip
        self.office.socket_for = self.peer.socket_for
        self.office.way = self.linkage.reason
        self.office.stir = self.linkage.carriage.flush
        self.office.outlook = self.courier.outlook
        self.office.unproven = self.courier.unproven
        self.office.stirred = self.courier.stirred
        self.office.brief = self._brief
        self.office.unbound = lambda number: self.peer.unbound.get(number, "")
        self.office.connections = lambda: self.door.connections
        self.office.notes = partial(
            remarks,
            self.peer,
            self.front,
            self.names,
            self.owners,
            self.office.newer,
        )

    def _evidence(self, session: SessionRef, evidence: Evidence) -> None:
        """Receipts and transcripts go to the courier, which is built after both."""
        self.courier.evidence(session, evidence)

    def _verbs(self, pid: int, uid: int, thread: str | None) -> Verbs:
        """What answers a caller with these credentials."""
        caller = classify(pid, uid, self.sessions, self.owners, thread)
        return Verbs(self.office, caller, self.clock)

    def _tell(self, item: Item, place: Name, step: str, text: str) -> None:
        """A notice to the sender of item."""
        self.postmaster.tell(item.address, item.id, item.kind, f"{place}/{step}", text)

    def _brief(
        self, names: list[Name], session: Session, ready: Callable[[str], None]
    ) -> Sheet | None:
        """A sheet for a hook of session, on its way to be filled."""
        sheet = self.reach.hook.open(session)
        if sheet is not None:
            self.courier.brief(names, sheet, ready)
        return sheet

    def _moved(self, name: Name, line: LedgerLine) -> None:
        """A line somebody else than the courier recorded."""
        if device_of(name) is None:  # what is in an out queue is no courier's
            self.courier.recorded(name, line)
        self.talk.recorded(name, line)
        self.office.watchers.moved(name)
        self.office.asks.waits.moved(line.id)

    def _explain(self, place: Name, item: Item) -> Shown:
        """How far a message is, and what it waits for."""
        if (device := device_of(place)) is not None:
            return self.linkage.explain(device, item)
        return self.courier.explain(place, item)

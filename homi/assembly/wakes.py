"""Wakes, joined to the parts of a daemon that they concern.

Owns who tells them what; when each fires is theirs.  homi-wake(1).
"""

import asyncio
import os

from homi.address import Name, parse_address
from homi.doors.office import Office
from homi.envelope import MessageId, SessionRef
from homi.errors import HomiError
from homi.links.suspend import Suspends
from homi.reach import Reach
from homi.routing import Place, resolve
from homi.store.disk import RealDisk
from homi.store.state import StateFile
from homi.wakes.firing import Ways
from homi.wakes.keeper import WakeKeeper
from homi.wakes.state import Book, State

FILE = "wakes.json"
AT_WORK = frozenset({"busy", "waiting"})  # of a session


class Waking:
    """The duty: wakes, and the clocks they go by."""

    def __init__(self, keeper: WakeKeeper, suspends: Suspends) -> None:
        """Nothing fires before start()."""
        self._keeper = keeper
        self._suspends = suspends
        self.findings = keeper.findings

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on from what the files say."""
        self._keeper.start(loop)
        self._suspends.attach(loop)

    def stop(self) -> None:
        """Fire no more."""
        self._suspends.detach()
        self._keeper.stop()

    def sweep(self) -> None:
        """Look at the clocks, and for what a notice should have told."""
        self._keeper.sweep()


def connect(office: Office, reach: Reach) -> Waking:
    """Read which wakes there are; they fire from start() on."""
    ways = Ways(office.postmaster.accept)
    ways.warn = office.postmaster.warn
    ways.unread = Readers(office).unread

    def place(to: str) -> Place:
        return resolve(parse_address(to), office.facts)

    def plain(to: str) -> bool:
        found = place(to)
        return not found.local or office.names.is_room(found.name)

    def spawn(to: str) -> None:
        try:
            found = place(to)
        except HomiError:
            return  # gone since
        if found.local and office.owners.owner(found.name) is None:
            office.spawner(found.name)

    ways.plain, ways.spawn = plain, spawn
    disk = RealDisk()
    book = Book(StateFile(os.path.join(office.root, FILE), disk, State))
    keeper = WakeKeeper(book, office.root, disk, reach.clock, ways)
    office.wakes = keeper
    return Waking(keeper, Suspends(reach.clock, lambda _jump: keeper.reckon()))


class Readers:
    """Whether what was sent is still to be read, or still worked at."""

    def __init__(self, office: Office) -> None:
        """Asks the store and the bounds, whose answers change."""
        self._office = office

    def unread(self, to: str, message: MessageId) -> bool:
        """Of a room that is until each member has it, of another device until that
        has it."""
        try:
            name: Name = resolve(parse_address(to), self._office.facts).name
        except HomiError:
            return False
        box = self._office.store.known(name)
        if box is not None and box.find(message) is not None:
            return True
        return self._at_work(message)

    def _at_work(self, message: MessageId) -> bool:
        """Whether a live session goes on with what that message caused.  One that
        tells no status is not waited for: it might never say that it is done."""
        bounds = self._office.bounds
        for cause in [] if bounds is None else bounds.budget.causes.values():
            if cause.id == message:
                ref = SessionRef(cause.pid, cause.start)
                session = self._office.sessions.by_ref(ref)
                if session is not None and session.status in AT_WORK:
                    return True
        return False

"""What was not let out of the device, remembered over restarts of its daemon.

Owns who tells the postmaster of it.  homi-send(1) has the rule.
"""

import asyncio
import os

from homi.clock import SystemClock
from homi.doors.office import Office
from homi.store.disk import RealDisk
from homi.store.lines import Finding
from homi.store.tally import Tally
from homi.withheld import FILE, Withheld


class Secrets:
    """The texts that were refused; nothing goes on by itself."""

    def __init__(self, withheld: Withheld, moved: list[Finding]) -> None:
        """What is unreadable is set aside; moved: what stood in its file's place."""
        self.findings = [*moved, *withheld.repair()]
        self._withheld = withheld

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing waits."""

    def stop(self) -> None:
        """Give the file back."""
        self._withheld.close()

    def sweep(self) -> None:
        """Forget what is too old."""
        self._withheld.forget()


def connect(office: Office) -> Secrets:
    """Read what was refused before, and keep what will be."""
    disk = RealDisk()
    moved = Tally(os.path.join(office.root, FILE), disk).clear()
    withheld = Withheld.of(office.root, SystemClock(), disk)
    office.postmaster.outward.withheld = withheld
    return Secrets(withheld, moved)

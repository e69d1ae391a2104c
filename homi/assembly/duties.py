"""What a daemon does beside taking and handing over mail: a list of duties.

Owns the list and the order of it; a new duty is a line in connect().
"""

import asyncio
from collections.abc import Iterable
from typing import Protocol

from homi.assembly import (
    answers,
    dialogs,
    moving,
    rooms,
    seats,
    secrets,
    spawn,
    wakes,
)
from homi.courier.courier import Courier
from homi.doors.metering import Meters
from homi.doors.office import Office
from homi.links.talk import Talk
from homi.reach import Reach
from homi.store.lines import Finding


class Duty(Protocol):
    """Something that goes on while the daemon does, and can lose no mail."""

    findings: list[Finding]  # what was unreadable in its files

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Go on from what the files say."""
        ...

    def stop(self) -> None:
        """Begin nothing more; what was begun stands in the files."""
        ...

    def sweep(self) -> None:
        """Look again, for a notice that got lost."""
        ...


class Duties:
    """Every duty of one daemon."""

    def __init__(self, duties: Iterable[Duty]) -> None:
        """Nothing is done before start()."""
        self._duties = list(duties)
        self.findings = [found for duty in self._duties for found in duty.findings]
        self.sweeps = [duty.sweep for duty in self._duties]

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let each begin."""
        for duty in self._duties:
            duty.start(loop)

    def stop(self) -> None:
        """End each, the last first."""
        for duty in reversed(self._duties):
            duty.stop()


def connect(office: Office, courier: Courier, reach: Reach, talk: Talk) -> Duties:
    """Every duty, joined to the parts it concerns."""
    office.absent = reach.why
    meters = Meters(office)
    office.measured = meters.samples
    office.postmaster.subscribe(meters.stored)
    courier.subscribe(meters.moved)
    office.commands = reach.commands
    reach.answer(answers.turn_end(office.postmaster))
    reach.runs.answer = answers.run_end(office.postmaster)
    made = Duties(
        [
            rooms.connect(office, courier, reach),
            secrets.connect(office),
            # First: a name that moves is not started by mail.
            moving.connect(office, talk, reach.clock),
            spawn.connect(office, reach),
            dialogs.connect(office),
            wakes.connect(office, reach),
            seats.connect(office, talk, courier),
        ]
    )
    made.findings += reach.findings
    return made

"""What the checks look at: the state root, the daemon if one runs, and the machine.

Owns that each is asked once, and only when a check wants it; changes nothing.
"""

import time
from functools import cached_property
from pathlib import Path

import msgspec

from homi import config, paths
from homi.config import Config
from homi.connection import Connection
from homi.doctor.machine import Machine
from homi.errors import BadConfig, HomiError
from homi.linked import LinkRows
from homi.mail import Mail
from homi.peers.probe import Probe, probe
from homi.reports import Listing, QueueReport, SessionRow, StatusReport
from homi.requests import Links, List, Queue, Status, Wakes
from homi.woken import WakeRows

PATIENCE = 10.0  # s: a daemon that takes longer hangs
LISTS = 60.0  # s for each list of one that answers: a hundred thousand may wait


class Daemon(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon says of itself."""

    answered_ms: float
    status: StatusReport
    listing: Listing
    links: LinkRows
    queue: QueueReport
    wakes: WakeRows


class Unset(BadConfig):
    """The settings cannot be read; the check of them tells why."""


class Facts:
    """Everything there is to look at."""

    def __init__(
        self, root: Path, machine: Machine, patience: float = PATIENCE
    ) -> None:
        """Nothing is asked yet.  patience: s that the daemon may take to answer."""
        self.patience = patience
        self.root = root
        self.machine = machine
        self.noted: list[str] = []  # what could not be read of the mail

    @cached_property
    def config(self) -> Config:
        """The settings; 78 where they cannot be read."""
        try:
            return config.load(paths.config_file())
        except BadConfig as error:
            raise Unset(error.text, hint=error.hint) from None

    @cached_property
    def daemon(self) -> Daemon | None:
        """What the daemon says; None where none runs, or it cannot be asked."""
        return self.asked[0]

    @cached_property
    def asked(self) -> tuple[Daemon | None, HomiError]:
        """The daemon, else why there is none to ask."""
        begun = time.monotonic()
        try:
            with Connection(self.root, self.patience) as client:
                status = client.call(Status(i=1), StatusReport)
                took = (time.monotonic() - begun) * 1000
                return Daemon(
                    answered_ms=took,
                    status=status,
                    listing=client.wait(List(i=2), Listing, LISTS),
                    links=client.wait(Links(i=3, probe=False), LinkRows, LISTS),
                    queue=client.wait(Queue(i=4), QueueReport, LISTS),
                    wakes=client.wait(Wakes(i=5), WakeRows, LISTS),
                ), HomiError("")
        except HomiError as error:
            return None, error

    @cached_property
    def mail(self) -> Mail:
        """The mail as its files tell it."""
        return Mail(self.root, self.noted.append)

    @cached_property
    def sessions(self) -> list[SessionRow]:
        """The live sessions that the daemon knows; none without one."""
        if self.daemon is None:
            return []
        listing = self.daemon.listing
        owners = [row.owner for row in listing.names if row.owner is not None]
        return [*owners, *listing.sessions]

    @cached_property
    def probes(self) -> dict[str, Probe]:
        """Every socket that should answer, asked now; no byte is sent."""
        names = self.daemon.listing.names if self.daemon else []
        sockets = [one.socket for one in self.sessions] + [one.socket for one in names]
        return probe(filter(None, sockets))

    @property
    def there(self) -> bool:
        """Whether there is a state root at all."""
        return self.root.is_dir()

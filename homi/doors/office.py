"""What the verbs of the control socket look things up in and act on.

Owns the views of the whole (ls, status, whoami); changes nothing by itself but
the ledger lines it passes on.
"""

import os
from collections.abc import Callable

from homi import __version__
from homi.address import BUILT_IN, Address, Device, Name
from homi.callers import Caller
from homi.claims import Claim
from homi.clock import rfc3339
from homi.config import Config
from homi.envelope import LedgerLine, Reason, Rung
from homi.errors import NoSuchDevice, NotReached
from homi.names import Names
from homi.owners import Owners
from homi.postmaster import Postmaster
from homi.reports import (
    Identity,
    Listing,
    NameRow,
    QueueReport,
    QueueRow,
    SessionRow,
    StatusReport,
)
from homi.routing import resolve
from homi.sessions import Session, Sessions
from homi.store.base import Store
from homi.store.mailbox import Item
from homi.watchers import Watchers

Shown = tuple[Rung, Reason | None, float | None]  # rung, reason, until (wall seconds)


class Office:
    """The parts of one daemon that a verb may touch."""

    def __init__(
        self,
        root: str,
        config: Config,
        store: Store,
        names: Names,
        owners: Owners,
        sessions: Sessions,
        postmaster: Postmaster,
    ) -> None:
        """Built once by the daemon; the callables below are set by it too."""
        self.store = store
        self.names = names
        self.owners = owners
        self.sessions = sessions
        self.postmaster = postmaster
        self.watchers = Watchers()
        self.device = config.device_name()
        self.root = root
        self.since = 0.0
        self.findings: list[str] = []
        self.stop: Callable[[], None] = _nothing
        self.socket_for: Callable[[str], str] = str
        self.unbound: Callable[[int], str] = _bound
        self.connections: Callable[[], int] = int
        self.notes: Callable[[], dict[str, str]] = dict
        self.explain: Callable[[Name, Item], Shown] = _as_recorded
        self.moved: Callable[[Name, LedgerLine], None] = lambda _name, _line: None

    def record(
        self,
        name: Name,
        line: LedgerLine,
        done: Callable[[bool], None],
        *,
        durable: bool,
    ) -> None:
        """Record a decision of a caller, then tell those who wait for it."""

        def told(kept: bool) -> None:
            done(kept)
            if kept:
                self.moved(name, line)
                self.watchers.moved(name)

        self.store.record(name, line, told, durable=durable)

    def mailbox_name(self, address: Address) -> Name:
        """The local mailbox an address means; 67 and 68 as for mail."""
        if address.device not in (None, self.device, "self"):
            raise NoSuchDevice(
                f"{address} is not on this device", hint=f"this is {self.device}"
            )
        _, name = resolve(
            address,
            Device(self.device),
            lambda name: self.names.get(name) is not None,
            lambda _name: False,
            [claim.name for claim in self.names.all()],
        )
        return name

    def take(self, name: Name) -> None:
        """Bind name to the newest other live session of it; 75 if there is none."""
        others = self.owners.others(name)
        if not others:
            raise NotReached(
                f"{name} has no other live session to take it",
                hint=f"start a session named {name} first",
            )
        self.owners.take(name, others[-1].ref)

    def listing(self) -> Listing:
        """Every claimed name, and live sessions that have none."""
        rows = [self._row(claim) for claim in self.names.all()]
        owned = {row.owner.pid for row in rows if row.owner is not None}
        # A namesake of a claim stands in its row: as another, or in its note.
        loose = [
            session_row(session)
            for pid, session in sorted(self.sessions.live.items())
            if pid not in owned
            and (session.address is None or self.names.get(session.address) is None)
        ]
        return Listing(device=self.device, names=rows, sessions=loose)

    def _row(self, claim: Claim) -> NameRow:
        """One name as it stands now."""
        owner = self.owners.owner(claim.name)
        pending = self.store.mailbox(claim.name).pending
        oldest = next(iter(pending.values()), None)
        state = "live" if owner else "held"
        return NameRow(
            name=claim.name,
            state="built-in" if claim.name in BUILT_IN else state,
            pending=len(pending),
            oldest=oldest.at if oldest else "",
            owner=session_row(owner) if owner else None,
            others=[session.pid for session in self.owners.others(claim.name)],
            cwd=claim.cwd or "",
            note=self.notes().get(claim.name, ""),
        )

    def queue(self, name: Name | None) -> QueueReport:
        """Every pending envelope of name, or of all, as the courier sees it."""
        boxes = self.store.mailboxes() if name is None else [self.store.mailbox(name)]
        rows = []
        for box in sorted(boxes, key=lambda box: box.name):
            for item in box.pending.values():
                rung, reason, until = self.explain(box.name, item)
                row = QueueRow(
                    name=box.name,
                    seq=item.seq,
                    id=item.id,
                    rung=rung,
                    reason=reason or "",
                    until="" if until is None else rfc3339(until),
                )
                rows.append(row)
        return QueueReport(rows=rows)

    def status(self) -> StatusReport:
        """How the daemon is."""
        pending = sum(len(box.pending) for box in self.store.mailboxes())
        return StatusReport(
            device=self.device,
            software=f"homi {__version__}",
            pid=os.getpid(),
            since=rfc3339(self.since),
            root=self.root,
            names=len(self.names.all()),
            sessions=len(self.sessions.live),
            pending=pending,
            connections=self.connections(),
            free_mib=self.store.free_bytes() >> 20,
            accept=self.store.closed() or "open",
            findings=self.findings,
            notes=[f"{name}: {note}" for name, note in self.notes().items()],
        )

    def identity(self, caller: Caller) -> Identity:
        """Who a caller is to homi."""
        session = caller.session
        names = self.owners.names_of(session.ref) if session else []
        return Identity(
            caller=caller.caller,
            device=self.device,
            name=caller.name or "",
            names=[str(name) for name in names],
            pid=caller.pid,
            session=session.session_id if session else "",
        )


def session_row(session: Session) -> SessionRow:
    """A session as it is listed."""
    return SessionRow(
        pid=session.pid,
        name=session.name,
        address=session.address or "",
        session=session.session_id,
        status=session.status,
        cwd=session.cwd,
        version=session.version,
        reachable=bool(session.socket),
    )


def _as_recorded(_name: Name, item: Item) -> Shown:
    """What the ledger alone tells; the courier knows more."""
    return item.rung, item.reason, item.until


def _bound(_number: int) -> str:
    """Every socket could be bound, as far as anybody told."""
    return ""


def _nothing() -> None:
    """Replaced by the daemon before the first caller."""

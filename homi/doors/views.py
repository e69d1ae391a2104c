"""The verbs that show the whole, and the one that ends it: ls, legs, status, whoami.

Owns the rows of names, sessions and legs as the daemon knows them; nothing here is
measured, that is the client's to do.  homi-protocol(7) lists the answers.
"""

import os
from collections import Counter

from homi import __version__
from homi.address import BUILT_IN, Name, parse_address
from homi.amount import amount
from homi.claims import Alias, Claim, Mirror
from homi.clock import rfc3339, stamp_of
from homi.config import QUOTA_BYTES, QUOTA_PENDING
from homi.doors.answers import Doer, Reply
from homi.doors.office import Office
from homi.doors.rights import Rights
from homi.envelope import Reason
from homi.errors import NoSuchDevice, NoSuchName
from homi.reports import (
    AliasRow,
    Done,
    Identity,
    LegRow,
    LegsReport,
    Listing,
    MirrorRow,
    NameRow,
    SessionRow,
    StatusReport,
)
from homi.requests import Legs, List, Queue, Request, Status, Stop, Whoami
from homi.routing import resolve
from homi.sessions import Session
from homi.store.mailbox import Mailbox


class Views:
    """What one caller is shown."""

    def __init__(self, office: Office, rights: Rights) -> None:
        """Holds no state of its own."""
        self._office = office
        self._rights = rights

    def doers(self) -> dict[type[Request], Doer]:
        """The verbs done here."""
        return {
            List: self._list,
            Legs: self._legs,
            Queue: self._queue,
            Status: self._status,
            Whoami: self._whoami,
            Stop: self._stop,
        }

    def _list(self, request: List, reply: Reply) -> None:
        """Names, and live sessions that have none; of one name, its own alone."""
        office = self._office
        if request.name is not None:
            wanted = parse_address(request.name).name
            aliases = [one for one in self._aliases() if one.name == wanted]
            claim = office.names.get(wanted)
            rows = [] if claim is None else [self._row(claim, office.notes())]
            found = office.sessions.by_address(wanted)
            loose = [] if rows else [session_row(session) for session in found]
            mirrors = [
                self._mirror(one) for one in office.names.mirrors.concerned(wanted)
            ]
            listing = Listing(office.device, rows, loose, aliases, mirrors)
            reply(request.i, listing)
            return
        notes = office.notes()
        rows = [self._row(claim, notes) for claim in office.names.all()]
        owned = {row.owner.pid for row in rows if row.owner is not None}
        # A namesake of a claim stands in its row: as another, or in its note.
        loose = [
            session_row(session)
            for pid, session in sorted(office.sessions.live.items())
            if pid not in owned and not self._named(session)
        ]
        mirrors = [self._mirror(one) for one in office.names.mirrors.all()]
        listing = Listing(office.device, rows, loose, self._aliases(), mirrors)
        reply(request.i, listing)

    def _aliases(self) -> list[AliasRow]:
        """Every alias, and the mailbox it leads to now."""
        office = self._office
        return [self._alias(alias) for alias in office.names.aliases.all()]

    def _alias(self, alias: Alias) -> AliasRow:
        """One alias as it stands now."""
        note, place = "", ""
        try:
            place = resolve(parse_address(alias.to), self._office.facts).to
        except (NoSuchName, NoSuchDevice) as error:
            note = error.text
        if self._office.names.get(alias.name) is not None:
            note = f"mail for {alias.name} stays in its mailbox: it is claimed, too"
        elif self._office.owners.taken(alias.name):
            note = f"a live session is called {alias.name}, and comes first"
        return AliasRow(alias.name, alias.to, place, note)

    def _mirror(self, mirror: Mirror) -> MirrorRow:
        """One mirror as it is listed now."""
        office = self._office
        if office.names.mirrors.withdrawn(mirror.device):
            return MirrorRow("", mirror.to, f"the link to {mirror.device} is down")
        name, note = office.names.mirrors.listing(mirror, office.owners.has)
        if not note and (number := office.unbound(mirror.number)):
            note = number
        return MirrorRow(name or "", mirror.to, note)

    def _named(self, session: Session) -> bool:
        """Whether the session stands in the row of a claim."""
        public = self._office.owners.public(session)
        return public is not None and self._office.names.get(public) is not None

    def _row(self, claim: Claim, notes: dict[str, str]) -> NameRow:
        """One name as it stands now."""
        office = self._office
        owner = office.owners.owner(claim.name)
        pending = office.store.mailbox(claim.name).pending
        oldest = next(iter(pending.values()), None)
        state = "live" if owner else "room" if claim.room else "held"
        note = notes.get(claim.name, "") or _body(claim, office.absent(claim.name))
        if (members := office.members(claim.name)) is not None:
            note = note or amount(members, "member")
        return NameRow(
            name=claim.name,
            state="built-in" if claim.name in BUILT_IN else state,
            pending=len(pending),
            oldest=oldest.at if oldest else "",
            owner=session_row(owner) if owner else None,
            others=[session.pid for session in office.owners.others(claim.name)],
            cwd=claim.cwd or "",
            note=note,
            socket=office.socket_for(claim.name),
            front=claim.front,
        )

    def _legs(self, request: Legs, reply: Reply) -> None:
        """Each leg to the owner of a name, or of every name that has one."""
        office = self._office
        if request.name is None:
            claims = office.names.all()
            names = [c.name for c in claims if office.owners.owner(c.name)]
        else:
            names = [office.names.require(self._rights.mailbox(request.name)).name]
        rows = [row for name in names for row in self._legs_of(name)]
        reply(request.i, LegsReport(rows=rows))

    def _legs_of(self, name: Name) -> list[LegRow]:
        """The legs to the owner of name; one row without a leg where there is none."""
        office = self._office
        owner = office.owners.owner(name) or office.owners.asking(name)
        pending = len(office.store.mailbox(name).pending)
        if owner is None:
            absent = office.absent(name) or "no-owner"
            why = "built-in" if name in BUILT_IN else absent
            return [LegRow(name=name, leg="", usable=False, why=why, pending=pending)]
        return [
            LegRow(
                name=name,
                leg=one.leg,
                usable=one.reason is None,
                why=one.reason or "",
                until="" if one.until is None else rfc3339(one.until),
                proofs=sorted(one.proofs),
                session=session_row(owner),
                unproven=office.unproven(owner),
                pending=pending,
            )
            for one in office.outlook(name, owner)
        ]

    def _queue(self, request: Queue, reply: Reply) -> None:
        name = None if request.name is None else self._rights.kept(request.name)
        reply(request.i, self._office.queue(name))

    def _status(self, request: Status, reply: Reply) -> None:
        reply(request.i, status(self._office))

    def _whoami(self, request: Whoami, reply: Reply) -> None:
        """Who the caller is to homi."""
        caller = self._rights.caller
        session = caller.session
        names = self._office.owners.names_of(session.ref) if session else []
        report = Identity(
            caller=caller.caller,
            device=self._office.device,
            name=caller.name or "",
            names=[str(name) for name in names],
            pid=caller.pid,
            session=session.session_id if session else "",
        )
        reply(request.i, report)

    def _stop(self, request: Stop, reply: Reply) -> None:
        reply(request.i, Done(text="stopping"))
        self._office.stop()


def status(office: Office) -> StatusReport:
    """How the daemon is."""
    boxes = office.store.mailboxes()
    claims = office.names.all()
    oldest = min((box for box in boxes if box.pending), key=_since, default=None)
    fullest = max(boxes, key=lambda box: len(box.pending), default=None)
    return StatusReport(
        device=office.device,
        software=f"homi {__version__}",
        pid=os.getpid(),
        since=rfc3339(office.since),
        root=office.root,
        names=len(claims),
        sessions=len(office.sessions.live),
        pending=sum(len(box.pending) for box in boxes),
        connections=office.connections(),
        free_mib=office.store.free_bytes() >> 20,
        accept=office.store.closed() or "open",
        findings=office.findings,
        notes=[f"{name}: {note}" for name, note in office.notes().items()],
        owned=sum(office.owners.owner(claim.name) is not None for claim in claims),
        statuses=Counter(s.status or "unknown" for s in office.sessions.live.values()),
        rungs=Counter(
            office.explain(box.name, item)[0]
            for box in boxes
            for item in box.pending.values()
        ),
        oldest=_since(oldest) if oldest else "",
        oldest_name=oldest.name if oldest else "",
        fullest=fullest.name if fullest and fullest.pending else "",
        fullest_pending=len(fullest.pending) if fullest else 0,
        fullest_bytes=fullest.pending_bytes if fullest else 0,
        quota_pending=QUOTA_PENDING,
        quota_bytes=QUOTA_BYTES,
        reserve_mib=office.config.reserve,
        ring_mib=office.config.ring,
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
        reachable=bool(session.socket) or not session.listed,
        socket=session.socket,
        status_at=stamp_of(session.status_at),
        waiting_for=session.waiting_for,
        record=f"{session.config_dir}/sessions/{session.pid}.json"
        if session.listed
        else "",
        client="" if session.listed else session.client,
    )


def _since(box: Mailbox) -> str:
    """When the oldest pending message of a mailbox that has one came."""
    return next(iter(box.pending.values())).at


def _body(claim: Claim, absent: Reason | None) -> str:
    """What a person should know of what a name is bound to."""
    if claim.body is None:
        return ""
    state = "" if absent is None else f" ({absent})"
    return f"bound to {claim.body.client} {claim.body.id}{state}"

"""What the daemon answers: one struct a verb, beside the failures every verb shares.

Owns the fields of answers, which only grow.  homi-protocol(7) is the page.
"""

import msgspec

from homi.envelope import Rung
from homi.requests import CallerClass


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a request was not done: homi.errors by its code."""

    code: str
    text: str
    hint: str = ""
    reason: str = ""


class Welcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to hello."""

    v: int
    software: str
    device: str
    caller: CallerClass
    name: str | None = None  # what msg.from is for a caller that names none
    pid: int = 0  # the daemon's


class SendReport(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Answer to send."""

    id: str
    rung: Rung
    seq: int = 0
    to: str = ""
    duplicate: bool = False
    reason: str | None = None
    members: int | None = None  # of the room it is for


class Acked(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to ack: what is recorded as seen, those that were already included."""

    name: str
    ids: list[str]


class Waited(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to wait: pending mail after the seq asked for, oldest first."""

    name: str
    ids: list[str]
    seq: int  # of the newest: the `after` of the next wait


class Answered(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to ask: what the asked party wrote."""

    id: str  # of the question
    answer: str  # the id of the answer
    name: str  # the mailbox of who asked, where the answer is kept
    from_: str = msgspec.field(
        name="from"
    )  # who answered, with the device if elsewhere
    text: str
    at: str = ""  # RFC 3339: when it was stored here
    seq: int = 0
    verified: bool = False  # its sender was proven by the device it wrote on
    default: bool = False  # nobody answered in time: what the ask itself gave for that


class Found(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to about."""

    id: str  # whole
    name: str  # whose mailbox it is in: who answers
    to: str  # who asked


class Brief(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to hook."""

    text: str = ""  # for the model; empty: nothing to print


class Claimed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to claim."""

    name: str
    fresh: bool  # false: it was claimed already
    socket: str  # where native clients write to the name
    owner: int = 0  # pid of the live session that has the name; 0: nobody
    front: bool = False  # its record stays listed while a session has it
    missing: str = ""  # folder of the clients that is not there: nobody lists the name


class Aliased(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to alias and unalias."""

    name: str
    to: str
    before: str = ""  # where it led until now
    place: str = ""  # the mailbox its mail goes to


class SettingRow(msgspec.Struct, frozen=True):
    """One setting of a name as it counts now."""

    key: str
    value: str
    own: bool  # chosen for this name; else the default


class Chosen(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to set."""

    name: str
    settings: list[SettingRow]


class Remain(msgspec.Struct, frozen=True):
    """What still leads to a name that was released."""

    kind: str  # alias, room or wake
    id: str  # its name, or its id
    text: str
    undo: str  # the command that ends it


class Freed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to release."""

    text: str
    pending: int = 0  # messages that stay in its mailbox
    remains: list[Remain] = []
    newer: int = 0  # of those, that waited for older mail, and follow into it now


class Done(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to stop, and to what else has no more to tell."""

    text: str
    pending: int = 0


class Restarting(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to restart."""

    text: str
    kept: bool = False  # the homi before goes on where the new one dies at its start


class QueueRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pending envelope as the courier sees it now; its ledger may say less."""

    name: str
    seq: int
    id: str
    rung: Rung
    reason: str = ""
    until: str = ""  # RFC 3339: no new try before
    waits: dict[str, str] = {}  # members of a room that have not got it, and why


class QueueReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to queue, in order of arrival within each name."""

    rows: list[QueueRow]
    # Of each out queue with mail why it is not further; empty where its link is up.
    ways: dict[str, str] = {}


class OrderRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an order made of one envelope; with a code it was not carried out."""

    name: str
    id: str
    rung: str = ""  # as it is now; empty: not known here
    reason: str = ""
    already: bool = False  # it was so before, nothing was recorded
    given: int = 0  # pid of the session that has it, whatever became of it now
    code: str = ""  # of homi.errors
    error: str = ""
    hint: str = ""
    to: str = ""  # where it waits now, if it was moved


class Ordered(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to order: a row for each letter, those that may not be ordered first; of
    a flush without letters a row for each that had waited."""

    rows: list[OrderRow]


class Continued(Ordered, frozen=True, kw_only=True):
    """Answer to continue: what was let go, and the turns the chain may have in all."""

    chain: str
    limit: int


class PrunedRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was removed of one mailbox, or would be; with a code not all that should."""

    name: str
    files: int = 0
    messages: int = 0
    bytes: int = 0
    upto: int = 0  # the last seq that is gone
    note: str = ""  # why an old segment stays, or where the numbers do
    code: str = ""  # of homi.errors
    error: str = ""
    hint: str = ""


class Pruned(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to prune: a row for each mailbox of which something went or should."""

    rows: list[PrunedRow]


class SessionRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A live session as homi knows it."""

    pid: int
    name: str = ""  # as the client writes it
    address: str = ""  # folded; empty: nothing of it is a name
    session: str = ""
    status: str = ""
    cwd: str = ""
    version: str = ""
    reachable: bool = True  # false: it has no socket, so nothing can be handed over
    socket: str = ""
    status_at: str = ""  # RFC 3339, its own clock: since when its status is that
    waiting_for: str = ""  # what a waiting one waits for
    record: str = ""  # the file that says all this
    client: str = ""  # whose it is where it has no record, and no pid


class NameRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One claimed name."""

    name: str
    state: str  # live | held | built-in
    pending: int = 0
    oldest: str = ""  # RFC 3339 of the oldest pending envelope
    owner: SessionRow | None = None
    others: list[int] = []  # pids of further live sessions of this name
    cwd: str = ""
    note: str = ""  # anything a person should know: a fight over the record, …
    socket: str = ""  # homi's own, which stays while a session owns the name
    front: bool = False  # its session goes by another name, so that it stays listed


class AliasRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One name that leads elsewhere."""

    name: str
    to: str
    place: str = ""  # the mailbox its mail goes to now; empty: none
    note: str = ""  # why none, or why mail for the name itself goes elsewhere


class MirrorRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One name of another device that is listed here."""

    name: str  # here; empty: it is not listed
    to: str
    note: str = ""  # why it is not listed, or not under the name it has there


class Listing(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to ls."""

    device: str
    names: list[NameRow]
    sessions: list[SessionRow] = []  # live ones that own no claimed name
    aliases: list[AliasRow] = []
    mirrors: list[MirrorRow] = []


class StatusReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to status."""

    device: str
    software: str
    pid: int
    since: str  # RFC 3339
    root: str
    names: int
    sessions: int
    pending: int
    connections: int
    free_mib: int
    accept: str  # open, or why accept is closed
    findings: list[str] = []  # what was unreadable at start, path and offset
    notes: list[str] = []
    owned: int = 0  # of the names: those a live session has
    statuses: dict[str, int] = {}  # of the sessions: how many say what of themselves
    rungs: dict[str, int] = {}  # of the pending messages: how many are how far
    oldest: str = ""  # RFC 3339 of the oldest pending message
    oldest_name: str = ""
    fullest: str = ""  # the name with most pending mail
    fullest_pending: int = 0
    fullest_bytes: int = 0
    quota_pending: int = 0  # messages a name may have pending
    quota_bytes: int = 0
    reserve_mib: int = 0  # of free disk: below it new mail is refused
    ring_mib: int = 0


class LegRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One leg to the session that owns a name."""

    name: str
    leg: str
    usable: bool  # a letter would be handed over by it now
    why: str = ""  # why not
    until: str = ""  # RFC 3339: no try before
    proofs: list[str] = []  # the rungs it can prove of that session
    session: SessionRow | None = None  # the owner; without one no leg is usable
    unproven: int = 0  # letters it has, and no proof of them yet
    pending: int = 0  # of the name


class LegsReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to legs."""

    rows: list[LegRow]


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer to whoami."""

    caller: CallerClass
    device: str
    name: str = ""
    names: list[str] = []
    pid: int = 0
    session: str = ""

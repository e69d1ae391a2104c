"""A message as it is listed: what the index knows of it, and its first line.

Owns the fields of the JSON form that every listing of mail has.  homi-inbox(1)
describes them.
"""

import msgspec

from homi.envelope import SHOWN, Kind, MessageId, Msg, Rung, SessionRef
from homi.store.index import Entry
from homi.store.pickup import Spooled
from homi.visible import first_line

BRIEF = 200  # characters: a first line longer than that says what it says by then


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message in one mailbox."""

    name: str  # of the mailbox; of what is only spooled: where it wants to go
    seq: int = 0  # orders a mailbox; 0 of what is only spooled
    id: MessageId
    from_: str = msgspec.field(name="from")
    device: str | None = None  # of the sender, where that is another one
    kind: Kind
    at: str  # RFC 3339: when it arrived
    rung: Rung
    reason: str | None = None  # why it is not further
    until: str | None = None  # RFC 3339: no new try before
    reply_to: MessageId | None = None
    bytes: int  # of its line on disk
    to: str  # as the sender wrote it
    dest: str = ""  # of what goes to another device: the whole address
    thread: str | None = None
    session: SessionRef | None = None  # of the last hand-over
    changed: str  # RFC 3339: when that rung was reached
    pending: bool  # false: it is finished
    # Of a room's message: the members that have not got it yet, and why not.
    waits: dict[str, str] = {}
    brief: str | None = None  # the first line of its text, where that was asked for


def listed(entry: Entry, *, brief: str | None = None) -> Message:
    """What the index knows of a message."""
    return Message(
        name=entry.name,
        seq=entry.seq,
        id=entry.id,
        from_=entry.from_,
        device=entry.device,
        to=entry.addressed,
        dest=entry.dest,
        kind=entry.kind,
        at=entry.at,
        rung=SHOWN.get(entry.rung, entry.rung),
        reason=entry.reason,
        until=entry.until,
        session=entry.session,
        changed=entry.changed,
        pending=entry.pending,
        thread=entry.thread,
        reply_to=entry.reply_to,
        bytes=entry.length,
        brief=brief,
    )


def spooled_message(found: Spooled, msg: Msg, *, brief: bool = False) -> Message:
    """What waits in pickup/, which no postmaster has judged."""
    return Message(
        name=msg.to,
        id=msg.id,
        from_=msg.from_,
        to=msg.to,
        kind=msg.kind,
        at=found.at,
        rung=Rung.SPOOLED,
        pending=True,
        changed=found.at,
        thread=msg.thread,
        reply_to=msg.reply_to,
        bytes=len(found.msg),
        brief=first_line(msg.text, BRIEF) if brief else None,
    )

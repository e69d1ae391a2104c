"""One message of a room as it goes to one member, and the notice in its place.

Owns the postmark of a copy and the words of a notice; pure.  homi-room(1).
"""

from collections import Counter

from msgspec.structs import replace

from homi import ids
from homi.address import Address, Name
from homi.amount import amount
from homi.envelope import Envelope, Kind, MessageId, Msg, Reason, Via
from homi.gate import ROOM
from homi.postmaster import Stamp
from homi.rooms.state import Member
from homi.store.mailbox import Item, Mailbox
from homi.submission import Permit
from homi.visible import visible

NAMED = 3  # senders that a notice names


def postmark(envelope: Envelope, room: Name, member: str) -> Stamp:
    """What was measured of who wrote it, and the room it is a copy from."""
    via = envelope.via
    # All that goes to one device lies in one queue there.
    of = member if "@" in member else None
    copied = replace(via, door=ROOM, room=room, member=of, parked=None, key=None)
    stamp = Stamp(copied)
    # A person is not asked whom they may wake, whichever way they write.
    stamp.free = via.door == "control" and via.verified and via.session is None
    stamp.set_aside = True  # its bytes are in the room's mailbox
    return stamp


def permit(box: Mailbox, item: Item, envelope: Envelope) -> Permit | None:
    """The word of the person who let a secret leave when they wrote to the room, or
    released it there; None: nobody did."""
    if envelope.via.parked is not Reason.SCAN:
        return None
    by, words = box.allowed.get(item.seq, ("a person", "released in the room"))
    return Permit(f"{by}, to the room {box.name}", words)


def notice(room: Address, member: Member, missed: Counter[str], *, more: bool) -> Msg:
    """That there is mail in a room: of whom, how much, how it is read.

    Its id is made of what the member was told before: after a crash it is the same.
    more: beside what is counted.
    """
    told = str(member.noticed)
    away = "@" in member.address
    where = str(room) if away else room.name
    how = f"homi inbox --all {room.name}" + f" on {room.device}" * away
    return Msg(
        id=MessageId(ids.derived("room", room.name, member.address, told)),
        from_=room.name,
        to=member.address,
        text=f"{_count(missed, more)} in the room {where}: {how}",
        # Of what a postmaster writes another device takes only what is about its own.
        kind=Kind.MAIL if away else Kind.NOTICE,
        auto=not away,
    )


def noticing() -> Stamp:
    """The postmark of a notice."""
    return Stamp(Via(door="homi", verified=True))


def _count(missed: Counter[str], more: bool) -> str:
    """How much, of whom."""
    total = missed.total()
    if not total:
        return "There are new messages"
    names = [visible(name) for name, _ in missed.most_common(NAMED)]
    others = ", and others" if more or len(missed) > NAMED else ""
    count = amount(total, "new message")
    return f"{'At least ' if more else ''}{count} of {', '.join(names)}{others}"

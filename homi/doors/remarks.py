"""What a person should know of single names, as the doors met it.

Owns the wording; what is listed and who owns what is decided elsewhere.  homi-ls(1).
"""

from collections.abc import Callable

from homi.address import Name
from homi.doors.front import Front
from homi.doors.peer import PeerDoor
from homi.errors import HomiError
from homi.names import Names
from homi.owners import Owners
from homi.sessions import Session


def remarks(
    peer: PeerDoor,
    front: Front,
    names: Names,
    owners: Owners,
    newer: Callable[[Name], HomiError | None],
) -> dict[str, str]:
    """A remark by name; of a name with nothing to remark, none.  newer: what newer mail
    of a name that came here waits for."""
    notes = peer.unlisted | front.notes
    for claim in names.all():
        if number := peer.unbound.get(claim.number):
            notes[claim.name] = number
        if (moving := claim.moving) is not None:
            to = f"{moving.to}@{moving.device}"
            notes[claim.name] = f"moves to {to}, since {moving.at}"
        elif (waits := newer(claim.name)) is not None:
            notes[claim.name] = waits.text
        for session in owners.unfit(claim.name):
            if not claim.built_in:
                notes.setdefault(
                    claim.name,
                    f"session {session.pid} has the name but cannot take mail"
                    f" ({_unfit(session, room=claim.room)})",
                )
    return notes


def _unfit(session: Session, *, room: bool) -> str:
    """Why it cannot own the name it has, and what that means for other sessions."""
    if room:
        return "it is a room; the name is listed twice, so sessions cannot send to it"
    if session.can_own:
        return "another folder; the name is listed twice, so sessions cannot send to it"
    return "it takes no turns" if session.socket else "it has no socket"

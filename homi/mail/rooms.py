"""Who is in which room, as the files tell it.

Reads only; what waits for each member is known to the daemon alone.  homi-room(1).
"""

from typing import Any

import msgspec

from homi.address import Name
from homi.mail.places import Places
from homi.rooms.state import Member, State
from homi.store.whole import read_plain


def rooms(places: Places) -> dict[Name, list[Member]]:
    """The rooms by name, each with its members by address; notes what is damaged."""
    book, found = places.shown(), State()
    path = places.root / "rooms.json"
    try:
        raw = msgspec.json.decode(read_plain(path), type=dict[str, Any])
        found = msgspec.convert(raw, State)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, RecursionError):
        places.note(f"cannot read {path}: who is in which room is not known")
    return {
        name: _members(found, name) for name in sorted(book.claims) if book.room(name)
    }


def _members(state: State, name: Name) -> list[Member]:
    """Those of one room."""
    room = state.rooms.get(name)
    members = {} if room is None else room.members
    return [members[address] for address in sorted(members)]

"""What still leads to a name whose claim ended: aliases, rooms and wakes.

Owns what is told of each, with the command that ends it; ends nothing itself: a name
that is claimed again finds all of it as it was.  homi-claim(1).
"""

from collections.abc import Iterator

from homi.address import SELF, Name, parse_address
from homi.doors.office import Office
from homi.errors import Usage
from homi.ids import last_part
from homi.reports import Remain


def remains(office: Office, name: Name) -> list[Remain]:
    """All of it, as it is now."""
    return [*_aliases(office, name), *_rooms(office, name), *_wakes(office, name)]


def _aliases(office: Office, name: Name) -> Iterator[Remain]:
    """What leads straight to it."""
    for alias in office.names.aliases.all():
        if _means(office, alias.to, name):
            undo = f"homi alias rm {alias.name}"
            yield Remain("alias", alias.name, f"{alias.name} leads to it", undo)


def _rooms(office: Office, name: Name) -> Iterator[Remain]:
    """What still has it as a member."""
    if office.rooms is None:
        return
    rooms = office.rooms.rooms
    for room in rooms.all():
        for address in rooms.members(room):
            if _means(office, address, name):
                undo = f"homi room leave {room} {address}"
                yield Remain("room", room, f"it is a member of {room}", undo)


def _wakes(office: Office, name: Name) -> Iterator[Remain]:
    """What is sent to it, or as from it."""
    for wake in [] if office.wakes is None else office.wakes.book.all():
        short = last_part(wake.id)
        undo = f"homi wake rm {short}"
        if _means(office, wake.to, name):
            yield Remain("wake", wake.id, f"the wake {short} sends to it", undo)
        elif _means(office, wake.from_, name):
            text = f"the wake {short} sends from it to {wake.to}"
            yield Remain("wake", wake.id, text, undo)


def _means(office: Office, address: str, name: Name) -> bool:
    """Whether an address is that name here."""
    try:
        found = parse_address(address)
    except Usage:
        return False
    return found.name == name and found.device in (None, SELF, office.device)

"""What of a name stays on the device that it leaves, told before it moves.

Owns the words; what leads to a name homi.doors.remains finds.  homi-move(1) has the
rules.
"""

from collections.abc import Iterator

from homi.address import Name
from homi.doors.office import Office
from homi.doors.remains import remains
from homi.ids import last_part
from homi.reports import Remain

NAMED = 5  # of a kind, by name; the rest is counted


def staying(office: Office, name: Name) -> list[str]:
    """A note for each kind of thing, as it is now."""
    left = remains(office, name)
    kinds = {kind: [one for one in left if one.kind == kind] for kind in _WORDS}
    notes = [
        _WORDS[kind].format(_list(found), name=name)
        for kind, found in kinds.items()
        if found
    ]
    return [*notes, *_ruling(office, name, {one.id for one in kinds["wake"]})]


_WORDS = {
    "alias": "{} here: an alias that leads to it, as before",
    "room": "{} here: it stays a member, its copies follow it",
    "wake": "{} here: a wake, which stays; what it sends follows {name}",
}


def _ruling(office: Office, name: Name, wakes: set[str]) -> Iterator[str]:
    """What does nothing for it any more while it is away."""
    book = [] if office.wakes is None else office.wakes.book.all()
    if any(wake.spawn for wake in book if wake.id in wakes):
        yield "a wake here starts no agent there: homi wake add --spawn there"
    spawned = None if office.keeper is None else office.keeper.spawns.get(name)
    if spawned is not None:
        what = "by its mail" if spawned.on_mail else "by homi"
        yield f"it is started here {what}, not there: homi spawn {name} there"
    if name in office.config.policy.wake:
        yield "policy.wake of homi.toml names it here, which counts no more: there, too"


def _list(found: list[Remain]) -> str:
    """The first of them by name."""
    first = found[:NAMED]
    some = [last_part(one.id) if one.kind == "wake" else one.id for one in first]
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return ", ".join(some) + more

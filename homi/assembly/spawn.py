"""Agents that homi starts, joined to the parts of a daemon that they concern.

Owns who tells them what; what comes of it is theirs.  homi-spawn(1).
"""

import os
from collections.abc import Iterator
from pathlib import Path

from homi.address import Name
from homi.doors.office import Office, Shown
from homi.doors.renaming import Renaming
from homi.envelope import ASIDE, Reason, Rung
from homi.reach import Reach
from homi.spawn.keeper import Keeper
from homi.spawn.onmail import OnMail
from homi.spawn.programs import Seated
from homi.spawn.state import Spawns, State
from homi.store.disk import RealDisk
from homi.store.mailbox import Item
from homi.store.state import StateFile

FILE = "spawns.json"
_KEPT = (Rung.PARKED, Rung.REFUSED)


def connect(office: Office, reach: Reach) -> OnMail:
    """Read what was started; what ran goes on, and what mail waits for is started,
    from start() on."""
    path = os.path.join(office.root, FILE)
    spawns = Spawns(StateFile(path, RealDisk(), State))
    parts = (office.names, office.sessions, office.owners)
    programs = Seated(Path(office.root))
    keeper = Keeper(spawns, *parts, reach.clock, programs)
    on_mail = OnMail(keeper, office.owners, reach.clock)
    office.keeper, office.spawner = keeper, on_mail.wake
    office.renaming = Renaming(office.sessions)
    keeper.calling.rename = office.renaming.change
    explain = office.explain

    def free(name: Name) -> Iterator[Reason | None]:
        """Why each letter waits that nothing keeps from whoever would have the name."""
        stopped: set[str] = set()
        for item in office.store.mailbox(name).pending.values():
            rung, reason, _ = explain(name, item)
            if rung is Rung.PARKED and reason not in ASIDE:
                stopped.add(item.sender)
            elif rung not in _KEPT and item.sender not in stopped:
                yield reason

    def pending(name: Name) -> bool:
        return any(True for _ in free(name))

    def waiting(name: Name) -> bool:
        return Reason.NO_OWNER in free(name)

    def shown(place: Name, item: Item) -> Shown:
        rung, reason, until = explain(place, item)
        lost = rung is Rung.HELD and reason is Reason.NO_OWNER
        known = on_mail.why(place) if lost else None
        return (rung, reason, until) if known is None else (rung, *known)

    keeper.pending, on_mail.waiting = pending, waiting
    office.explain = shown
    office.postmaster.subscribe(on_mail.stir, out=False)
    return on_mail

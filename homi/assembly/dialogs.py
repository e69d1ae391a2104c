"""Dialogs of started agents, joined to whoever is told of them.

Owns nothing; homi.spawn.dialogs decides.  homi-spawn(1).
"""

from pathlib import Path

from homi.doors.office import Office
from homi.spawn.dialogs import Dialogs
from homi.spawn.programs import Seated


def connect(office: Office) -> Dialogs:
    """Look at what its keeper, which is there before, started; from start() on."""
    assert office.keeper is not None
    made = Dialogs(
        office.keeper.spawns,
        office.sessions,
        Seated(Path(office.root)),
        lambda name, seat: office.waits(name, seat),
    )
    office.asks_there = made.held
    return made
